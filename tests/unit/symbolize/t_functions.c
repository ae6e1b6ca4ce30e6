/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <fcntl.h>
#include <glib.h>
#include <glib/gstdio.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include "symbolize/elf/functions.h"

/* Names of C++ and of a compiler's parts of functions, in this program's own symbol table. */
#define NAMED(c, linkers) int c(void) __asm__(linkers) __attribute__((used, noinline)); int c(void) { return __LINE__; }

NAMED(t_one, "_ZN7service6handleEi")		/* service::handle(int) */
NAMED(t_two, "_ZN7service6handleEPKc")		/* service::handle(char const*) */
NAMED(t_template, "_ZN7service4pickIiEEvT_")	/* void service::pick<int>(int) */
NAMED(t_cold, "plain_name.cold")
NAMED(t_part, "plain_name.part.0")
NAMED(t_plain, "plain_name")
NAMED(t_clone, "cloned_name.constprop.0")

static guint find(const char *pattern, struct elf_functions *f)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

	g_assert_cmpint(fd, >=, 0);
	g_assert_true(elf_functions_find(f, fd, "/proc/self/exe", pattern, NULL));
	close(fd);
	return f->list->len;
}

static void found(const char *pattern, guint cnt, const char *name)
{
	struct elf_functions f;

	g_assert_cmpuint(find(pattern, &f), ==, cnt);
	g_assert_true(f.has_symbols);
	g_assert_false(f.is_go);
	if (name)
		g_assert_cmpstr(g_array_index(f.list, struct elf_function, 0).name, ==, name);
	elf_functions_clear(&f);
}

static void test_names(void)
{
	found("plain_name", 1, "plain_name");
	found("cloned_name", 1, "cloned_name");
	found("service::handle", 2, "service::handle");
	found("service::handle(int)", 1, "service::handle");
	found("_ZN7service6handleEi", 1, "service::handle");
	found("service::pick", 1, "service::pick<int>");
	found("service::pick<int>", 1, "service::pick<int>");
	found("service::*", 3, NULL);
	found("plain_nam?", 1, "plain_name");
	found("no_such_function", 0, NULL);
	found("handle", 0, NULL);
	found("", 0, NULL);
}

static inline __attribute__((always_inline)) int inlined_only(const volatile int *n)
{
	return *n * 3;
}

__attribute__((noinline)) static int has_it_inlined(const volatile int *n)
{
	return inlined_only(n) + 1;
}

/* What has no code of its own is told by those that have it. */
static void test_inlined(void)
{
	const volatile int n = 7;
	struct elf_functions f;

	g_assert_cmpint(has_it_inlined(&n), ==, 22);
	g_assert_cmpuint(find("inlined_only", &f), ==, 0);
	if (!f.is_named_elsewhere) {
		elf_functions_clear(&f);
		g_test_skip("built without debug information");
		return;
	}
	g_assert_cmpuint(f.inlined->len, ==, 1);
	g_assert_true(g_str_has_prefix(f.inlined->pdata[0], "has_it_inlined (t_functions.c:"));
	elf_functions_clear(&f);
	g_assert_cmpuint(find("service::inlined_only", &f), ==, 0);
	g_assert_cmpuint(f.inlined->len, ==, 1);
	elf_functions_clear(&f);
	g_assert_cmpuint(find("no_such_function", &f), ==, 0);
	g_assert_cmpuint(f.inlined->len, ==, 0);
	elf_functions_clear(&f);
}

/* The offset is where the function's bytes lie in the file. */
static void test_offset(void)
{
	struct elf_functions f;
	char in_file[8], *bytes = NULL;
	gsize len;

	g_assert_cmpuint(find("plain_name", &f), ==, 1);
	g_assert_true(g_file_get_contents("/proc/self/exe", &bytes, &len, NULL));
	uint64_t off = g_array_index(f.list, struct elf_function, 0).off;
	g_assert_cmpuint(off + sizeof(in_file), <, len);
	g_assert_cmpint(memcmp(bytes + off, (const char *)(uintptr_t)&t_plain, sizeof(in_file)), ==, 0);
	g_free(bytes);
	elf_functions_clear(&f);
}

static void test_no_elf(void)
{
	int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
	struct elf_functions f;
	g_autoptr(GError) error = NULL, other = NULL;

	g_assert_false(elf_functions_find(&f, fd, "maps", "x", &error));
	g_assert_nonnull(error);
	g_assert_null(elf_probes_find(fd, "a", "b", &other));
	g_assert_nonnull(other);
	close(fd);
}

/* A stripped program whose .gnu_debuglink names a link beside it, to what is no file; NULL without objcopy. */
static char *program_with_link(const char *dir, const char *to)
{
	g_autofree char *program = g_file_read_link("/proc/self/exe", NULL);
	g_autofree char *command = g_strdup_printf("cd '%s' && echo it > it.debug && objcopy --strip-all --remove-section "
						   ".gopclntab --add-gnu-debuglink=it.debug '%s' stripped && "
						   "ln -sf '%s' it.debug", dir, program, to);
	const char *const argv[] = { "sh", "-ec", command, NULL };
	int status;

	return g_spawn_sync(NULL, (char **)argv, NULL, G_SPAWN_SEARCH_PATH | G_SPAWN_STDERR_TO_DEV_NULL, NULL, NULL, NULL,
			    NULL, &status, NULL) && status == 0 ? g_build_filename(dir, "stripped", NULL) : NULL;
}

/* What a stranger's program names is looked at before it is opened: to open a device may do something. */
static void test_debuglink_to_no_file(void)
{
	g_autofree char *dir = g_dir_make_tmp("functions-XXXXXX", NULL), *fifo = g_build_filename(dir, "fifo", NULL);
	g_autofree char *link = g_build_filename(dir, "it.debug", NULL), *program = NULL;
	int events = inotify_init1(IN_NONBLOCK | IN_CLOEXEC), fd;
	struct inotify_event event;
	struct elf_functions f;

	g_assert_cmpint(mkfifo(fifo, 0600), ==, 0);
	g_assert_cmpint(inotify_add_watch(events, fifo, IN_OPEN), >=, 0);
	program = program_with_link(dir, fifo);
	fd = program ? open(program, O_RDONLY | O_CLOEXEC) : -1;
	if (fd >= 0) {
		g_assert_true(elf_functions_find(&f, fd, program, "plain_name", NULL));
		g_assert_false(f.has_symbols);
		elf_functions_clear(&f);
		g_assert_cmpint(read(events, &event, sizeof(event)), <, 0);	/* nobody opened it */
		close(fd);
		g_remove(program);
	} else {
		g_test_skip("no objcopy");
	}
	close(events);
	g_remove(link);
	g_remove(fifo);
	g_rmdir(dir);
}

static void test_no_probe(void)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	g_autoptr(GArray) probes = elf_probes_find(fd, "offcpu", "nothing", NULL);

	g_autoptr(GPtrArray) list = elf_probes_list(fd, "offcpu");

	g_assert_nonnull(probes);
	g_assert_cmpuint(probes->len, ==, 0);
	g_assert_cmpuint(list->len, ==, 0);
	close(fd);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/functions/names", test_names);
	g_test_add_func("/functions/inlined", test_inlined);
	g_test_add_func("/functions/offset", test_offset);
	g_test_add_func("/functions/no-elf", test_no_elf);
	g_test_add_func("/functions/debuglink-to-no-file", test_debuglink_to_no_file);
	g_test_add_func("/functions/no-probe", test_no_probe);
	return g_test_run();
}
