/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <errno.h>
#include <glib.h>
#include <glib/gstdio.h>
#include <string.h>
#include <unistd.h>

#include "symbolize/jit/perf_map.h"

static struct perf_map *parse(const char *text)
{
	return perf_map_parse(g_strdup(text), strlen(text));
}

static void is(const struct perf_map *m, uint64_t addr, const char *name, uint64_t offset)
{
	uint64_t got = 0;

	g_assert_cmpstr(perf_map_find(m, addr, &got), ==, name);
	g_assert_cmphex(got, ==, offset);
}

static void test_names(void)
{
	struct perf_map *m = parse("2000 100 Later::run(int, long)\n1000 20 first\r\n0x3000 0x10 prefixed\n"
				   "1010 8 inner, newer\n2000 80 reused");

	is(m, 0x1000, "first", 0);
	is(m, 0x1012, "inner, newer", 2);
	is(m, 0x1019, "first", 0x19);
	is(m, 0x1020, NULL, 0);
	is(m, 0x2010, "reused", 0x10);
	is(m, 0x2090, "Later::run(int, long)", 0x90);
	is(m, 0x3001, "prefixed", 1);
	is(m, 0, NULL, 0);
	is(m, UINT64_MAX, NULL, 0);
	perf_map_free(m);
}

static void test_renames(void)
{
	static const char *const same[] = { "1000 20 a\n2000 20 b", "2000 20 b\n1000 40 a\n3000 10 c", "3000 10 c" };
	static const char *const other[] = { "1000 20 b\n2000 20 b", "1000 20 a\n2000 20 b\nff0 20 c" };
	struct perf_map *m = parse("1000 20 a\n2000 20 b");

	for (size_t i = 0; i < G_N_ELEMENTS(same); i++) {
		struct perf_map *now = parse(same[i]);

		g_assert_false(perf_map_renames(m, now));
		perf_map_free(now);
	}
	for (size_t i = 0; i < G_N_ELEMENTS(other); i++) {
		struct perf_map *now = parse(other[i]);

		g_assert_true(perf_map_renames(m, now));
		perf_map_free(now);
	}
	perf_map_free(m);
}

/* As HotSpot, CPython, V8 and .NET write them. */
static void test_return_types(void)
{
	static const char *const names[][2] = {
		{ "void Svc.audit()", "Svc.audit()" },
		{ "java.lang.String[] a.b.C$D.e(int, long)", "a.b.C$D.e(int, long)" },
		{ "void java.lang.Object.<init>()", "java.lang.Object.<init>()" },
		{ "int Svc$$Lambda$14/0x0000000800c03000.run()", "Svc$$Lambda$14/0x0000000800c03000.run()" },
		{ "monitorenter_nofpu Runtime1 stub", "monitorenter_nofpu Runtime1 stub" },
		{ "StubRoutines (1)", "StubRoutines (1)" },
		{ "Interpreter", "Interpreter" },
		{ "py::outer:/srv/a.b.py", "py::outer:/srv/a.b.py" },
		{ "LazyCompile:~f /srv/a.js:3", "LazyCompile:~f /srv/a.js:3" },
		{ "JS:f file.js(3)", "JS:f file.js(3)" },
		{ "void [System.Private.CoreLib] System.A::B(int32)[Tier0]", "System.A::B" },
		{ "instance class [System.Runtime]System.Threading.Tasks.Task`1<int32> [shop] Till+C::<Pay>b__0(object)[OptimizedTier1]",
		  "Till+C::<Pay>b__0" },
		{ "std::sort(int*) [clone .part]", "std::sort(int*) [clone .part]" },
		{ "[a] ::", "[a] ::" },
		{ "::", "::" },
		{ "$shop:pay/1", "shop:pay/1" },
		{ "$global::process_main", "$global::process_main" },
		{ "$", "$" },
		{ "void no_class()", "void no_class()" },
		{ "void a.b", "void a.b" },
		{ "void ", "void" },
		{ "a.b (", "a.b (" },
	};

	for (size_t i = 0; i < G_N_ELEMENTS(names); i++) {
		g_autofree char *line = g_strdup_printf("1000 10 %s\n", names[i][0]);
		struct perf_map *m = parse(line);

		is(m, 0x1000, names[i][1], 0);
		perf_map_free(m);
	}
}

static void test_hostile(void)
{
	static const char *const refused[] = { "", "\n\n", "1000", "1000 ", "1000 10", "1000 10 ", "1000 10   \n",
		"xyz 10 name", "1000 -10 name", "1000 0 empty", "ffffffffffffffff 10 wraps", " 1000 10 indented",
		"11112222333344445 10 too_many_digits", "1000 100000000 too large", "1000\t10\ttabs" };
	struct perf_map *m;

	for (size_t i = 0; i < G_N_ELEMENTS(refused); i++) {
		m = parse(refused[i]);
		g_assert_cmpuint(perf_map_cnt(m), ==, 0);
		perf_map_free(m);
	}
	m = parse("1000 10 \x1b[31mred\x07\n");
	is(m, 0x1000, "?[31mred?", 0);
	perf_map_free(m);
}

/* What a parser without rights answers is the same list; of bytes that it would not write nothing is taken. */
static void test_bytes(void)
{
	struct perf_map *m = parse("2000 20 two\nno line\n1000 10 one\n1008 10 void a.B.c(int)\n1000 10 \x1b[31mone\n");
	g_autoptr(GByteArray) bytes = g_byte_array_new();
	g_autofree uint8_t *bad = NULL;
	struct perf_map *back;

	perf_map_write(m, bytes);
	perf_map_free(m);
	back = perf_map_from_bytes(bytes->data, bytes->len);
	g_assert_nonnull(back);
	g_assert_cmpuint(perf_map_cnt(back), ==, 4);
	is(back, 0x1000, "?[31mone", 0);
	is(back, 0x1010, "a.B.c(int)", 8);
	is(back, 0x201f, "two", 0x1f);
	perf_map_free(back);
	for (guint i = 0; i < bytes->len; i++)
		g_assert_null(perf_map_from_bytes(bytes->data, i));
	bad = g_memdup2(bytes->data, bytes->len);
	bad[bytes->len - 2] = '\n';
	g_assert_null(perf_map_from_bytes(bad, bytes->len));
	bad[bytes->len - 2] = bad[bytes->len - 1] = 'x';
	g_assert_null(perf_map_from_bytes(bad, bytes->len));
}

static void test_nothing_as_bytes(void)
{
	struct perf_map *m = parse("");
	g_autoptr(GByteArray) bytes = g_byte_array_new();

	perf_map_write(m, bytes);
	perf_map_free(m);
	m = perf_map_from_bytes(bytes->data, bytes->len);
	g_assert_nonnull(m);
	g_assert_cmpuint(perf_map_cnt(m), ==, 0);
	perf_map_free(m);
}

static void test_status(void)
{
	uint32_t pid = 0;
	uid_t uid = 0;

	g_assert_true(perf_map_parse_status("Name:\tx\nUid:\t1\t1000\t3\t4\nNSpid:\t812\t17\t3\nx:\t5\n", &pid, &uid));
	g_assert_cmpuint(pid, ==, 3);
	g_assert_cmpuint(uid, ==, 1000);
	g_assert_false(perf_map_parse_status("Name:\tx\nUid:\t1\t1000\n", &pid, &uid));
	g_assert_false(perf_map_parse_status("Name:\tx\nNSpid:\t4\nUid:\tx\n", &pid, &uid));
	g_assert_false(perf_map_parse_status("Name:\tx\nNSpid:\t\nUid:\t1\t2\n", &pid, &uid));
	g_assert_false(perf_map_parse_status("", &pid, &uid));
}

/* A /proc of our own with one process, 500, that is 7 in its container. */
struct fixture {
	char *dir, *root, *map;
};

static void write_file(const char *path, const char *text)
{
	g_autoptr(GError) error = NULL;

	g_file_set_contents(path, text, -1, &error);
	g_assert_no_error(error);
}

static void set_up(struct fixture *f, gconstpointer data)
{
	g_autofree char *process = NULL, *tmp = NULL, *link = NULL, *status = NULL, *text = NULL;

	f->dir = g_dir_make_tmp("offcpu-test-XXXXXX", NULL);
	process = g_build_filename(f->dir, "500", NULL);
	f->root = g_build_filename(f->dir, "root-of-500", NULL);
	tmp = g_build_filename(f->root, "tmp", NULL);
	link = g_build_filename(process, "root", NULL);
	status = g_build_filename(process, "status", NULL);
	f->map = g_build_filename(tmp, "perf-7.map", NULL);
	g_assert_cmpint(g_mkdir_with_parents(process, 0700) | g_mkdir_with_parents(tmp, 0700), ==, 0);
	g_assert_cmpint(symlink(f->root, link), ==, 0);
	text = g_strdup_printf("Name:\tjvm\nUid:\t%u\t%u\t0\t0\nNSpid:\t500\t7\n", geteuid(), geteuid());
	write_file(status, text);
}

static void tear_down(struct fixture *f, gconstpointer data)
{
	g_autofree char *command = g_strdup_printf("rm -rf '%s'", f->dir);

	g_assert_cmpint(system(command), ==, 0);
	g_free(f->dir);
	g_free(f->root);
	g_free(f->map);
}

static const struct perf_map_version none;	/* is known */

static void test_read(struct fixture *f, gconstpointer data)
{
	struct perf_map *m;
	struct perf_map_version version;

	g_assert_null(perf_map_read(f->dir, 500, none, &version));
	write_file(f->map, "1000 10 one\n");
	m = perf_map_read(f->dir, 500, none, &version);
	g_assert_nonnull(m);
	g_assert_cmpuint(version.bytes, ==, 12);
	is(m, 0x1001, "one", 1);
	perf_map_free(m);
	g_assert_null(perf_map_read(f->dir, 500, version, &version));	/* is the same */
	version.mtime_ns--;
	m = perf_map_read(f->dir, 500, version, &version);	/* written anew, as long as before */
	g_assert_nonnull(m);
	perf_map_free(m);
	g_assert_null(perf_map_read(f->dir, 501, none, &version));	/* no such process */
}

static void test_link_refused(struct fixture *f, gconstpointer data)
{
	g_autofree char *elsewhere = g_build_filename(f->root, "tmp", "secret", NULL);
	struct perf_map_version version;

	write_file(elsewhere, "1000 10 one\n");
	g_assert_cmpint(symlink("secret", f->map), ==, 0);
	g_assert_null(perf_map_read(f->dir, 500, none, &version));
	g_assert_cmpuint(version.bytes, ==, 0);
}

static void test_fifo_refused(struct fixture *f, gconstpointer data)
{
	struct perf_map_version version;

	g_assert_cmpint(mkfifo(f->map, 0600), ==, 0);
	g_assert_null(perf_map_read(f->dir, 500, none, &version));	/* and does not block */
}

static void test_owner_refused(struct fixture *f, gconstpointer data)
{
	struct perf_map_version version;

	write_file(f->map, "1000 10 one\n");
	if (chown(f->map, geteuid() + 12345, (gid_t)-1)) {
		g_assert_cmpint(errno, ==, EPERM);
		g_test_skip("only root can give a file to another user");
		return;
	}
	g_assert_null(perf_map_read(f->dir, 500, none, &version));
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/perf-map/names", test_names);
	g_test_add_func("/perf-map/return-types", test_return_types);
	g_test_add_func("/perf-map/hostile", test_hostile);
	g_test_add_func("/perf-map/renames", test_renames);
	g_test_add_func("/perf-map/bytes", test_bytes);
	g_test_add_func("/perf-map/nothing-as-bytes", test_nothing_as_bytes);
	g_test_add_func("/perf-map/status", test_status);
	g_test_add("/perf-map/read", struct fixture, NULL, set_up, test_read, tear_down);
	g_test_add("/perf-map/link-refused", struct fixture, NULL, set_up, test_link_refused, tear_down);
	g_test_add("/perf-map/fifo-refused", struct fixture, NULL, set_up, test_fifo_refused, tear_down);
	g_test_add("/perf-map/owner-refused", struct fixture, NULL, set_up, test_owner_refused, tear_down);
	return g_test_run();
}
