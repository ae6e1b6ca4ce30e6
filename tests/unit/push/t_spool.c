/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <glib/gstdio.h>
#include <string.h>
#include <utime.h>

#include "push/spool.h"

static char *dir;

static struct spool *open_spool(uint64_t max_bytes, uint64_t max_age_s, bool may_repeat)
{
	const struct spool_options o = { .dir = dir, .max_bytes = max_bytes, .max_age_s = max_age_s, .may_repeat = may_repeat };
	g_autoptr(GError) error = NULL;
	struct spool *s = spool_open(&o, &error);

	g_assert_no_error(error);
	return s;
}

static struct push_unit *unit_of(uint64_t key, uint64_t start_ns, gsize bytes)
{
	struct push_unit *u = unit_new(key, 3, start_ns);
	g_autoptr(GString) body = g_string_new(NULL);

	for (gsize i = 0; i < bytes; i++)
		g_string_append_c(body, (char)g_test_rand_int());
	unit_add_plain(u, "waits", body, 5);
	unit_add(u, "", body, 6);
	return u;
}

static void add(struct spool *s, uint64_t key, uint64_t start_ns, gsize bytes)
{
	g_autoptr(GError) error = NULL;
	struct push_unit *u = unit_of(key, start_ns, bytes);

	g_assert_true(spool_add(s, u, &error));
	g_assert_no_error(error);
	unit_free(u);
}

/* The key of the unit behind *name, which becomes its name; 0: there is none. */
static uint64_t next_key(struct spool *s, char **name)
{
	char *found = NULL;
	struct push_unit *u = spool_next(s, *name, &found);
	uint64_t key = u ? u->key : 0;

	unit_free(u);
	g_free(*name);
	*name = found;
	return key;
}

static void set_up(void)
{
	dir = g_dir_make_tmp("offcpu-spool-XXXXXX", NULL);
}

static void tear_down(void)
{
	g_autoptr(GDir) d = g_dir_open(dir, 0, NULL);
	const char *entry;

	while ((entry = g_dir_read_name(d))) {
		g_autofree char *path = g_build_filename(dir, entry, NULL);

		g_unlink(path);
	}
	g_rmdir(dir);
	g_clear_pointer(&dir, g_free);
}

static void test_order(void)
{
	g_autofree char *name = NULL;

	set_up();
	struct spool *s = open_spool(0, 0, true);

	add(s, 7, 2000, 100);
	add(s, 9, 1000, 100);
	add(s, 8, 3000, 100);
	add(s, 8, 3000, 100);	/* the same window again */
	g_assert_cmpuint(spool_cnt(s), ==, 3);
	g_assert_cmpuint(next_key(s, &name), ==, 9);
	g_assert_cmpuint(next_key(s, &name), ==, 7);
	g_assert_cmpuint(next_key(s, &name), ==, 8);
	g_assert_cmpuint(next_key(s, &name), ==, 9);	/* in a circle */
	spool_close(s);
	s = open_spool(0, 0, true);
	g_assert_cmpuint(spool_cnt(s), ==, 3);
	g_clear_pointer(&name, g_free);
	g_assert_cmpuint(next_key(s, &name), ==, 9);
	spool_remove(s, name);
	g_assert_cmpuint(spool_cnt(s), ==, 2);
	spool_close(s);
	tear_down();
}

static void test_contents(void)
{
	g_autofree char *name = NULL;

	set_up();
	struct spool *s = open_spool(0, 0, true);
	struct push_unit *u = unit_of(UINT64_MAX, 1, 70000);
	const struct push_request *wanted = g_ptr_array_index(u->requests, 0);

	g_assert_true(spool_add(s, u, NULL));
	struct push_unit *found = spool_next(s, NULL, &name);
	const struct push_request *r = g_ptr_array_index(found->requests, 0), *packed = g_ptr_array_index(found->requests, 1);

	g_assert_cmpuint(found->part, ==, 3);
	g_assert_cmpuint(found->start_unix_ns, ==, 1);
	g_assert_cmpstr(r->name, ==, "waits");
	g_assert_cmpuint(r->rows, ==, 5);
	g_assert_false(r->is_gzip);
	g_assert_true(packed->is_gzip);
	g_assert_true(g_bytes_equal(r->body, wanted->body));
	unit_free(found);
	unit_free(u);
	spool_close(s);
	tear_down();
}

static void test_bounds(void)
{
	g_autofree char *name = NULL;

	set_up();
	struct spool *s = open_spool(100000, 1000, true);

	for (uint64_t key = 1; key <= 20; key++)
		add(s, key, key, 5000);
	g_assert_cmpuint(spool_bytes(s), <=, 100000);
	g_assert_cmpuint(spool_drops(s).large, ==, 20 - spool_cnt(s));
	g_assert_cmpuint(next_key(s, &name), ==, 21 - spool_cnt(s));	/* the oldest went */
	struct push_unit *u = unit_of(50, 50, 200000);

	g_assert_false(spool_add(s, u, NULL));
	unit_free(u);
	g_autofree char *path = g_build_filename(dir, name, NULL);
	const struct utimbuf old = { 1000, 1000 };
	guint before = spool_cnt(s);

	spool_close(s);
	g_assert_cmpint(utime(path, &old), ==, 0);
	s = open_spool(100000, 1000, true);
	g_assert_cmpuint(spool_cnt(s), ==, before - 1);
	g_assert_cmpuint(spool_drops(s).old, ==, 1);
	spool_close(s);
	tear_down();
}

/* What is being sent may arrive: it is not dropped as well. */
static void test_sending_stays(void)
{
	g_autofree char *name = NULL;

	set_up();
	struct spool *s = open_spool(20000, 1000, true);

	add(s, 1, 1, 5000);
	g_assert_cmpuint(next_key(s, &name), ==, 1);
	g_assert_true(spool_begin(s, name, NULL));
	for (uint64_t key = 2; key <= 20; key++)
		add(s, key, key, 5000);
	g_assert_cmpuint(spool_drops(s).large, ==, 20 - spool_cnt(s));
	g_assert_cmpuint(spool_bytes(s), <=, 20000);
	spool_keep(s, name);
	g_clear_pointer(&name, g_free);
	g_assert_cmpuint(next_key(s, &name), ==, 1);
	add(s, 21, 21, 5000);
	g_clear_pointer(&name, g_free);
	g_assert_cmpuint(next_key(s, &name), !=, 1);
	spool_close(s);
	tear_down();
}

/* What was being sent as the process ended. */
static void test_in_doubt(void)
{
	for (int may_repeat = 0; may_repeat < 2; may_repeat++) {
		g_autofree char *name = NULL;

		set_up();
		struct spool *s = open_spool(0, 0, may_repeat);

		add(s, 1, 1, 10);
		add(s, 2, 2, 10);
		g_assert_cmpuint(next_key(s, &name), ==, 1);
		g_assert_true(spool_begin(s, name, NULL));
		spool_close(s);
		s = open_spool(0, 0, may_repeat);
		g_assert_cmpuint(spool_cnt(s), ==, 1 + may_repeat);
		g_assert_cmpuint(spool_drops(s).unsure, ==, !may_repeat);
		g_clear_pointer(&name, g_free);
		g_assert_cmpuint(next_key(s, &name), ==, 2 - may_repeat);
		g_assert_true(spool_begin(s, name, NULL));
		spool_keep(s, name);
		spool_close(s);
		s = open_spool(0, 0, may_repeat);
		g_assert_cmpuint(spool_cnt(s), ==, 1 + may_repeat);
		spool_close(s);
		tear_down();
	}
}

static void test_damaged(void)
{
	g_autofree char *name = NULL;
	static const char *const others[] = { "readme.txt", ".new-00000000000000000001-0000000000000001-00000000.push", "x.push" };

	set_up();
	struct spool *s = open_spool(0, 0, true);

	add(s, 1, 1, 1000);
	add(s, 2, 2, 1000);
	spool_close(s);
	for (size_t i = 0; i < G_N_ELEMENTS(others); i++) {
		g_autofree char *path = g_build_filename(dir, others[i], NULL);

		g_assert_true(g_file_set_contents(path, "x", 1, NULL));
	}
	g_autofree char *first = g_build_filename(dir, "00000000000000000001-0000000000000001-00000003.push", NULL);

	g_assert_true(g_file_set_contents(first, "offcpu push 1\nxyz", -1, NULL));
	s = open_spool(0, 0, true);
	g_assert_cmpuint(spool_cnt(s), ==, 2);
	g_assert_cmpuint(next_key(s, &name), ==, 2);
	g_assert_cmpuint(spool_drops(s).damaged, ==, 1);
	g_assert_cmpuint(spool_cnt(s), ==, 1);
	g_autofree char *stump = g_build_filename(dir, others[1], NULL);

	g_assert_false(g_file_test(stump, G_FILE_TEST_EXISTS));
	spool_close(s);
	tear_down();
}

/* Whatever bytes there are: a unit or none. */
static void test_hostile(void)
{
	struct push_unit *u = unit_of(77, 88, 300);
	g_autoptr(GBytes) bytes = unit_write(u);
	gsize len_bytes;
	const char *data = g_bytes_get_data(bytes, &len_bytes);
	unsigned refused = 0;

	unit_free(u);
	for (gsize len = 0; len < len_bytes; len++) {
		g_autofree char *cut = g_memdup2(data, len ? len : 1);

		struct push_unit *read = unit_read(cut, len, NULL);

		refused += !read;
		unit_free(read);
	}
	for (int i = 0; i < 20000; i++) {
		g_autofree char *changed = g_memdup2(data, len_bytes);

		changed[g_test_rand_int_range(0, (gint32)len_bytes)] = (char)g_test_rand_int();
		changed[g_test_rand_int_range(14, 60)] = (char)g_test_rand_int();
		struct push_unit *read = unit_read(changed, len_bytes, NULL);

		refused += !read;
		unit_free(read);
	}
	g_assert_cmpuint(refused, >, 0);
	u = unit_read(data, len_bytes, NULL);
	g_assert_nonnull(u);
	unit_free(u);
}

static void add_text(struct push_unit *u, const char *name, const char *text, bool is_gzip)
{
	g_autoptr(GString) body = g_string_new(text);

	(is_gzip ? unit_add : unit_add_plain)(u, name, body, strlen(text));
}

static void free_unit(gpointer u)
{
	unit_free(u);
}

/* Rows of several windows are one insert for each table, and the windows come last. */
static void test_join(void)
{
	g_autoptr(GPtrArray) units = g_ptr_array_new_with_free_func(free_unit);
	const char *const wanted[] = { "stacks", "AD", "objects", "E", "waits", "BF", "windows", "CG" };
	struct push_unit *a = unit_new(1, 0, 10), *b = unit_new(2, 0, 20);

	g_ptr_array_add(units, a);
	g_ptr_array_add(units, b);
	add_text(a, "stacks", "A", false);
	add_text(a, "waits", "B", false);
	add_text(a, "windows", "C", false);
	add_text(b, "stacks", "D", false);
	add_text(b, "objects", "E", false);
	add_text(b, "waits", "F", false);
	add_text(b, "windows", "G", false);
	struct push_unit *all = unit_join(units);

	g_assert_nonnull(all);
	g_assert_cmpuint(all->start_unix_ns, ==, 10);
	g_assert_cmpuint(all->key, !=, a->key);
	g_assert_cmpuint(all->requests->len, ==, 4);
	for (guint i = 0; i < all->requests->len; i++) {
		const struct push_request *r = g_ptr_array_index(all->requests, i);
		gsize len_bytes;
		const void *body = g_bytes_get_data(r->body, &len_bytes);

		g_assert_cmpstr(r->name, ==, wanted[2 * i]);
		g_assert_cmpmem(body, len_bytes, wanted[2 * i + 1], strlen(wanted[2 * i + 1]));
		g_assert_cmpuint(r->rows, ==, len_bytes);
	}
	unit_free(all);
	struct push_unit *packed = unit_new(3, 0, 30);

	g_ptr_array_add(units, packed);
	add_text(packed, "waits", "H", true);
	g_assert_null(unit_join(units));	/* what is packed and what is not is no one body */
}

static void test_one_process(void)
{
	const struct spool_options o = { .may_repeat = true };
	struct spool_options second = o;
	g_autoptr(GError) error = NULL;

	set_up();
	second.dir = dir;
	struct spool *s = open_spool(0, 0, true);

	g_assert_null(spool_open(&second, &error));
	g_assert_nonnull(strstr(error->message, "another process uses"));
	spool_close(s);
	tear_down();
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/push/spool/order", test_order);
	g_test_add_func("/push/spool/contents", test_contents);
	g_test_add_func("/push/spool/bounds", test_bounds);
	g_test_add_func("/push/spool/sending-stays", test_sending_stays);
	g_test_add_func("/push/spool/in-doubt", test_in_doubt);
	g_test_add_func("/push/spool/damaged", test_damaged);
	g_test_add_func("/push/spool/hostile", test_hostile);
	g_test_add_func("/push/spool/join", test_join);
	g_test_add_func("/push/spool/one-process", test_one_process);
	return g_test_run();
}
