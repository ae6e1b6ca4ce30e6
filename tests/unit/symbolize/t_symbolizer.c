/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <arpa/inet.h>
#include <dlfcn.h>
#include <elf.h>
#include <glib.h>
#include <glib/gstdio.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "symbolize/elf/table.h"
#include "symbolize/process/maps.h"
#include "symbolize/symbolize.h"
#include "symbolize/symbolizer.h"

G_GNUC_NO_INLINE int symbolizer_test_probe(int x);
int symbolizer_test_probe(int x)
{
	return x * 7 - 1;
}
#define PROBE ((uint64_t)(uintptr_t)symbolizer_test_probe)

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

/* A /proc of our own with process 500, whose root holds a copy of this program. */
struct fixture {
	char *dir, *process, *root, *copy, *debug, *kallsyms;
	struct symbolizer *symbolizer;
	struct maps_line text;	/* how this program's probe is mapped */
	struct stat st;		/* of the copy */
};

static void find_own_text(struct fixture *f)
{
	g_autofree char *maps = NULL;
	g_auto(GStrv) lines = NULL;

	g_assert_true(g_file_get_contents("/proc/self/maps", &maps, NULL, NULL));
	lines = g_strsplit(maps, "\n", -1);
	for (char **l = lines; *l; l++)
		if (maps_parse_line(*l, &f->text) && PROBE >= f->text.start && PROBE < f->text.end)
			break;
	g_assert_cmphex(PROBE - f->text.start, <, f->text.end - f->text.start);
	f->text.path = NULL;
}

static void put(const char *path, const char *bytes, gssize len)
{
	g_autoptr(GError) error = NULL;
	g_autofree char *dir = g_path_get_dirname(path);

	g_assert_cmpint(g_mkdir_with_parents(dir, 0700), ==, 0);
	g_file_set_contents(path, bytes, len, &error);
	g_assert_no_error(error);
}

static void put_copy(struct fixture *f, const char *bytes, gssize len)
{
	put(f->copy, bytes, len);
	g_assert_cmpint(stat(f->copy, &f->st), ==, 0);
}

static void set_up(struct fixture *f, gconstpointer data)
{
	g_autofree char *link = NULL, *own = NULL;
	gsize len;

	f->dir = g_dir_make_tmp("offcpu-test-XXXXXX", NULL);
	f->process = g_build_filename(f->dir, "500", NULL);
	f->root = g_build_filename(f->dir, "root-of-500", NULL);
	f->copy = g_build_filename(f->root, "app", "program", NULL);
	f->debug = g_build_filename(f->dir, "debug", NULL);
	f->kallsyms = g_build_filename(f->dir, "kallsyms", NULL);
	link = g_build_filename(f->process, "root", NULL);
	g_assert_cmpint(g_mkdir_with_parents(f->process, 0700) | g_mkdir_with_parents(f->root, 0700), ==, 0);
	g_assert_cmpint(symlink(f->root, link), ==, 0);
	find_own_text(f);
	g_assert_true(g_file_get_contents("/proc/self/exe", &own, &len, NULL));
	put_copy(f, own, (gssize)len);
	f->symbolizer = symbolizer_new_at(f->dir, f->kallsyms, f->debug);
}

static void tear_down(struct fixture *f, gconstpointer data)
{
	g_autofree char *command = g_strdup_printf("rm -rf '%s'", f->dir);

	symbolizer_free(f->symbolizer);
	unsetenv("DEBUGINFOD_URLS");
	g_assert_cmpint(system(command), ==, 0);
	g_free(f->dir);
	g_free(f->process);
	g_free(f->root);
	g_free(f->copy);
	g_free(f->debug);
	g_free(f->kallsyms);
}

/* Writes 500's maps: the text of this program, from the file `path` with that inode. */
static void map_text(struct fixture *f, uint64_t inode, const char *path)
{
	g_autofree char *maps = g_build_filename(f->process, "maps", NULL);
	g_autofree char *line = g_strdup_printf("%" G_GINT64_MODIFIER "x-%" G_GINT64_MODIFIER "x r-xp %" G_GINT64_MODIFIER
						"x %x:%x %" G_GUINT64_FORMAT " %s\n", f->text.start, f->text.end, f->text.pgoff,
						major(f->st.st_dev), minor(f->st.st_dev), inode, path);

	put(maps, line, -1);
}

static void probe_is(struct fixture *f, const char *name, const char *module, enum frame_why why)
{
	struct symbol symbol;

	symbolizer_user(f->symbolizer, 500, 1, PROBE, false, &symbol);
	g_assert_cmpstr(symbol.name, ==, name);
	g_assert_cmpstr(symbol.module, ==, module);
	g_assert_cmpint(symbol.why, ==, why);
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

	symbolizer_note_exec(f->symbolizer, 600, 10);
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

/* Hides .symtab, as strip would; gives the build-id. */
static const uint8_t *strip_image(char *image, size_t *ret_bytes)
{
	ElfW(Ehdr) *eh = (void *)image;
	ElfW(Shdr) *sh = (void *)(image + eh->e_shoff);
	const uint8_t *id = NULL;

	for (int i = 0; i < eh->e_shnum; i++) {
		ElfW(Nhdr) *note = (void *)(image + sh[i].sh_offset);

		if (sh[i].sh_type == SHT_SYMTAB)
			sh[i].sh_type = SHT_PROGBITS;
		if (sh[i].sh_type == SHT_NOTE && note->n_type == NT_GNU_BUILD_ID) {
			id = (uint8_t *)(note + 1) + 4;
			*ret_bytes = note->n_descsz;
		}
	}
	return id;
}

/* A stripped program for 500; gives what was stripped and its build-id in hexadecimal, NULL without one. */
static char *put_stripped(struct fixture *f, bool spoil, char **ret_whole, gsize *ret_len)
{
	g_autofree char *own = NULL;
	GString *hex = g_string_new(NULL);
	const uint8_t *id;
	size_t id_bytes = 0;

	g_assert_true(g_file_get_contents("/proc/self/exe", &own, ret_len, NULL));
	*ret_whole = g_memdup2(own, *ret_len);
	id = strip_image(own, &id_bytes);
	for (size_t i = 0; id && i < id_bytes; i++)
		g_string_append_printf(hex, "%02x", id[i]);
	if (id && spoil)
		(*ret_whole)[(const char *)id - own + 3] ^= 0x55;
	put_copy(f, own, (gssize)*ret_len);
	return g_string_free(hex, !id);
}

static void check_debug_file(struct fixture *f, bool spoil)
{
	g_autofree char *whole = NULL, *path = NULL, *id = NULL;
	gsize len;

	id = put_stripped(f, spoil, &whole, &len);
	if (!id) {
		g_test_skip("the linker wrote no build-id");
		return;
	}
	path = g_strdup_printf("%s/.build-id/%.2s/%s.debug", f->debug, id, id + 2);
	put(path, whole, (gssize)len);
	map_text(f, f->st.st_ino, "/app/program");
	if (spoil)
		probe_is(f, NULL, "/app/program", FRAME_NO_SYMBOLS);
	else
		probe_is(f, "symbolizer_test_probe", "/app/program", FRAME_NAMED);
}

static void test_debug_file(struct fixture *f, gconstpointer data)
{
	check_debug_file(f, false);
}

static void test_debug_file_of_another(struct fixture *f, gconstpointer data)
{
	check_debug_file(f, true);
}

static bool run_in(const char *dir, const char *command)
{
	const char *const argv[] = { "sh", "-ec", command, NULL };
	int status;

	return g_spawn_sync(dir, (char **)argv, NULL, G_SPAWN_SEARCH_PATH | G_SPAWN_STDERR_TO_DEV_NULL, NULL, NULL, NULL,
			    NULL, &status, NULL) && status == 0;
}

/* No build-id: .gnu_debuglink names the debug file, and its checksum decides. */
static void check_linked(struct fixture *f, bool spoil)
{
	g_autofree char *program = g_file_read_link("/proc/self/exe", NULL), *made = NULL, *linked = NULL, *path = NULL;
	g_autofree char *command = g_strdup_printf(
		"objcopy --remove-section .note.gnu.build-id '%s' whole && objcopy --only-keep-debug whole it.debug &&"
		"objcopy --strip-all --add-gnu-debuglink=it.debug whole stripped", program);
	gsize len;

	if (!run_in(f->dir, command)) {
		g_test_skip("no objcopy");
		return;
	}
	made = g_build_filename(f->dir, "stripped", NULL);
	linked = g_build_filename(f->dir, "it.debug", NULL);
	g_clear_pointer(&command, g_free);
	g_assert_true(g_file_get_contents(made, &command, &len, NULL));
	put_copy(f, command, (gssize)len);
	g_clear_pointer(&command, g_free);
	g_assert_true(g_file_get_contents(linked, &command, &len, NULL));
	if (spoil)
		command[len - 1] ^= 1;
	path = g_build_filename(f->debug, "app", "it.debug", NULL);
	put(path, command, (gssize)len);
	map_text(f, f->st.st_ino, "/app/program");
	if (spoil)
		probe_is(f, NULL, "/app/program", FRAME_NO_SYMBOLS);
	else
		probe_is(f, "symbolizer_test_probe", "/app/program", FRAME_NAMED);
}

static void test_linked(struct fixture *f, gconstpointer data)
{
	check_linked(f, false);
}

static void test_linked_to_another(struct fixture *f, gconstpointer data)
{
	check_linked(f, true);
}

/* Begins again with a symbolizer that sees these servers; false when libdebuginfod is missing. */
static bool use_servers(struct fixture *f, const char *urls)
{
	void *library = dlopen("libdebuginfod.so.1", RTLD_NOW);
	g_autofree char *cache = g_build_filename(f->dir, "cache", NULL);

	if (!library) {
		g_test_skip("no libdebuginfod");
		return false;
	}
	symbolizer_free(f->symbolizer);
	setenv("DEBUGINFOD_URLS", urls, 1);
	setenv("DEBUGINFOD_CACHE_PATH", cache, 1);
	f->symbolizer = symbolizer_new_at(f->dir, f->kallsyms, f->debug);
	return true;
}

static void probe_is_asked_for(struct fixture *f)
{
	gint64 start_us = g_get_monotonic_time();

	probe_is(f, NULL, "/app/program", FRAME_NO_SYMBOLS);
	g_assert_cmpint(g_get_monotonic_time() - start_us, <, G_USEC_PER_SEC);	/* it does not wait for them */
}

/* Process 600 has the same program, but a file of its own. */
static void add_copy(struct fixture *f, struct symbol *ret)
{
	g_autofree char *path = g_build_filename(f->dir, "600", "root", "app", "copy", NULL), *bytes = NULL, *maps = NULL;
	struct symbolizer_mapping m = { .start = f->text.start, .len = f->text.end - f->text.start, .pgoff = f->text.pgoff,
					.path = "/app/copy" };
	struct stat st;
	gsize len;

	g_assert_true(g_file_get_contents(f->copy, &bytes, &len, NULL));
	put(path, bytes, (gssize)len);
	maps = g_build_filename(f->dir, "600", "maps", NULL);
	put(maps, "\n", -1);
	g_assert_cmpint(stat(path, &st), ==, 0);
	m.dev_major = major(st.st_dev);
	m.dev_minor = minor(st.st_dev);
	m.inode = st.st_ino;
	symbolizer_note_exec(f->symbolizer, 600, 1);
	symbolizer_note_mmap(f->symbolizer, 600, 2, &m);
	symbolizer_user(f->symbolizer, 600, 3, PROBE, false, ret);
}

static void test_debuginfod(struct fixture *f, gconstpointer data)
{
	g_autofree char *whole = NULL, *path = NULL, *id = NULL, *urls = g_strdup_printf("file://%s/server", f->dir);
	struct symbol symbol = { 0 };
	gsize len;

	id = put_stripped(f, false, &whole, &len);
	if (!id || !use_servers(f, urls)) {
		g_test_skip("no build-id or no libdebuginfod");
		return;
	}
	path = g_strdup_printf("%s/server/buildid/%s/debuginfo", f->dir, id);
	put(path, whole, (gssize)len);
	map_text(f, f->st.st_ino, "/app/program");
	probe_is_asked_for(f);
	for (int i = 0; i < 1000 && !symbol.name; i++) {
		g_usleep(10000);
		symbolizer_user(f->symbolizer, 500, 1, PROBE, false, &symbol);
	}
	g_assert_cmpstr(symbol.name, ==, "symbolizer_test_probe");
	add_copy(f, &symbol);	/* a copy elsewhere is not asked for again */
	g_assert_cmpstr(symbol.name, ==, "symbolizer_test_probe");
}

/* A server that takes the question and never answers. */
static void test_debuginfod_silent(struct fixture *f, gconstpointer data)
{
	g_autofree char *whole = NULL, *id = NULL, *urls = NULL;
	struct sockaddr_in address = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t address_bytes = sizeof(address);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	gint64 start_us;
	gsize len;

	g_assert_cmpint(bind(fd, (struct sockaddr *)&address, sizeof(address)) | listen(fd, 4), ==, 0);
	g_assert_cmpint(getsockname(fd, (struct sockaddr *)&address, &address_bytes), ==, 0);
	urls = g_strdup_printf("http://127.0.0.1:%u/", ntohs(address.sin_port));
	id = put_stripped(f, false, &whole, &len);
	if (id && use_servers(f, urls)) {
		map_text(f, f->st.st_ino, "/app/program");
		probe_is_asked_for(f);
		g_usleep(300000);
		probe_is(f, NULL, "/app/program", FRAME_NO_SYMBOLS);
		start_us = g_get_monotonic_time();
		g_clear_pointer(&f->symbolizer, symbolizer_free);
		g_test_message("end after %" G_GINT64_FORMAT " ms", (g_get_monotonic_time() - start_us) / 1000);
		g_assert_cmpint(g_get_monotonic_time() - start_us, <, 10 * G_USEC_PER_SEC);
	}
	close(fd);
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
	g_test_add_func("/symbolizer/vdso", test_vdso);
	g_test_add_func("/symbolizer/thread-start", test_thread_start);
	ADD("container", test_container);
	ADD("wrong-inode", test_wrong_inode);
	ADD("absolute-link", test_absolute_link);
	ADD("fifo", test_fifo);
	ADD("no-elf", test_no_elf);
	ADD("deleted", test_deleted);
	ADD("named-deleted", test_named_deleted);
	ADD("debuglink", test_linked);
	ADD("debuglink-to-another", test_linked_to_another);
	ADD("by-another", test_by_another);
	ADD("debug-file", test_debug_file);
	ADD("debug-file-of-another", test_debug_file_of_another);
	ADD("debuginfod", test_debuginfod);
	ADD("debuginfod-silent", test_debuginfod_silent);
	ADD("jit", test_jit);
	ADD("jitdump", test_jitdump);
	ADD("jitdump-link", test_jitdump_link);
	ADD("kernel", test_kernel);
	ADD("kernel-function", test_kernel_function);
	ADD("kernel-hidden", test_kernel_hidden);
	return g_test_run();
}
