/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <glib.h>
#include <glib/gstdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "process.h"
#include "symbolize/elf/table.h"
#include "symbolize/symbolize.h"

static void test_own(void)
{
	struct symbolizer *s = symbolizer_new();
	g_autofree char *exe = g_file_read_link("/proc/self/exe", NULL);
	struct symbol probe, inside;

	symbolizer_user(s, (uint32_t)getpid(), 1, PROBE, false, &probe);
	g_assert_cmpint(probe.why, ==, FRAME_NAMED);
	g_assert_cmpstr(probe.name, ==, "symbolizer_test_probe");
	g_assert_cmpstr(probe.module, ==, exe);
	g_assert_cmpuint(probe.symbol_offset, ==, 0);
	symbolizer_user(s, (uint32_t)getpid(), 1, PROBE + 3, true, &inside);
	g_assert_cmpstr(inside.name, ==, "symbolizer_test_probe");
	g_assert_cmpuint(inside.symbol_offset, ==, 2);
	g_assert_cmphex(inside.offset, ==, probe.offset + 2);
	symbolizer_user(s, (uint32_t)getpid(), 1, PROBE, true, &inside);	/* belongs to what lies before */
	g_assert_cmpstr(inside.name, !=, "symbolizer_test_probe");
	symbolizer_user(s, (uint32_t)getpid(), 1, 16, false, &inside);
	g_assert_cmpint(inside.why, ==, FRAME_NOT_MAPPED);
	g_assert_null(inside.name);
	g_assert_null(inside.module);
	g_assert_cmphex(inside.offset, ==, 16);
	symbolizer_user(s, (uint32_t)getpid(), 1, 0, true, &inside);
	g_assert_cmpint(inside.why, ==, FRAME_NOT_MAPPED);
	symbolizer_free(s);
}

/* What nobody has asked for since goes, and is read again. */
static void test_evicted(void)
{
	struct symbolizer *s = symbolizer_new();
	struct symbol probe;
	size_t bytes;

	symbolizer_user(s, (uint32_t)getpid(), 1, PROBE, false, &probe);
	bytes = symbolizer_table_bytes(s);
	g_assert_cmpuint(bytes, >, 0);
	symbolizer_next_turn(s, 1, 0);
	g_assert_cmpuint(symbolizer_table_bytes(s), ==, bytes);	/* used a moment ago */
	for (unsigned i = 0; i < 3; i++)
		symbolizer_next_turn(s, 1, bytes);
	g_assert_cmpuint(symbolizer_table_bytes(s), ==, bytes);	/* there is room */
	symbolizer_next_turn(s, 1, bytes - 1);
	g_assert_cmpuint(symbolizer_table_bytes(s), ==, 0);
	for (unsigned i = 0; i < 5; i++) {
		symbolizer_user(s, (uint32_t)getpid(), 1, PROBE, false, &probe);
		g_assert_cmpstr(probe.name, ==, "symbolizer_test_probe");
		g_assert_cmpuint(symbolizer_table_bytes(s), ==, bytes);
		for (unsigned k = 0; k < 2; k++)
			symbolizer_next_turn(s, 1, 0);
	}
	symbolizer_free(s);
}

static void test_vdso(void)
{
	uint64_t base = getauxval(AT_SYSINFO_EHDR);
	struct symbolizer *s = symbolizer_new();
	struct elf_table *t;
	unsigned checked = 0;

	if (!base || sizeof(void *) == 4) {
		g_test_skip("no vdso here");
		symbolizer_free(s);
		return;
	}
	t = elf_table_read_memory((void *)(uintptr_t)base, (size_t)sysconf(_SC_PAGESIZE), NULL);
	if (!t || !t->symbols.cnt) {	/* its section headers lie in the second page */
		elf_table_free(t);
		t = elf_table_read_memory((void *)(uintptr_t)base, 2 * (size_t)sysconf(_SC_PAGESIZE), NULL);
	}
	g_assert_nonnull(t);
	for (size_t i = 0; i < t->symbols.cnt; i++) {
		struct symbol symbol;

		symbolizer_user(s, (uint32_t)getpid(), 1, base + t->symbols.entries[i].addr, false, &symbol);
		g_assert_cmpstr(symbol.module, ==, "[vdso]");
		g_assert_nonnull(symbol.name);
		g_assert_true(g_str_has_prefix(symtab_name(&t->symbols, &t->symbols.entries[i]), symbol.name));
		g_assert_cmphex(symbol.offset, ==, t->symbols.entries[i].addr);
		checked++;
	}
	g_assert_cmpuint(checked, >, 2);
	elf_table_free(t);
	symbolizer_free(s);
}

static void test_container(struct fixture *f, gconstpointer data)
{
	map_text(f, f->st.st_ino, "/app/program");
	probe_is(f, "symbolizer_test_probe", "/app/program", FRAME_NAMED);
}

static void test_wrong_inode(struct fixture *f, gconstpointer data)
{
	map_text(f, f->st.st_ino + 1, "/app/program");
	probe_is(f, NULL, "/app/program", FRAME_NO_FILE);
}

static void test_absolute_link(struct fixture *f, gconstpointer data)
{
	g_autofree char *link = g_build_filename(f->root, "alias", NULL);

	g_assert_cmpint(symlink("/app", link), ==, 0);	/* /app of the process, not ours */
	map_text(f, f->st.st_ino, "/alias/program");
	probe_is(f, "symbolizer_test_probe", "/alias/program", FRAME_NAMED);
}

static void test_fifo(struct fixture *f, gconstpointer data)
{
	g_assert_cmpint(g_unlink(f->copy), ==, 0);
	g_assert_cmpint(mkfifo(f->copy, 0600), ==, 0);
	g_assert_cmpint(stat(f->copy, &f->st), ==, 0);
	map_text(f, f->st.st_ino, "/app/program");
	probe_is(f, NULL, "/app/program", FRAME_NO_FILE);	/* and does not wait for a writer */
}

static void test_no_elf(struct fixture *f, gconstpointer data)
{
	put_copy(f, "#!/bin/sh\n", -1);
	map_text(f, f->st.st_ino, "/app/program");
	probe_is(f, NULL, "/app/program", FRAME_NO_FILE);
}

/* Deleted, but the link to the mapping still leads to it. */
static void test_deleted(struct fixture *f, gconstpointer data)
{
	g_autofree char *links = g_build_filename(f->process, "map_files", NULL);
	g_autofree char *link = g_strdup_printf("%s/%" G_GINT64_MODIFIER "x-%" G_GINT64_MODIFIER "x", links,
						f->text.start, f->text.end);

	map_text(f, f->st.st_ino, "/app/gone (deleted)");
	g_assert_cmpint(g_mkdir(links, 0700), ==, 0);
	g_assert_cmpint(symlink(f->copy, link), ==, 0);
	probe_is(f, "symbolizer_test_probe", "/app/gone", FRAME_NAMED);
}

/* Not deleted at all, but called so. */
static void test_named_deleted(struct fixture *f, gconstpointer data)
{
	g_autofree char *path = g_strconcat(f->copy, " (deleted)", NULL);

	g_assert_cmpint(rename(f->copy, path), ==, 0);
	map_text(f, f->st.st_ino, "/app/program (deleted)");
	probe_is(f, "symbolizer_test_probe", "/app/program (deleted)", FRAME_NAMED);
}

/* The process is gone, but another has the same file. */
static void test_by_another(struct fixture *f, gconstpointer data)
{
	struct symbolizer_mapping m = { .start = f->text.start, .len = f->text.end - f->text.start, .pgoff = f->text.pgoff,
					.dev_major = major(f->st.st_dev), .dev_minor = minor(f->st.st_dev),
					.inode = f->st.st_ino, .path = "/app/program" };
	struct symbol symbol;

	symbolizer_note_exec(f->symbolizer, 600, 10, NULL);
	symbolizer_note_mmap(f->symbolizer, 600, 20, &m);
	symbolizer_note_exit(f->symbolizer, 600, 30);
	symbolizer_user(f->symbolizer, 600, 25, PROBE, false, &symbol);
	g_assert_cmpint(symbol.why, ==, FRAME_NO_FILE);
	g_assert_cmpstr(symbol.module, ==, "/app/program");
	map_text(f, f->st.st_ino, "/app/program");
	probe_is(f, "symbolizer_test_probe", "/app/program", FRAME_NAMED);
	symbolizer_user(f->symbolizer, 600, 25, PROBE, false, &symbol);
	g_assert_cmpstr(symbol.name, ==, "symbolizer_test_probe");
}

static void test_jit(struct fixture *f, gconstpointer data)
{
	g_autofree char *maps = g_build_filename(f->process, "maps", NULL), *status = g_build_filename(f->process, "status", NULL);
	g_autofree char *map = g_build_filename(f->root, "tmp", "perf-7.map", NULL);
	g_autofree char *text = g_strdup_printf("Name:\tnode\nUid:\t0\t%u\t0\t0\nNSpid:\t500\t7\n", geteuid());
	struct symbol symbol;

	put(maps, "10000-20000 r-xp 00000000 00:00 0 \n", -1);
	put(status, text, -1);
	put(map, "10100 80 LazyCompile:~run app.js:12\n", -1);
	symbolizer_user(f->symbolizer, 500, 1, 0x10110, false, &symbol);
	g_assert_cmpstr(symbol.name, ==, "LazyCompile:~run app.js:12");
	g_assert_cmpstr(symbol.module, ==, "[jit]");
	g_assert_cmphex(symbol.symbol_offset, ==, 0x10);
	symbolizer_user(f->symbolizer, 500, 1, 0x10210, false, &symbol);
	g_assert_cmpint(symbol.why, ==, FRAME_NO_SYMBOLS);
	g_assert_cmpstr(symbol.module, ==, "[anon]");
	g_assert_cmphex(symbol.offset, ==, 0x10210);
	put(map, "10100 80 LazyCompile:~run app.js:12\n10200 80 later\n", -1);
	g_usleep(350000);	/* it is read again when it has grown, not at every question */
	symbolizer_user(f->symbolizer, 500, 1, 0x10210, false, &symbol);
	g_assert_cmpstr(symbol.name, ==, "later");
}

static uint64_t now_ns(void)
{
	return (uint64_t)g_get_monotonic_time() * 1000;
}

static const char *jit_name_of(struct fixture *f, uint64_t ts_ns, uint64_t addr)
{
	struct symbol symbol;

	symbolizer_user(f->symbolizer, 500, ts_ns, addr, false, &symbol);
	return symbol.name;
}

/* A list written anew: a stack has the names that were in force as it was seen, or both where that is not known. */
static void test_jit_versions(struct fixture *f, gconstpointer data)
{
	g_autofree char *maps = g_build_filename(f->process, "maps", NULL), *status = g_build_filename(f->process, "status", NULL);
	g_autofree char *map = g_build_filename(f->root, "tmp", "perf-7.map", NULL);
	g_autofree char *text = g_strdup_printf("Name:\tnode\nUid:\t0\t%u\t0\t0\nNSpid:\t500\t7\n", geteuid());
	uint64_t before_ns = now_ns(), between_ns, from_ns, cnt;

	put(maps, "10000-20000 r-xp 00000000 00:00 0 \n", -1);
	put(status, text, -1);
	put(map, "10100 80 first\n10200 80 same\n", -1);
	g_assert_cmpstr(jit_name_of(f, now_ns(), 0x10110), ==, "first");
	cnt = symbolizer_replaced_cnt(f->symbolizer);
	g_usleep(350000);
	between_ns = now_ns();
	g_usleep(50000);	/* files' times are those of ticks */
	put(map, "10100 80 other\n10200 80 same\n", -1);	/* as long as before */
	g_usleep(50000);
	g_assert_cmpstr(jit_name_of(f, before_ns, 0x10110), ==, "first");
	g_assert_cmpstr(jit_name_of(f, between_ns, 0x10110), ==, "first | other");
	g_assert_cmpstr(jit_name_of(f, between_ns, 0x10210), ==, "same");
	g_assert_cmpstr(jit_name_of(f, now_ns(), 0x10110), ==, "other");
	g_assert_cmpuint(symbolizer_replaced_cnt(f->symbolizer), ==, cnt + 1);
	g_assert_cmpstr(symbolizer_newest_jit_name(f->symbolizer, 500, before_ns, 0x10110, &from_ns), ==, "other");
	g_assert_cmpuint(from_ns, >, between_ns);
	g_assert_cmpuint(from_ns, <, now_ns());
	g_assert_null(symbolizer_newest_jit_name(f->symbolizer, 500, before_ns, 0x10310, &from_ns));
}

/* What is appended hides what stood there; what only grows renames nothing. */
static void test_jit_appended(struct fixture *f, gconstpointer data)
{
	g_autofree char *maps = g_build_filename(f->process, "maps", NULL), *status = g_build_filename(f->process, "status", NULL);
	g_autofree char *map = g_build_filename(f->root, "tmp", "perf-7.map", NULL);
	g_autofree char *text = g_strdup_printf("Name:\tnode\nUid:\t0\t%u\t0\t0\nNSpid:\t500\t7\n", geteuid());
	uint64_t cnt = symbolizer_replaced_cnt(f->symbolizer), first_ns;

	put(maps, "10000-20000 r-xp 00000000 00:00 0 \n", -1);
	put(status, text, -1);
	put(map, "10100 80 first\n", -1);
	first_ns = now_ns();
	g_assert_cmpstr(jit_name_of(f, first_ns, 0x10110), ==, "first");
	put(map, "10100 80 first\n10200 80 grown\n", -1);
	g_usleep(350000);
	g_assert_cmpstr(jit_name_of(f, now_ns(), 0x10110), ==, "first");
	g_assert_cmpstr(jit_name_of(f, first_ns, 0x10210), ==, "grown");
	g_assert_cmpuint(symbolizer_replaced_cnt(f->symbolizer), ==, cnt);
	put(map, "10100 80 first\n10200 80 grown\n10100 40 second\n", -1);
	g_usleep(650000);
	g_assert_cmpstr(jit_name_of(f, now_ns(), 0x10110), ==, "second");
	g_assert_cmpstr(jit_name_of(f, first_ns, 0x10110), ==, "first");
	g_assert_cmpstr(jit_name_of(f, now_ns(), 0x10150), ==, "first");
	g_assert_cmpuint(symbolizer_replaced_cnt(f->symbolizer), ==, cnt + 1);
}

static void append_load(GByteArray *to, uint64_t addr, uint64_t size, uint64_t index, const char *name)
{
	uint64_t code[] = { addr, addr, size, index };
	uint32_t record[] = { 0, (uint32_t)(16 + 8 + sizeof(code) + strlen(name) + 1 + size), 0, 0, 7, 7 };
	g_autofree uint8_t *bytes = g_malloc0(size);

	g_byte_array_append(to, (uint8_t *)record, sizeof(record));
	g_byte_array_append(to, (uint8_t *)code, sizeof(code));
	g_byte_array_append(to, (const uint8_t *)name, (guint)strlen(name) + 1);
	g_byte_array_append(to, bytes, (guint)size);
}

static void append_move(GByteArray *to, uint64_t from, uint64_t addr, uint64_t size, uint64_t index)
{
	uint64_t code[] = { addr, from, addr, size, index };
	uint32_t record[] = { 1, 16 + 8 + sizeof(code), 0, 0, 7, 7 };

	g_byte_array_append(to, (uint8_t *)record, sizeof(record));
	g_byte_array_append(to, (uint8_t *)code, sizeof(code));
}

static void put_jitdump(struct fixture *f)
{
	g_autofree char *maps = g_build_filename(f->process, "maps", NULL), *status = g_build_filename(f->process, "status", NULL);
	g_autofree char *dump = g_build_filename(f->root, "app", "jit-7.dump", NULL);
	g_autofree char *text = g_strdup_printf("Name:\tnode\nUid:\t0\t%u\t0\t0\nNSpid:\t500\t7\n", geteuid());
	g_autoptr(GByteArray) bytes = g_byte_array_new();
	uint32_t header[10] = { 0x4a695444, 1, 40, 62, 0, 7 };

	g_byte_array_append(bytes, (uint8_t *)header, sizeof(header));
	append_load(bytes, 0x10100, 0x80, 1, "JS:*run app.js:12");
	append_load(bytes, 0x10200, 0x80, 2, "bad\n10300 80 name");
	append_move(bytes, 0x10100, 0x10400, 0x80, 1);
	put(dump, (char *)bytes->data, bytes->len);
	put(status, text, -1);
	put(maps, "10000-20000 r-xp 00000000 00:00 0 \n30000-31000 r-xp 00000000 08:01 77 /app/jit-7.dump\n", -1);
}

static const char *jit_name_at(struct fixture *f, uint64_t addr)
{
	struct symbol symbol;

	symbolizer_user(f->symbolizer, 500, 1, addr, false, &symbol);
	g_assert_cmpstr(symbol.module, ==, symbol.name ? "[jit]" : "[anon]");
	return symbol.name;
}

static void test_jitdump(struct fixture *f, gconstpointer data)
{
	put_jitdump(f);
	g_assert_cmpstr(jit_name_at(f, 0x10110), ==, "JS:*run app.js:12");
	g_assert_cmpstr(jit_name_at(f, 0x10210), ==, "bad?10300 80 name");
	g_assert_cmpstr(jit_name_at(f, 0x10310), ==, NULL);
	g_assert_cmpstr(jit_name_at(f, 0x10410), ==, "JS:*run app.js:12");
}

/* Behind a link, it may be anybody's. */
static void test_jitdump_link(struct fixture *f, gconstpointer data)
{
	g_autofree char *dump = g_build_filename(f->root, "app", "jit-7.dump", NULL);
	g_autofree char *other = g_build_filename(f->root, "app", "other", NULL);

	put_jitdump(f);
	g_assert_cmpint(rename(dump, other) | symlink("other", dump), ==, 0);
	g_assert_cmpstr(jit_name_at(f, 0x10110), ==, NULL);
}

static void test_kernel(struct fixture *f, gconstpointer data)
{
	struct symbol symbol;

	put(f->kallsyms, "ffffffff81000000 T schedule\nffffffff81000100 t do_nanosleep\n"
	    "ffffffffc0203000 t ext4_sync_file\t[ext4]\n", -1);
	symbolizer_kernel(f->symbolizer, 0xffffffff81000100, true, &symbol);
	g_assert_cmpstr(symbol.name, ==, "schedule");
	g_assert_cmpstr(symbol.module, ==, "[kernel]");
	g_assert_cmphex(symbol.offset, ==, 0xffffffff810000ff);
	g_assert_cmphex(symbol.symbol_offset, ==, 0xff);
	symbolizer_kernel(f->symbolizer, 0xffffffffc0203004, false, &symbol);
	g_assert_cmpstr(symbol.name, ==, "ext4_sync_file");
	g_assert_cmpstr(symbol.module, ==, "[ext4]");
	symbolizer_kernel(f->symbolizer, 0x1000, false, &symbol);
	g_assert_cmpint(symbol.why, ==, FRAME_NO_SYMBOLS);
	g_assert_null(symbol.name);
}

static void test_kernel_function(struct fixture *f, gconstpointer data)
{
	const char *name = NULL;
	uint64_t start = 0;

	put(f->kallsyms, "ffffffff81000000 T schedule\nffffffff81000100 t do_nanosleep\n", -1);
	g_assert_true(symbolizer_kernel_function(f->symbolizer, 0xffffffff81000100, &name, &start));
	g_assert_cmpstr(name, ==, "schedule");
	g_assert_cmphex(start, ==, 0xffffffff81000000);
	g_assert_false(symbolizer_kernel_function(f->symbolizer, 0xffffffff91000100, &name, &start));
	g_assert_false(symbolizer_kernel_function(f->symbolizer, 0, &name, &start));
}

static void test_kernel_hidden(struct fixture *f, gconstpointer data)
{
	struct symbol symbol;

	put(f->kallsyms, "0000000000000000 T schedule\n", -1);
	symbolizer_kernel(f->symbolizer, 0xffffffff81000100, true, &symbol);
	g_assert_cmpint(symbol.why, ==, FRAME_NO_SYMBOLS);
	g_assert_null(symbol.name);
	g_assert_cmpstr(symbol.module, ==, "[kernel]");
}

static void test_thread_start(void)
{
	static const char *const yes[] = { "_start", "__clone3", "clone3", "clone", "start_thread", "__libc_start_main",
		"__libc_start_main@@GLIBC_2.34", "__libc_start_call_main", "runtime.goexit.abi0", "_dl_start_user" };
	static const char *const no[] = { "main", "", "start", "cloned", "start_threads", "pthread_create" };

	for (size_t i = 0; i < G_N_ELEMENTS(yes); i++)
		g_assert_true(symbol_is_thread_start(yes[i]));
	for (size_t i = 0; i < G_N_ELEMENTS(no); i++)
		g_assert_false(symbol_is_thread_start(no[i]));
	g_assert_false(symbol_is_thread_start(NULL));
}

#define ADD(name, func) g_test_add("/symbolizer/" name, struct fixture, NULL, set_up, func, tear_down)

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	unsetenv("DEBUGINFOD_URLS");	/* the tests name servers of their own */
	g_test_add_func("/symbolizer/own", test_own);
	g_test_add_func("/symbolizer/evicted", test_evicted);
	g_test_add_func("/symbolizer/vdso", test_vdso);
	g_test_add_func("/symbolizer/thread-start", test_thread_start);
	ADD("container", test_container);
	ADD("wrong-inode", test_wrong_inode);
	ADD("absolute-link", test_absolute_link);
	ADD("fifo", test_fifo);
	ADD("no-elf", test_no_elf);
	ADD("deleted", test_deleted);
	ADD("named-deleted", test_named_deleted);
	ADD("by-another", test_by_another);
	ADD("jit", test_jit);
	ADD("jit-versions", test_jit_versions);
	ADD("jit-appended", test_jit_appended);
	ADD("jitdump", test_jitdump);
	ADD("jitdump-link", test_jitdump_link);
	ADD("kernel", test_kernel);
	ADD("kernel-function", test_kernel_function);
	ADD("kernel-hidden", test_kernel_hidden);
	return g_test_run();
}
