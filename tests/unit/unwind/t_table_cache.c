/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Tables kept on disk: taken where they are right, compiled anew where anything is not. */
#include "unwind/table.h"

#include <fcntl.h>
#include <glib/gstdio.h>
#include <sys/stat.h>
#include <unistd.h>

struct place {
	char *root, *folder, *program;
};

static void place_make(struct place *at, gconstpointer data)
{
	g_autofree char *self = NULL;
	gsize len;

	at->root = g_dir_make_tmp("offcpu-cache-XXXXXX", NULL);
	at->folder = g_build_filename(at->root, "cache", NULL);
	at->program = g_build_filename(at->root, "program", NULL);
	g_assert_true(g_file_get_contents("/proc/self/exe", &self, &len, NULL));
	g_assert_true(g_file_set_contents(at->program, self, (gssize)len, NULL));
}

static void empty(const char *path)
{
	g_autoptr(GDir) dir = g_dir_open(path, 0, NULL);
	const char *name;

	while (dir && (name = g_dir_read_name(dir))) {
		g_autofree char *file = g_build_filename(path, name, NULL);

		g_assert_cmpint(g_unlink(file), ==, 0);
	}
}

static void place_remove(struct place *at, gconstpointer data)
{
	empty(at->folder);
	g_rmdir(at->folder);
	empty(at->root);
	g_assert_cmpint(g_rmdir(at->root), ==, 0);
	g_free(at->root);
	g_free(at->folder);
	g_free(at->program);
}

/* The one entry that is there; NULL: none. */
static char *entry(const struct place *at)
{
	g_autoptr(GDir) dir = g_dir_open(at->folder, 0, NULL);
	const char *name = g_dir_read_name(dir);
	char *path = name ? g_build_filename(at->folder, name, NULL) : NULL;

	g_assert_null(g_dir_read_name(dir));
	return path;
}

static struct unwind_table *build(const struct place *at, uint64_t ns_min)
{
	struct table_cache *c = table_cache_open_in(at->folder, ns_min);
	int fd = open(at->program, O_RDONLY | O_CLOEXEC);
	struct unwind_table *t;

	g_assert_nonnull(c);
	t = table_cache_build(c, fd, NULL);
	g_assert_nonnull(t);
	close(fd);
	table_cache_close(c);
	return t;
}

/* The same as what is compiled, whatever lies in the cache. */
static void assert_right(const struct place *at)
{
	int fd = open(at->program, O_RDONLY | O_CLOEXEC);
	struct unwind_table *want = unwind_table_build(fd, NULL), *t = build(at, 0);

	g_assert_cmpuint(t->row_cnt, ==, want->row_cnt);
	g_assert_cmpuint(t->base, ==, want->base);
	g_assert_cmpmem(t->rows, t->row_cnt * sizeof(*t->rows), want->rows, want->row_cnt * sizeof(*want->rows));
	g_assert_cmpuint(t->segment_cnt, ==, want->segment_cnt);
	unwind_table_free(want);
	unwind_table_free(t);
	close(fd);
}

static void test_kept(struct place *at, gconstpointer data)
{
	struct stat before, after;

	unwind_table_free(build(at, UINT64_MAX));
	g_assert_null(entry(at));	/* it was compiled too quickly to be worth it */
	assert_right(at);
	g_autofree char *path = entry(at);
	g_assert_nonnull(path);
	g_assert_cmpint(stat(path, &before), ==, 0);
	g_assert_cmpuint(before.st_mode & 0777, ==, 0600);
	assert_right(at);
	g_assert_cmpint(stat(path, &after), ==, 0);
	g_assert_cmpuint(after.st_ino, ==, before.st_ino);	/* it was taken, not written again */
}

/* The file changed: what was kept of it is of another one. */
static void test_changed(struct place *at, gconstpointer data)
{
	assert_right(at);
	g_autofree char *path = entry(at);
	g_assert_cmpint(g_chmod(at->program, 0700), ==, 0);	/* its st_ctime is another one */
	assert_right(at);
	g_assert_cmpint(g_unlink(path), ==, 0);
	g_autofree char *other = entry(at);
	g_assert_nonnull(other);
}

static void test_damaged(struct place *at, gconstpointer data)
{
	g_autofree char *bytes = NULL;
	gsize len;

	assert_right(at);
	g_autofree char *path = entry(at);
	g_assert_true(g_file_get_contents(path, &bytes, &len, NULL));
	const gsize places[] = { 0, 17, 25, 40, len / 2, len - 1 };

	for (size_t i = 0; i < G_N_ELEMENTS(places); i++) {
		bytes[places[i]] ^= 4;
		g_assert_true(g_file_set_contents(path, bytes, (gssize)len, NULL));
		bytes[places[i]] ^= 4;
		assert_right(at);
		g_assert_true(g_file_set_contents(path, bytes, (gssize)(i * len / G_N_ELEMENTS(places)), NULL));
		assert_right(at);
	}
}

/* What is in the way of a folder that is ours alone. */
static void test_folder(struct place *at, gconstpointer data)
{
	g_assert_cmpint(g_mkdir(at->folder, 0755), ==, 0);
	g_assert_cmpint(g_chmod(at->folder, 0755), ==, 0);
	g_assert_null(table_cache_open_in(at->folder, 1));
	g_assert_cmpint(g_rmdir(at->folder), ==, 0);
	g_assert_cmpint(symlink(at->root, at->folder), ==, 0);
	g_assert_null(table_cache_open_in(at->folder, 1));
	g_assert_cmpint(g_unlink(at->folder), ==, 0);
	g_assert_null(table_cache_open_in("/proc/offcpu-cache", 1));
	assert_right(at);	/* and it is made */
}

/* What was used longest ago goes. */
static void test_room(struct place *at, gconstpointer data)
{
	static const char *const names[] = { "a.table", "b.table", "c.table.7-7" };
	struct stat st;

	g_assert_cmpint(g_mkdir(at->folder, 0700), ==, 0);
	for (int i = 0; i < 3; i++) {
		g_autofree char *path = g_build_filename(at->folder, names[i], NULL);
		int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
		const struct timespec times[2] = { { 1000 + i, 0 }, { 1000 + i, 0 } };

		g_assert_cmpint(ftruncate(fd, TABLE_CACHE_BYTES_MAX / 2), ==, 0);
		g_assert_cmpint(futimens(fd, times), ==, 0);
		close(fd);
	}
	assert_right(at);
	for (int i = 0; i < 3; i++) {
		g_autofree char *path = g_build_filename(at->folder, names[i], NULL);

		g_assert_cmpint(stat(path, &st) == 0, ==, i == 2);
		g_unlink(path);
	}
	g_autofree char *path = entry(at);
	g_assert_nonnull(path);
}

#define ADD(name, test) g_test_add("/table-cache/" name, struct place, NULL, place_make, test, place_remove)

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	ADD("kept", test_kept);
	ADD("changed", test_changed);
	ADD("damaged", test_damaged);
	ADD("folder", test_folder);
	ADD("room", test_room);
	return g_test_run();
}
