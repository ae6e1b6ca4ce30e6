/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <dlfcn.h>
#include <fcntl.h>
#include <glib.h>
#include <link.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "symbolize/elf/table.h"

static struct elf_table *read_path(const char *path, GError **error)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct elf_table *t;

	g_assert_cmpint(fd, >=, 0);
	t = elf_table_read(fd, error);
	close(fd);
	return t;
}

/* Builds tests' own libraries with the compiler and linkers at hand; false when one is missing. */
static bool run(const char *dir, const char *command)
{
	const char *argv[] = { "sh", "-c", command, NULL };
	int status = -1;

	return g_spawn_sync(dir, (char **)argv, NULL, G_SPAWN_SEARCH_PATH | G_SPAWN_STDERR_TO_DEV_NULL, NULL, NULL, NULL,
			    NULL, &status, NULL) && !status;
}

static const char *name_at(const struct elf_table *t, uint64_t vaddr)
{
	const struct symtab_entry *e = symtab_find(&t->symbols, vaddr);

	return e ? symtab_name(&t->symbols, e) : NULL;
}

G_GNUC_NO_INLINE int elf_test_exported(int x);
int elf_test_exported(int x)
{
	return x * 3 + 1;
}

static G_GNUC_NO_INLINE int elf_test_static(int x)
{
	return elf_test_exported(x) ^ 5;
}

/* The load address of the program, from the address of its first part. */
static int own_base(struct dl_phdr_info *info, size_t size, void *ret)
{
	*(uint64_t *)ret = info->dlpi_addr;
	return 1;	/* the program comes first */
}

static void test_own(void)
{
	struct elf_table *t = read_path("/proc/self/exe", NULL);
	uint64_t base = 0, size;

	g_assert_nonnull(t);
	g_assert_true(t->has_full_symbols);
	dl_iterate_phdr(own_base, &base);
	g_assert_cmpstr(name_at(t, (uintptr_t)elf_test_exported - base), ==, "elf_test_exported");
	g_assert_cmpstr(name_at(t, (uintptr_t)elf_test_static - base), ==, "elf_test_static");
	g_assert_cmpint(elf_test_static(1), ==, 1);
	size = symtab_find(&t->symbols, (uintptr_t)elf_test_static - base)->size;
	g_assert_cmpuint(size, >, 4);
	g_assert_cmpstr(name_at(t, (uintptr_t)elf_test_static - base + size - 1), ==, "elf_test_static");
	g_assert_null(name_at(t, 0));
	g_assert_null(name_at(t, UINT64_MAX));
	elf_table_free(t);
}

struct library {
	uint64_t base;
	char *path;
};

static int find_libc(struct dl_phdr_info *info, size_t size, void *ret)
{
	struct library *l = ret;

	if (!strstr(info->dlpi_name, "libc.so.6"))
		return 0;
	l->base = info->dlpi_addr;
	l->path = g_strdup(info->dlpi_name);
	return 1;
}

/* Every name we give a function of libc must lead to the same place by the dynamic linker. */
static void test_libc(void)
{
	static const char *const names[] = { "read", "write", "nanosleep", "clock_nanosleep", "fsync", "poll", "malloc",
					     "free", "printf", "qsort", "getenv", "pthread_mutex_lock", "pthread_cond_wait" };
	struct library l = { 0 };
	struct elf_table *t;
	void *libc;

	if (!dl_iterate_phdr(find_libc, &l)) {
		g_test_skip("this is not glibc");
		return;
	}
	libc = dlopen(l.path, RTLD_NOW | RTLD_NOLOAD);
	t = read_path(l.path, NULL);
	g_assert_nonnull(libc);
	g_assert_nonnull(t);
	for (size_t i = 0; i < G_N_ELEMENTS(names); i++) {
		uint64_t address = (uintptr_t)dlsym(libc, names[i]);
		g_autofree char *name = g_strdup(name_at(t, address - l.base));

		if (!address)
			continue;
		g_assert_nonnull(name);
		*strchrnul(name, '@') = 0;
		if (strcmp(name, names[i]))	/* an alias then */
			g_assert_cmphex((uintptr_t)dlsym(libc, name), ==, address);
	}
	g_assert_cmpstr(name_at(t, (uintptr_t)dlsym(libc, "read") - l.base), ==, "read");
	g_assert_cmpstr(name_at(t, (uintptr_t)dlsym(libc, "free") - l.base), ==, "free");	/* not cfree */
	dlclose(libc);
	elf_table_free(t);
	g_free(l.path);
}

#ifdef __x86_64__
/* As musl has it: functions in assembly whose symbols have no size, and one of them that is not exported. */
static const char *unsized_source =
	".globl fill, leave, after\\n.type fill,@function\\n.type hidden,@function\\n.type second,@function\\n"
	".type leave,@function\\n.type after,@function\\n.text\\n.balign 64\\n"
	"fill: test %rdx,%rdx\\n jz 1f\\n mov %rdi,%rax\\n ret\\n1: xor %eax,%eax\\n ret\\n.balign 32\\n"
	"hidden: syscall\\n ret\\n.balign 32\\n"
	"leave: jmp *%rdi\\n.balign 32\\nsecond: mov %rdi,%rax\\n ret\\n.balign 32\\n"
	"after: ret\\n.size after,.-after\\n";

static void check_unsized(const char *library, bool is_stripped)
{
	struct elf_table *t = read_path(library, NULL);
	uint64_t fill = 0;

	for (size_t i = 0; i < t->symbols.cnt; i++)
		if (!strcmp(symtab_name(&t->symbols, &t->symbols.entries[i]), "fill"))
			fill = t->symbols.entries[i].addr;
	g_assert_cmphex(fill, !=, 0);
	g_assert_cmpstr(name_at(t, fill), ==, "fill");
	g_assert_cmpstr(name_at(t, fill + 8), ==, "fill");
	g_assert_cmpstr(name_at(t, fill + 10), ==, "fill");	/* what only a conditional jump leads to */
	g_assert_cmpstr(name_at(t, fill + 32 + 2), ==, is_stripped ? NULL : "hidden");
	g_assert_cmpstr(name_at(t, fill + 64), ==, "leave");
	g_assert_cmpstr(name_at(t, fill + 96), ==, is_stripped ? NULL : "second");
	g_assert_cmpstr(name_at(t, fill + 96 + 8), ==, NULL);	/* behind its end: of another function, which has no symbol */
	g_assert_cmpstr(name_at(t, fill + 128), ==, "after");
	elf_table_free(t);
}

static void test_unsized(void)
{
	g_autofree char *dir = g_dir_make_tmp("offcpu-test-XXXXXX", NULL), *library = g_build_filename(dir, "a.so", NULL);
	g_autofree char *command = g_strdup_printf("printf %%b '%s' | cc -shared -nostdlib -x assembler - -o a.so", unsized_source);

	if (run(dir, command)) {
		check_unsized(library, false);
		g_assert_true(run(dir, "strip a.so"));
		check_unsized(library, true);
	} else {
		g_test_skip("no compiler");
	}
	unlink(library);
	rmdir(dir);
}
#endif

static const char *plt_name_at(const struct elf_table *t, uint64_t vaddr)
{
	const struct symtab_entry *e = symtab_find(&t->plt, vaddr);

	return e ? symtab_name(&t->plt, e) : NULL;
}

/* By objdump's own reading: "0000000000004030 <getenv@plt>:". */
static void compare_plt_with_objdump(const char *path, const char *objdump)
{
	const char *argv[] = { objdump, "-d", "-j.plt", "-j.plt.sec", "-j.plt.got", "--no-show-raw-insn", path, NULL };
	struct elf_table *t = read_path(path, NULL);
	g_autofree char *text = NULL;
	g_auto(GStrv) lines = NULL;
	unsigned compared = 0;

	g_assert_nonnull(t);
	if (!g_spawn_sync(NULL, (char **)argv, NULL, G_SPAWN_SEARCH_PATH | G_SPAWN_STDERR_TO_DEV_NULL, NULL, NULL,
			  &text, NULL, NULL, NULL)) {
		g_test_skip("no objdump");
		elf_table_free(t);
		return;
	}
	lines = g_strsplit(text, "\n", -1);
	for (char **l = lines; *l; l++) {
		char *open = strchr(*l, '<'), *at = strstr(*l, "@");
		uint64_t vaddr = g_ascii_strtoull(*l, NULL, 16), start = 0;
		g_autofree char *expected = NULL;

		if (**l != '0' || !open || !at || at[1] == '@' || !g_str_has_suffix(*l, "@plt>:") ||
		    g_str_has_prefix(open, "<*ABS*"))
			continue;
		expected = g_strndup(open + 1, strlen(open + 1) - 2);
		g_assert_cmpstr(plt_name_at(t, vaddr), ==, expected);
		g_assert_cmpstr(plt_name_at(t, vaddr + 7), ==, expected);
		g_assert_cmpstr(elf_table_find(t, vaddr + 5, &start), ==, expected);
		g_assert_cmphex(start, ==, vaddr);
		compared++;
	}
	g_test_message("%s: %u entries", path, compared);
	g_assert_cmpuint(compared, >, 0);
	elf_table_free(t);
}

static void test_plt(void)
{
	static const char *const paths[] = { "/bin/ls", "/usr/bin/python3", "/usr/bin/gcc", "/usr/bin/ssh" };

	for (size_t i = 0; i < G_N_ELEMENTS(paths); i++)
		if (g_file_test(paths[i], G_FILE_TEST_EXISTS))
			compare_plt_with_objdump(paths[i], "objdump");
}

/* libc reaches functions chosen at run time through its own table; they bear the chooser's name. */
static void test_plt_of_libc(void)
{
	struct library l = { 0 };
	struct elf_table *t;
	unsigned named = 0;

	if (!dl_iterate_phdr(find_libc, &l)) {
		g_test_skip("this is not glibc");
		return;
	}
	t = read_path(l.path, NULL);
	for (size_t i = 0; i < t->plt.cnt; i++)
		named += !strcmp(symtab_name(&t->plt, &t->plt.entries[i]), "strlen@plt");
	g_assert_cmpuint(t->plt.cnt, >, 0);
	g_assert_cmpuint(named, >=, 1);	/* a table for indirect branch tracking is a second one */
	elf_table_free(t);
	g_free(l.path);
}

/* Builds a library with each of these flags, and has it looked at; skipped where none could be built. */
static void with_libraries(const char *compiler, const char *const *flags, size_t flags_cnt,
			   void (*look)(const char *library, const char *flags), const char *why_none)
{
	g_autofree char *dir = g_dir_make_tmp("offcpu-test-XXXXXX", NULL), *source = g_build_filename(dir, "a.c", NULL);
	g_autofree char *library = g_build_filename(dir, "a.so", NULL);
	unsigned built = 0;

	g_assert_true(g_file_set_contents(source, "int puts(const char *); int getpid(void); void *p(void) { return (void *)getpid; }"
		"int f(void) { return puts(\"x\") + getpid(); }", -1, NULL));
	for (size_t i = 0; i < flags_cnt; i++) {
		g_autofree char *command = g_strdup_printf("%s -shared -fPIC -O1 %s -o a.so a.c", compiler, flags[i]);

		if (!run(dir, command))
			continue;
		built++;
		look(library, flags[i]);
	}
	unlink(source);
	unlink(library);
	rmdir(dir);
	if (!built)
		g_test_skip(why_none);
}

static void has_puts(const char *library, const char *flags)
{
	struct elf_table *t = read_path(library, NULL);
	unsigned puts_cnt = 0;

	for (size_t k = 0; k < t->plt.cnt; k++)
		puts_cnt += !strcmp(symtab_name(&t->plt, &t->plt.entries[k]), "puts@plt");
	g_test_message("%s: %u", flags, puts_cnt);
	g_assert_cmpuint(puts_cnt, >=, 1);
	elf_table_free(t);
}

static void test_plt_layouts(void)
{
	static const char *const flags[] = {
		"", "-Wl,-z,lazy", "-fcf-protection=full -Wl,-z,lazy,-z,ibtplt", "-fcf-protection=full -Wl,-z,now,-z,ibtplt",
		"-fuse-ld=gold", "-fuse-ld=lld", "-fuse-ld=lld -fcf-protection=full -Wl,-z,force-ibt" };

	with_libraries("cc", flags, G_N_ELEMENTS(flags), has_puts, "no compiler");
}

static void is_as_objdump_has_it(const char *library, const char *flags)
{
	compare_plt_with_objdump(library, "aarch64-linux-gnu-objdump");
}

/* Of another machine: entries with and without "bti c", lazy and not. */
static void test_plt_of_aarch64(void)
{
	static const char *const flags[] = { "", "-Wl,-z,now", "-mbranch-protection=standard -Wl,-z,force-bti",
					     "-Wl,-z,pac-plt" };

	with_libraries("aarch64-linux-gnu-gcc -nostdlib", flags, G_N_ELEMENTS(flags), is_as_objdump_has_it,
		       "no compiler for arm64");
}

static void test_vaddr(void)
{
	struct elf_segment segments[] = {
		{ .off = 0, .size = 0x1234, .vaddr = 0x400000 },
		{ .off = 0x1240, .size = 0x1000, .vaddr = 0x402240, .is_exec = true },
		{ .off = 0x2240, .size = 0x10, .vaddr = 0x404240 },
		{ .off = UINT64_MAX - 4, .size = 100, .vaddr = 1, .is_exec = true },
	};
	struct elf_table t = { .segments = segments, .segment_cnt = G_N_ELEMENTS(segments) };
	uint64_t vaddr = 0;

	g_assert_true(elf_table_vaddr(&t, 0x1240, &vaddr));
	g_assert_cmphex(vaddr, ==, 0x402240);
	g_assert_true(elf_table_vaddr(&t, 0x1000, &vaddr));	/* in the text's first page */
	g_assert_cmphex(vaddr, ==, 0x402000);
	g_assert_true(elf_table_vaddr(&t, 0x2248, &vaddr));	/* in the text's last page */
	g_assert_cmphex(vaddr, ==, 0x403248);
	g_assert_true(elf_table_vaddr(&t, 0x10, &vaddr));
	g_assert_cmphex(vaddr, ==, 0x400010);
	g_assert_false(elf_table_vaddr(&t, 0x4000, &vaddr));
	g_assert_false(elf_table_vaddr(&t, UINT64_MAX, &vaddr));
}

/* Two executable segments in one page of the file: which one a mapping is of tells its place among those with that offset. */
static void test_vaddr_of_mapping(void)
{
	const struct elf_segment segments[] = {
		{ .off = 0x1000, .size = 0xd, .vaddr = 0x900000, .is_exec = true },
		{ .off = 0x100d, .size = 0x300, .vaddr = 0x90100d },
		{ .off = 0x1340, .size = 0x170, .vaddr = 0x902340, .is_exec = true },
		{ .off = 0x2000, .size = 0x100, .vaddr = 0x904000, .is_exec = true },
	};
	static const uint64_t want[] = { 0x900000, 0x902000, 0x900000 };	/* mapped twice */
	uint64_t vaddr = 0;

	for (size_t i = 0; i < G_N_ELEMENTS(want); i++) {
		g_assert_true(elf_segments_mapping_vaddr(segments, G_N_ELEMENTS(segments), 0x1000, i, &vaddr));
		g_assert_cmphex(vaddr, ==, want[i]);
	}
	g_assert_true(elf_segments_mapping_vaddr(segments, G_N_ELEMENTS(segments), 0x2000, 1, &vaddr));
	g_assert_cmphex(vaddr, ==, 0x904000);
	g_assert_false(elf_segments_mapping_vaddr(segments, G_N_ELEMENTS(segments), 0x5000, 0, &vaddr));
}

static void add_raw(GArray *raw, uint64_t addr, uint64_t end, bool sized, uint8_t rank, uint32_t name)
{
	struct symtab_raw r = { .addr = addr, .end = end, .sized = sized, .rank = rank, .name = name };

	g_array_append_val(raw, r);
}

static void test_ranks(void)
{
	static const char names[] = "\0beta\0alpha\0label\0inner\0open\0last";
	g_autoptr(GArray) raw = g_array_new(FALSE, FALSE, sizeof(struct symtab_raw));
	struct elf_table t = { 0 };

	add_raw(raw, 0x500, 0x600, false, SYMTAB_LOCAL, 29);		/* last: to the end of its section */
	add_raw(raw, 0x100, 0x200, true, SYMTAB_GLOBAL, 1);		/* beta */
	add_raw(raw, 0x100, 0x180, true, SYMTAB_GLOBAL, 6);		/* alpha, first by name */
	add_raw(raw, 0x100, 0x200, true, SYMTAB_LOCAL, 12);
	add_raw(raw, 0x120, 0x200, false, SYMTAB_LABEL, 12);		/* inside a function: nothing */
	add_raw(raw, 0x140, 0x150, true, SYMTAB_LOCAL, 18);		/* inner */
	add_raw(raw, 0x300, 0x600, false, SYMTAB_GLOBAL, 24);		/* open: to the next */
	add_raw(raw, 0x340, 0x600, false, SYMTAB_BOUND, 12);
	symtab_build(&t.symbols, raw, g_memdup2(names, sizeof(names)), sizeof(names));
	g_assert_cmpstr(name_at(&t, 0x100), ==, "alpha");
	g_assert_cmpstr(name_at(&t, 0x130), ==, "alpha");
	g_assert_cmpstr(name_at(&t, 0x145), ==, "inner");
	g_assert_cmpstr(name_at(&t, 0x160), ==, "alpha");
	g_assert_cmpstr(name_at(&t, 0x1ff), ==, "alpha");
	g_assert_cmpstr(name_at(&t, 0x200), ==, NULL);
	g_assert_cmpstr(name_at(&t, 0x33f), ==, "open");
	g_assert_cmpstr(name_at(&t, 0x340), ==, NULL);
	g_assert_cmpstr(name_at(&t, 0x5ff), ==, "last");
	g_assert_cmpstr(name_at(&t, 0x600), ==, NULL);
	symtab_clear(&t.symbols);
}

static void test_build_id(void)
{
	struct elf_table *t = read_path("/proc/self/exe", NULL), *debug = read_path("/proc/self/exe", NULL);

	g_assert_nonnull(t);
	g_assert_nonnull(debug);
	if (!t->build_id_bytes) {
		g_test_skip("the linker wrote no build-id");
	} else {
		symtab_clear(&t->symbols);
		debug->build_id[0] ^= 1;
		g_assert_false(elf_table_take_symbols(t, debug));
		g_assert_cmpuint(t->symbols.cnt, ==, 0);
		debug->build_id[0] ^= 1;
		g_assert_true(elf_table_take_symbols(t, debug));
		g_assert_cmpuint(t->symbols.cnt, >, 10);
		g_assert_cmpuint(debug->symbols.cnt, ==, 0);
	}
	elf_table_free(t);
	elf_table_free(debug);
}

static void test_no_elf(void)
{
	g_autoptr(GError) error = NULL;

	g_assert_null(read_path("/proc/self/maps", &error));
	g_assert_error(error, error->domain, 0);
	g_clear_error(&error);
	g_assert_null(read_path("/dev/null", &error));
	g_assert_nonnull(error);
	g_clear_error(&error);
	g_assert_null(elf_table_read_memory("\177ELF", 4, &error));
	g_assert_nonnull(error);
}

/* Thousands of sections that are all the same notes: libelf would keep a copy of each. */
static void test_many_notes(void)
{
	const size_t notes_bytes = 1 << 20, cnt = 4000, header = sizeof(Elf64_Ehdr);
	const size_t bytes = header + notes_bytes + cnt * sizeof(Elf64_Shdr);
	g_autofree char *image = g_malloc0(bytes);
	Elf64_Ehdr *eh = (Elf64_Ehdr *)image;
	struct rusage before, after;

	memcpy(eh->e_ident, ELFMAG, SELFMAG);
	eh->e_ident[EI_CLASS] = ELFCLASS64;
	/* the other order: what is read is converted, so copied */
	eh->e_ident[EI_DATA] = G_BYTE_ORDER == G_LITTLE_ENDIAN ? ELFDATA2MSB : ELFDATA2LSB;
	eh->e_ident[EI_VERSION] = EV_CURRENT;
	eh->e_type = GUINT16_SWAP_LE_BE(ET_DYN);
	eh->e_machine = GUINT16_SWAP_LE_BE(EM_PPC64);
	eh->e_version = GUINT32_SWAP_LE_BE(EV_CURRENT);
	eh->e_ehsize = GUINT16_SWAP_LE_BE(sizeof(Elf64_Ehdr));
	eh->e_shoff = GUINT64_SWAP_LE_BE(header + notes_bytes);
	eh->e_shentsize = GUINT16_SWAP_LE_BE(sizeof(Elf64_Shdr));
	eh->e_shnum = GUINT16_SWAP_LE_BE(cnt);
	for (size_t i = 1; i < cnt; i++) {
		Elf64_Shdr *sh = (Elf64_Shdr *)(image + header + notes_bytes) + i;

		sh->sh_type = GUINT32_SWAP_LE_BE(SHT_NOTE);
		sh->sh_offset = GUINT64_SWAP_LE_BE(header);
		sh->sh_size = GUINT64_SWAP_LE_BE(notes_bytes / 2);
		sh->sh_addralign = GUINT64_SWAP_LE_BE(4);
	}
	getrusage(RUSAGE_SELF, &before);
	elf_table_free(elf_table_read_memory(image, bytes, NULL));
	getrusage(RUSAGE_SELF, &after);
	g_assert_cmpint(after.ru_maxrss - before.ru_maxrss, <, 64 << 10);	/* KiB */
}

/* Our own program, cut short or with bytes changed, must never crash the reader. */
static void test_damaged(void)
{
	g_autofree char *image = NULL;
	g_autoptr(GRand) rand = g_rand_new_with_seed(7);
	size_t bytes, tables = 0;

	g_assert_true(g_file_get_contents("/proc/self/exe", &image, &bytes, NULL));
	for (int i = 0; i < 60; i++) {
		size_t cut = (size_t)g_rand_double_range(rand, 0, (double)bytes);
		struct elf_table *t = elf_table_read_memory(image, cut, NULL);

		tables += t != NULL;
		elf_table_free(t);
	}
	for (int i = 0; i < 60; i++) {
		g_autofree char *copy = g_memdup2(image, bytes);
		struct elf_table *t;

		for (int k = 0; k < 40; k++) {
			size_t at = (size_t)g_rand_int_range(rand, 0, k < 10 ? 1024 : (gint32)MIN(bytes, 1u << 24));

			copy[k % 2 && bytes > 4096 ? bytes - 1 - at % 4096 : at] = (char)g_rand_int(rand);
		}
		t = elf_table_read_memory(copy, bytes, NULL);
		for (uint64_t vaddr = 0; t && vaddr < 0x10000; vaddr += 16)
			tables += name_at(t, vaddr) != NULL;
		elf_table_free(t);
	}
	g_assert_cmpuint(tables, >, 0);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/elf/own", test_own);
	g_test_add_func("/elf/libc", test_libc);
#ifdef __x86_64__
	g_test_add_func("/elf/unsized", test_unsized);
	g_test_add_func("/elf/plt", test_plt);
	g_test_add_func("/elf/plt-of-libc", test_plt_of_libc);
	g_test_add_func("/elf/plt-layouts", test_plt_layouts);
	g_test_add_func("/elf/plt-of-aarch64", test_plt_of_aarch64);
#endif
	g_test_add_func("/elf/vaddr", test_vaddr);
	g_test_add_func("/elf/vaddr-of-mapping", test_vaddr_of_mapping);
	g_test_add_func("/elf/ranks", test_ranks);
	g_test_add_func("/elf/build-id", test_build_id);
	g_test_add_func("/elf/no-elf", test_no_elf);
	g_test_add_func("/elf/damaged", test_damaged);
	g_test_add_func("/elf/many-notes", test_many_notes);
	return g_test_run();
}
