/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Debug information that lies elsewhere: by build-id, by .gnu_debuglink, on a server. */
#include <arpa/inet.h>
#include <dlfcn.h>
#include <elf.h>
#include <glib.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "process.h"

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
	symbolizer_note_exec(f->symbolizer, 600, 1, NULL);
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

#define ADD(name, func) g_test_add("/debug-files/" name, struct fixture, NULL, set_up, func, tear_down)

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	unsetenv("DEBUGINFOD_URLS");	/* the tests name servers of their own */
	ADD("debuglink", test_linked);
	ADD("debuglink-to-another", test_linked_to_another);
	ADD("debug-file", test_debug_file);
	ADD("debug-file-of-another", test_debug_file_of_another);
	ADD("debuginfod", test_debuginfod);
	ADD("debuginfod-silent", test_debuginfod_silent);
	return g_test_run();
}
