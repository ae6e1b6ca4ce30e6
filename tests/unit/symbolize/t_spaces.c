/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <glib.h>
#include <glib/gstdio.h>
#include <stdlib.h>
#include <string.h>

#include "symbolize/process/maps.h"
#include "symbolize/process/spaces.h"

static void test_lines(void)
{
	static const char *const refused[] = { "", "x", "1000", "1000-", "1000-2000", "1000-2000 r-xp", "2000-1000 r-xp 0 08:01 1 /a",
		"1000-1000 r-xp 0 08:01 1 /a", "1000-2000 r-xp zz 08:01 1 /a", "1000-2000 r-xp 0 08-01 1 /a",
		"11112222333344445-2 r-xp 0 08:01 1 /a", "1000-2000 r-x", "1000-2000 r-xp 0 08:01 99999999999999999999 /a" };
	struct maps_line m;

	g_assert_true(maps_parse_line("7f036ec08000-7f036ed5e000 r-xp 00026000 fe:1a 332835                     /usr/lib/a b.so", &m));
	g_assert_cmphex(m.start, ==, 0x7f036ec08000);
	g_assert_cmphex(m.end, ==, 0x7f036ed5e000);
	g_assert_cmphex(m.pgoff, ==, 0x26000);
	g_assert_cmphex(m.dev_major, ==, 0xfe);
	g_assert_cmphex(m.dev_minor, ==, 0x1a);
	g_assert_cmpuint(m.inode, ==, 332835);
	g_assert_true(m.is_exec);
	g_assert_cmpstr(m.path, ==, "/usr/lib/a b.so");
	g_assert_true(maps_parse_line("7fff0000-7fff1000 rw-p 00000000 00:00 0 ", &m));
	g_assert_false(m.is_exec);
	g_assert_cmpstr(m.path, ==, "");
	g_assert_true(maps_parse_line("ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0                  [vsyscall]", &m));
	g_assert_cmpstr(m.path, ==, "[vsyscall]");
	g_assert_true(maps_parse_line("1000-2000 r-xp 00000000 00:00 0", &m));
	g_assert_cmpstr(m.path, ==, "");
	for (size_t i = 0; i < G_N_ELEMENTS(refused); i++)
		g_assert_false(maps_parse_line(refused[i], &m));
}

/* Spaces over a /proc of our own. */
struct fixture {
	char *proc;
	struct modules *modules;
	struct spaces *spaces;
};

static void set_up(struct fixture *f, gconstpointer data)
{
	f->proc = g_dir_make_tmp("offcpu-test-XXXXXX", NULL);
	f->modules = modules_new(f->proc, "/nonexistent");
	f->spaces = spaces_new(f->modules, f->proc);
}

static void tear_down(struct fixture *f, gconstpointer data)
{
	g_autofree char *command = g_strdup_printf("rm -rf '%s'", f->proc);

	spaces_free(f->spaces);
	modules_free(f->modules);
	g_assert_cmpint(system(command), ==, 0);
	g_free(f->proc);
}

static void write_maps(struct fixture *f, uint32_t pid, const char *text)
{
	g_autofree char *dir = g_strdup_printf("%s/%u", f->proc, pid), *path = g_strdup_printf("%s/maps", dir);
	g_autoptr(GError) error = NULL;

	g_mkdir(dir, 0700);
	g_file_set_contents(path, text, -1, &error);
	g_assert_no_error(error);
}

static void remove_maps(struct fixture *f, uint32_t pid)
{
	g_autofree char *path = g_strdup_printf("%s/%u/maps", f->proc, pid);

	g_assert_cmpint(g_unlink(path), ==, 0);
}

static void map(struct fixture *f, uint32_t pid, uint64_t ts, uint64_t start, uint64_t len, const char *path)
{
	spaces_mmap(f->spaces, pid, ts, &(struct symbolizer_mapping){
		.start = start, .len = len, .dev_major = 8, .dev_minor = 1, .inode = 42, .path = path });
}

/* path: where addr lies, NULL: nowhere, for the reason why. */
static void is(struct fixture *f, uint32_t pid, uint64_t ts, uint64_t addr, const char *path, enum frame_why why)
{
	struct generation *g;
	enum frame_why got;
	struct space_map *m = spaces_find(f->spaces, pid, ts, addr, &g, &got);

	g_assert_cmpstr(m ? m->module->path : NULL, ==, path);
	g_assert_cmpint(got, ==, why);
}

static void test_mmap(struct fixture *f, gconstpointer data)
{
	spaces_exec(f->spaces, 10, 100, NULL);
	map(f, 10, 110, 0x1000, 0x1000, "/a");
	map(f, 10, 200, 0x1800, 0x1000, "/b");
	is(f, 10, 150, 0x1800, "/a", FRAME_NAMED);
	is(f, 10, 200, 0x1800, "/b", FRAME_NAMED);
	is(f, 10, 250, 0x17ff, "/a", FRAME_NAMED);
	is(f, 10, 250, 0x27ff, "/b", FRAME_NAMED);
	is(f, 10, 250, 0x2800, NULL, FRAME_NOT_MAPPED);
	is(f, 10, 105, 0x1000, NULL, FRAME_NOT_MAPPED);
	is(f, 10, 50, 0x1000, NULL, FRAME_PROCESS_GONE);	/* another program then */
	map(f, 10, 300, UINT64_MAX - 10, 100, "/wraps");
	is(f, 10, 300, UINT64_MAX - 5, NULL, FRAME_NOT_MAPPED);
}

/*
 * Names of addresses hold until another file is mapped there, or the same one elsewhere; not by an exec, nor by more of
 * the same file.
 */
static void test_replaced(struct fixture *f, gconstpointer data)
{
	spaces_exec(f->spaces, 10, 100, NULL);
	map(f, 10, 110, 0x1000, 0x1000, "/a");
	map(f, 10, 120, 0x1000, 0x3000, "/a");
	map(f, 10, 130, 0x9000, 0x1000, "/b");
	spaces_exec(f->spaces, 10, 200, NULL);
	map(f, 10, 210, 0x1000, 0x1000, "/b");
	g_assert_cmpuint(spaces_replaced_cnt(f->spaces), ==, 0);
	map(f, 10, 220, 0x0800, 0x1000, "/c");	/* its end lies in the other */
	g_assert_cmpuint(spaces_replaced_cnt(f->spaces), ==, 1);
	map(f, 10, 230, 0x1000, 0x1000, "/a");
	g_assert_cmpuint(spaces_replaced_cnt(f->spaces), ==, 2);
	map(f, 10, 240, 0x1800, 0x1000, "/a");	/* it lay lower */
	g_assert_cmpuint(spaces_replaced_cnt(f->spaces), ==, 3);
	map(f, 10, 250, 0x1000, 0x1000, "[vdso]");	/* laid into a gap of ld.so's, which was unmapped */
	g_assert_cmpuint(spaces_replaced_cnt(f->spaces), ==, 3);
}

static void test_exec(struct fixture *f, gconstpointer data)
{
	spaces_exec(f->spaces, 10, 100, NULL);
	map(f, 10, 110, 0x1000, 0x1000, "/old");
	spaces_exec(f->spaces, 10, 200, NULL);
	map(f, 10, 210, 0x1000, 0x1000, "/new");
	is(f, 10, 199, 0x1000, "/old", FRAME_NAMED);
	is(f, 10, 210, 0x1000, "/new", FRAME_NAMED);
	is(f, 10, 1000, 0x1000, "/new", FRAME_NAMED);
	for (uint64_t i = 0; i < 500; i++)	/* one program after another: the oldest are forgotten */
		spaces_exec(f->spaces, 10, 300 + i, NULL);
	is(f, 10, 210, 0x1000, NULL, FRAME_PROCESS_GONE);
}

static void test_fork(struct fixture *f, gconstpointer data)
{
	spaces_exec(f->spaces, 10, 100, NULL);
	map(f, 10, 110, 0x1000, 0x1000, "/program");
	spaces_fork(f->spaces, 10, 11, 200);
	map(f, 10, 210, 0x5000, 0x1000, "/parent only");
	map(f, 11, 220, 0x7000, 0x1000, "/child only");
	is(f, 11, 205, 0x1000, "/program", FRAME_NAMED);
	is(f, 11, 230, 0x5000, NULL, FRAME_NOT_MAPPED);
	is(f, 11, 230, 0x7000, "/child only", FRAME_NAMED);
	is(f, 10, 230, 0x7000, NULL, FRAME_NOT_MAPPED);
	is(f, 10, 230, 0x5000, "/parent only", FRAME_NAMED);
	spaces_exec(f->spaces, 11, 300, NULL);
	map(f, 11, 310, 0x1000, 0x1000, "/execed");
	is(f, 11, 299, 0x1000, "/program", FRAME_NAMED);
	is(f, 11, 310, 0x1000, "/execed", FRAME_NAMED);
	is(f, 10, 310, 0x1000, "/program", FRAME_NAMED);
}

static uint32_t read_by(const struct fixture *f, uint32_t pid, uint64_t ts_ns)
{
	return spaces_living(f->spaces, spaces_generation(f->spaces, pid, ts_ns))->pid;
}

static void test_living(struct fixture *f, gconstpointer data)
{
	spaces_exec(f->spaces, 10, 100, NULL);
	spaces_fork(f->spaces, 10, 11, 200);
	spaces_fork(f->spaces, 11, 12, 210);
	spaces_exec(f->spaces, 12, 220, NULL);
	g_assert_cmpuint(read_by(f, 12, 230), ==, 12);
	spaces_exit(f->spaces, 12, 300);
	g_assert_cmpuint(read_by(f, 12, 230), ==, 11);
	spaces_exit(f->spaces, 11, 310);
	g_assert_cmpuint(read_by(f, 12, 230), ==, 10);
	spaces_exit(f->spaces, 10, 320);
	g_assert_cmpuint(read_by(f, 12, 230), ==, 12);
	spaces_fork(f->spaces, 3, 12, 400);	/* another process of that number */
	spaces_exit(f->spaces, 12, 410);
	g_assert_cmpuint(read_by(f, 12, 405), ==, 12);
}

static void test_fork_of_unknown(struct fixture *f, gconstpointer data)
{
	write_maps(f, 10, "1000-2000 r-xp 0 08:01 5 /shell\n");
	spaces_fork(f->spaces, 10, 11, 200);	/* gone before anybody could read its maps */
	spaces_exit(f->spaces, 11, 300);
	is(f, 11, 250, 0x1500, "/shell", FRAME_NAMED);
	is(f, 11, 250, 0x2500, NULL, FRAME_PROCESS_GONE);
}

static void test_reuse(struct fixture *f, gconstpointer data)
{
	spaces_exec(f->spaces, 10, 100, NULL);
	map(f, 10, 110, 0x1000, 0x1000, "/first");
	spaces_exit(f->spaces, 10, 200);
	is(f, 10, 150, 0x1000, "/first", FRAME_NAMED);
	spaces_fork(f->spaces, 3, 10, 300);
	spaces_exec(f->spaces, 10, 310, NULL);
	map(f, 10, 320, 0x1000, 0x1000, "/second");
	is(f, 10, 150, 0x1000, "/first", FRAME_NAMED);
	is(f, 10, 250, 0x1000, "/first", FRAME_NAMED);	/* its last moments */
	is(f, 10, 400, 0x1000, "/second", FRAME_NAMED);
}

/* A process under a used number whose birth no note told. */
static void test_reuse_unnoticed(struct fixture *f, gconstpointer data)
{
	spaces_exec(f->spaces, 10, 100, NULL);
	map(f, 10, 110, 0x1000, 0x1000, "/first");
	spaces_exit(f->spaces, 10, 200);
	write_maps(f, 10, "1000-2000 r-xp 0 08:01 5 /second\n");
	is(f, 10, 250, 0x1000, "/second", FRAME_NAMED);
	is(f, 10, 150, 0x1000, "/first", FRAME_NAMED);
}

static void test_proc(struct fixture *f, gconstpointer data)
{
	write_maps(f, 10, "1000-2000 r-xp 00003000 08:01 5 /program\n3000-4000 r--p 0 08:01 5 /program\njunk\n");
	is(f, 10, 50, 0x1800, "/program", FRAME_NAMED);
	is(f, 10, 50, 0x3000, NULL, FRAME_NOT_MAPPED);	/* not executable */
	map(f, 10, 60, 0x8000, 0x1000, "/plugin");
	is(f, 10, 70, 0x8000, "/plugin", FRAME_NAMED);
	is(f, 20, 50, 0x1800, NULL, FRAME_PROCESS_GONE);	/* no such process */
}

static void write_thread_maps(struct fixture *f, uint32_t pid, uint32_t tid, const char *text)
{
	g_autofree char *dir = g_strdup_printf("%s/%u/task/%u", f->proc, pid, tid), *path = g_strdup_printf("%s/maps", dir);
	g_autoptr(GError) error = NULL;

	g_assert_cmpint(g_mkdir_with_parents(dir, 0700), ==, 0);
	g_file_set_contents(path, text, -1, &error);
	g_assert_no_error(error);
}

/* The first thread has exited: what it had mapped is told by those that live. */
static void test_headless(struct fixture *f, gconstpointer data)
{
	write_maps(f, 10, "");
	write_thread_maps(f, 10, 10, "");
	write_thread_maps(f, 10, 11, "1000-2000 r-xp 0 08:01 5 /program\n");
	g_assert_cmpuint(living_thread(f->proc, 10), ==, 11);
	is(f, 10, 50, 0x1800, "/program", FRAME_NAMED);
	spaces_exit(f->spaces, 10, 100);	/* its first thread's */
	is(f, 10, 150, 0x1800, "/program", FRAME_NAMED);
	write_maps(f, 20, "1000-2000 r-xp 0 08:01 5 /other\n");
	g_assert_cmpuint(living_thread(f->proc, 20), ==, 0);	/* the first lives */
	write_maps(f, 30, "");
	write_thread_maps(f, 30, 31, "");
	g_assert_cmpuint(living_thread(f->proc, 30), ==, 0);	/* none does */
	is(f, 30, 50, 0x1800, NULL, FRAME_PROCESS_GONE);
}

/* Notes before the first question: /proc completes them. */
static void test_proc_after_notes(struct fixture *f, gconstpointer data)
{
	write_maps(f, 10, "1000-2000 r-xp 0 08:01 5 /program\n8000-9000 r-xp 0 08:01 42 /plugin\n");
	map(f, 10, 60, 0x8000, 0x1000, "/plugin");
	is(f, 10, 70, 0x1800, "/program", FRAME_NAMED);
	is(f, 10, 70, 0x8000, "/plugin", FRAME_NAMED);
	remove_maps(f, 10);
	is(f, 10, 70, 0x1800, "/program", FRAME_NAMED);
}

/* A mapping without a note (mprotect makes none) is found by reading again, but not at once. */
static void test_read_again(struct fixture *f, gconstpointer data)
{
	write_maps(f, 10, "1000-2000 r-xp 0 08:01 5 /program\n");
	is(f, 10, 50, 0x1800, "/program", FRAME_NAMED);
	write_maps(f, 10, "1000-2000 r-xp 0 08:01 5 /program\n6000-7000 r-xp 0 00:00 0 \n");
	is(f, 10, 60, 0x6000, NULL, FRAME_NOT_MAPPED);
	g_usleep(150000);
	is(f, 10, 60, 0x6000, "", FRAME_NAMED);
	is(f, 10, 55, 0x6000, "", FRAME_NAMED);	/* surely there a moment before */
	remove_maps(f, 10);
	is(f, 10, 60, 0x6000, "", FRAME_NAMED);
}

/* Read before the question, for by then the process may be gone. */
static void test_foresee(struct fixture *f, gconstpointer data)
{
	write_maps(f, 10, "1000-2000 r-xp 0 08:01 5 /program\n");
	g_assert_true(spaces_foresee(f->spaces, 10));
	g_assert_false(spaces_foresee(f->spaces, 10));
	spaces_fork(f->spaces, 10, 11, 200);	/* has the same, without a reading of its own */
	g_assert_false(spaces_foresee(f->spaces, 11));
	remove_maps(f, 10);
	is(f, 10, 50, 0x1800, "/program", FRAME_NAMED);
	is(f, 11, 250, 0x1800, "/program", FRAME_NAMED);
	spaces_foresee(f->spaces, 20);	/* there is none */
	is(f, 20, 50, 0x1800, NULL, FRAME_PROCESS_GONE);
	write_maps(f, 10, "1000-2000 r-xp 0 08:01 5 /other\n");
	spaces_exit(f->spaces, 10, 300);
	spaces_foresee(f->spaces, 10);	/* what the number stands for now is not what exited */
	is(f, 10, 50, 0x1800, "/program", FRAME_NAMED);
}

static void test_bounds(struct fixture *f, gconstpointer data)
{
	struct generation *g;
	enum frame_why why;

	for (uint32_t pid = 1; pid <= 20000; pid++) {
		spaces_exec(f->spaces, pid, pid * 10, NULL);
		map(f, pid, pid * 10 + 1, 0x1000, 0x1000, "/a");
		spaces_exit(f->spaces, pid, pid * 10 + 2);
	}
	is(f, 20000, 200001, 0x1000, "/a", FRAME_NAMED);
	is(f, 20000 - 4097, 200000 - 40969, 0x1000, NULL, FRAME_PROCESS_GONE);
	is(f, 1, 11, 0x1000, NULL, FRAME_PROCESS_GONE);
	spaces_exec(f->spaces, 5, 300000, NULL);
	for (uint64_t i = 0; i < 140000; i++)
		map(f, 5, 300000 + i, 0x100000 + i * 0x1000, 0x1000, "/a");
	g_assert_nonnull(spaces_find(f->spaces, 5, 500000, 0x100000 + 139999 * 0x1000, &g, &why));
	is(f, 5, 500000, 0x100000 + (140000 - 131073) * 0x1000, NULL, FRAME_NOT_MAPPED);
	is(f, 5, 500000, 0x100000, NULL, FRAME_NOT_MAPPED);
}

/* More than any program we met has, downwards as Linux places them. */
static void test_many(struct fixture *f, gconstpointer data)
{
	const uint64_t cnt = 16000, top = 0x7f0000000000;

	spaces_exec(f->spaces, 5, 100, NULL);
	for (uint64_t i = 0; i < cnt; i++)
		map(f, 5, 200, top - i * 0x3000, 0x1000, i % 2 ? "/odd" : "/even");
	for (uint64_t i = 0; i < cnt; i += 97) {
		is(f, 5, 300, top - i * 0x3000 + 0xfff, i % 2 ? "/odd" : "/even", FRAME_NAMED);
		is(f, 5, 300, top - i * 0x3000 + 0x1000, NULL, FRAME_NOT_MAPPED);
	}
	/* a large one over many of them; what lies over it in turn; and what was there before */
	map(f, 5, 400, top - 3000 * 0x3000, 3000 * 0x3000, "/large");
	map(f, 5, 500, top - 2000 * 0x3000, 0x1000, "/small");
	is(f, 5, 600, top - 1 * 0x3000, "/large", FRAME_NAMED);
	is(f, 5, 600, top - 2999 * 0x3000 + 0x2000, "/large", FRAME_NAMED);
	is(f, 5, 600, top - 2000 * 0x3000, "/small", FRAME_NAMED);
	is(f, 5, 450, top - 2000 * 0x3000, "/large", FRAME_NAMED);
	is(f, 5, 350, top - 2000 * 0x3000, "/even", FRAME_NAMED);
	is(f, 5, 600, top, "/even", FRAME_NAMED);
}

#define ADD(name, func) g_test_add("/spaces/" name, struct fixture, NULL, set_up, func, tear_down)

static const struct maps_line *parsed(GArray *lines, guint i)
{
	return &g_array_index(lines, struct maps_line, i);
}

/* Code that a program copied to anonymous huge pages is its file's; a compiler's beside a library is not. */
static void test_code_on_huge_pages(void)
{
	g_autofree char *text = g_strdup("400000-401000 r--p 00000000 08:01 7 /bin/huge\n"
					 "401000-600000 r-xp 00001000 08:01 7 /bin/huge\n"
					 "600000-800000 r-xp 00000000 00:00 0 \n"
					 "800000-a00000 rwxp 00000000 00:00 0 \n"
					 "a00000-a01000 r--p 00600000 08:01 7 /bin/huge\n"
					 "b00000-b01000 r-xp 00000000 08:01 8 /lib/a.so\n"
					 "b01000-b02000 r-xp 00000000 00:00 0 \n"
					 "b02000-b03000 r-xp 00001000 08:01 8 /lib/a.so\n"
					 "c00000-c01000 r-xp 00000000 00:00 0 \n");
	g_autoptr(GArray) lines = maps_parse(text);

	g_assert_cmpuint(lines->len, ==, 9);
	g_assert_cmpstr(parsed(lines, 2)->path, ==, "/bin/huge");
	g_assert_cmpuint(parsed(lines, 2)->inode, ==, 7);
	g_assert_cmphex(parsed(lines, 2)->pgoff, ==, 0x200000);
	g_assert_cmpstr(parsed(lines, 3)->path, ==, "/bin/huge");
	g_assert_cmphex(parsed(lines, 3)->pgoff, ==, 0x400000);
	g_assert_cmpstr(parsed(lines, 6)->path, ==, "");	/* the file goes on behind it as if it were not there */
	g_assert_cmpstr(parsed(lines, 8)->path, ==, "");
}

/* Modules of processes that are forgotten go, those that are mapped stay. */
static void test_modules_forgotten(struct fixture *f, gconstpointer data)
{
	spaces_exec(f->spaces, 1, 100, NULL);
	map(f, 1, 110, 0x1000, 0x1000, "/bin/init");
	for (uint32_t i = 0; i < 6000; i++) {
		g_autofree char *path = g_strdup_printf("/tmp/program_%u%s", i, i % 2 ? " (deleted)" : "");

		spaces_exec(f->spaces, 10 + i, 200 + i, NULL);
		map(f, 10 + i, 200 + i, 0x1000, 0x1000, path);
		spaces_exit(f->spaces, 10 + i, 200 + i);
	}
	g_assert_cmpuint(modules_cnt(f->modules), ==, 6001);
	spaces_forget_exited(f->spaces, 6200);
	spaces_forget_modules(f->spaces);
	g_assert_cmpuint(modules_cnt(f->modules), ==, 1);
	is(f, 1, 7000, 0x1000, "/bin/init", FRAME_NAMED);
	/* few are left alone */
	spaces_exec(f->spaces, 10, 7000, NULL);
	map(f, 10, 7000, 0x1000, 0x1000, "/tmp/last");
	spaces_exit(f->spaces, 10, 7001);
	spaces_forget_exited(f->spaces, 8000);
	spaces_forget_modules(f->spaces);
	g_assert_cmpuint(modules_cnt(f->modules), ==, 2);
}

static bool count_file(const struct maps_line *line, void *data)
{
	g_assert_cmpuint(line->inode, ==, 7);
	g_assert_cmpuint(line->end - line->start, ==, 0x1000);
	++*(unsigned *)data;
	return strcmp(line->path, "/lib/last.so") != 0;
}

/* What was told since an exec; of a fork it is the same. */
static void test_exec_files(struct fixture *f, gconstpointer data)
{
	const struct symbolizer_mapping m = { .start = 0x1000, .len = 0x1000, .inode = 7, .path = "/bin/prog" },
					last = { .start = 0x9000, .len = 0x1000, .inode = 7, .path = "/lib/last.so" };
	unsigned cnt = 0;

	spaces_mmap(f->spaces, 10, 1, &m);
	g_assert_false(spaces_exec_files(f->spaces, 10, count_file, &cnt));	/* it may have mapped others before */
	spaces_exec(f->spaces, 10, 5, "prog");
	spaces_mmap(f->spaces, 10, 6, &m);
	spaces_fork(f->spaces, 10, 11, 7);
	g_assert_true(spaces_exec_files(f->spaces, 10, count_file, &cnt));
	g_assert_true(spaces_exec_files(f->spaces, 11, count_file, &cnt));
	g_assert_cmpuint(cnt, ==, 2);
	spaces_mmap(f->spaces, 11, 8, &last);
	g_assert_false(spaces_exec_files(f->spaces, 11, count_file, &cnt));
	g_assert_cmpuint(cnt, ==, 4);
	g_assert_false(spaces_has_ended(f->spaces, 11));
	spaces_exit(f->spaces, 11, 9);
	g_assert_true(spaces_has_ended(f->spaces, 11));
	spaces_fork(f->spaces, 10, 11, 12);	/* another process of that number */
	g_assert_false(spaces_has_ended(f->spaces, 11));
}

static void test_executed(struct fixture *f, gconstpointer data)
{
	struct module *m = modules_intern(f->modules, &(struct symbolizer_mapping){ .path = "/bin/busybox", .inode = 3 });
	const char *first = modules_executed(m, "/bin/ls");

	g_assert_cmpstr(first, ==, "/bin/ls");
	for (unsigned i = 0; i < 2000; i++) {
		g_autofree char *path = g_strdup_printf("/tmp/link_%u", i);

		modules_executed(m, path);
	}
	g_assert_true(modules_executed(m, "/bin/ls") == first);
	g_assert_null(modules_executed(m, "/tmp/one_too_many"));
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/spaces/lines", test_lines);
	ADD("mmap", test_mmap);
	ADD("exec", test_exec);
	ADD("replaced", test_replaced);
	ADD("fork", test_fork);
	ADD("living", test_living);
	ADD("fork-of-unknown", test_fork_of_unknown);
	ADD("reuse", test_reuse);
	ADD("reuse-unnoticed", test_reuse_unnoticed);
	ADD("proc", test_proc);
	ADD("headless", test_headless);
	ADD("proc-after-notes", test_proc_after_notes);
	ADD("read-again", test_read_again);
	ADD("foresee", test_foresee);
	ADD("bounds", test_bounds);
	ADD("many", test_many);
	ADD("modules-forgotten", test_modules_forgotten);
	ADD("executed", test_executed);
	ADD("exec_files", test_exec_files);
	g_test_add_func("/spaces/code-on-huge-pages", test_code_on_huge_pages);
	return g_test_run();
}
