/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* What a process is made of, out of a /proc made by hand whose files are hostile. */
#include <glib.h>
#include <glib/gstdio.h>
#include <inttypes.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "symbolize/runtime/recognise.h"

#define PID 42
#define INNER 7

struct fake {
	char *proc, *root;	/* below which the process has its files */
	GString *maps;
	uint64_t next;
};

static void write_file(const char *dir, const char *name, const void *bytes, gssize len)
{
	g_autofree char *path = g_build_filename(dir, name, NULL), *folder = g_path_get_dirname(path);

	g_assert_cmpint(g_mkdir_with_parents(folder, 0755), ==, 0);
	g_assert_true(g_file_set_contents(path, bytes, len, NULL));
}

static void write_proc(struct fake *f, const char *name, const void *bytes, gssize len)
{
	g_autofree char *in = g_strdup_printf("%u/%s", PID, name);

	write_file(f->proc, in, bytes, len);
}

static void fake_begin(struct fake *f, const char *program)
{
	g_autofree char *status = g_strdup_printf("Name:\tx\nNSpid:\t%u\t%u\nUid:\t%u\t%u\t0\t0\n", PID, INNER, getuid(), geteuid());
	g_autofree char *link = NULL, *exe = NULL;

	f->proc = g_dir_make_tmp("offcpu-test-XXXXXX", NULL);
	f->root = g_dir_make_tmp("offcpu-test-XXXXXX", NULL);
	f->maps = g_string_new(NULL);
	f->next = 0x400000;
	write_proc(f, "status", status, -1);
	write_proc(f, "stat", "42 (a) b) S 1 42 42 0 -1 4194304 1 2", -1);
	write_proc(f, "comm", "bad\x1b[31m\n", -1);
	link = g_strdup_printf("%s/%u/root", f->proc, PID);
	exe = g_strdup_printf("%s/%u/exe", f->proc, PID);
	g_assert_cmpint(symlink(f->root, link), ==, 0);
	g_assert_cmpint(symlink(program, exe), ==, 0);
}

static void map_file(struct fake *f, const char *path)
{
	g_autofree char *here = g_build_filename(f->root, path, NULL);
	struct stat st = { 0 };

	g_lstat(here, &st);
	g_string_append_printf(f->maps, "%" PRIx64 "-%" PRIx64 " r-xp 00000000 %02x:%02x %" PRIu64 " %s\n", f->next, f->next + 0x1000,
			       major(st.st_dev), minor(st.st_dev), (uint64_t)st.st_ino, path);
	f->next += 0x10000;
}

static void add_file(struct fake *f, const char *path, const void *bytes, gssize len)
{
	write_file(f->root, path, bytes, len);
	map_file(f, path);
}

static struct recognised *fake_look(struct fake *f)
{
	g_autoptr(GError) error = NULL;
	struct recognised *r;

	write_proc(f, "maps", f->maps->str, -1);
	r = recognise(f->proc, PID, "/nowhere", NULL, &error);
	g_assert_no_error(error);
	return r;
}

static void remove_all(const char *path)
{
	GDir *dir = g_file_test(path, G_FILE_TEST_IS_SYMLINK) ? NULL : g_dir_open(path, 0, NULL);
	const char *name;

	while (dir && (name = g_dir_read_name(dir))) {
		g_autofree char *below = g_build_filename(path, name, NULL);

		remove_all(below);
	}
	if (dir)
		g_dir_close(dir);
	g_remove(path);
}

static void fake_end(struct fake *f)
{
	remove_all(f->proc);
	remove_all(f->root);
	g_free(f->proc);
	g_free(f->root);
	g_string_free(f->maps, TRUE);
}

/* This very program, which has symbols and unwind tables. */
static char *own_image(gsize *ret_len)
{
	char *bytes = NULL;

	g_assert_true(g_file_get_contents("/proc/self/exe", &bytes, ret_len, NULL));
	return bytes;
}

static void test_files(void)
{
	static const struct {
		const char *path;
		enum runtime runtime;
		const char *version;
	} files[] = {
		{ "/usr/bin/python3.11", RUNTIME_PYTHON, NULL },
		{ "/usr/lib/x86_64-linux-gnu/libpython3.11.so.1.0", RUNTIME_PYTHON, NULL },
		{ "/usr/lib/libruby-3.1.so.3.1.2", RUNTIME_RUBY, "3.1.2" },
		{ "/usr/bin/ruby3.1", RUNTIME_RUBY, "3.1" },
		{ "/usr/bin/rubyist", RUNTIME_CNT, NULL },
		{ "/usr/sbin/php-fpm8.2", RUNTIME_PHP, "8.2" },
		{ "/usr/lib/apache2/modules/libphp8.2.so", RUNTIME_PHP, "8.2" },
		{ "/usr/bin/phpize", RUNTIME_CNT, NULL },
		{ "/usr/lib/libperl.so.5.36.0", RUNTIME_PERL, "5.36.0" },
		{ "/opt/dotnet/shared/Microsoft.NETCore.App/8.0.1/libcoreclr.so", RUNTIME_DOTNET, "8.0.1" },
		{ "/srv/self-contained/libcoreclr.so", RUNTIME_DOTNET, NULL },
		{ "/usr/lib/erlang/erts-13.1.5/bin/beam.smp", RUNTIME_ERLANG, "13.1.5" },
		{ "/usr/bin/mono-sgen", RUNTIME_MONO, NULL },
		{ "/usr/lib/jvm/x/lib/server/libjvm.so", RUNTIME_JAVA, NULL },
		{ "/usr/bin/node", RUNTIME_NODE, NULL },
		{ "/usr/bin/node_exporter", RUNTIME_CNT, NULL },
		{ "/usr/bin/nodejs", RUNTIME_NODE, NULL },
		{ "/usr/lib/libnode.so.108", RUNTIME_NODE, NULL },
		{ "", RUNTIME_CNT, NULL },
		{ "/", RUNTIME_CNT, NULL },
	};

	for (size_t i = 0; i < G_N_ELEMENTS(files); i++) {
		g_autofree char *version = runtime_version_of_file(files[i].runtime, files[i].path);

		g_assert_cmpint(runtime_of_file(files[i].path), ==, files[i].runtime);
		g_assert_cmpstr(version, ==, files[i].version);
	}
}

static void test_java(void)
{
	static const char arguments[] = "java\0-XX:+PreserveFramePointer\0-jar\0app.jar";
	static const char environment[] = "PATH=/bin\0JAVA_TOOL_OPTIONS=-Xmx1g  -Xint\0A=";
	static const char *const variables[] = { "OTHER", "JAVA_TOOL_OPTIONS", NULL };
	gsize len;
	g_autofree char *elf = own_image(&len);
	const struct recognised_file *file;
	struct recognised *r;
	struct fake f;

	fake_begin(&f, "/jdk/bin/java");
	add_file(&f, "/jdk/lib/server/libjvm.so", elf, (gssize)len);
	add_file(&f, "/jdk/bin/java", elf, (gssize)len);
	write_file(f.root, "jdk/release", "IMPLEMENTOR=\"x\"\nJAVA_VERSION=\"17.0.13\"\n", -1);
	write_file(f.root, "tmp/perf-7.map", "1000 10 Lfoo;::bar\n1010 10 Lfoo;::baz\n", -1);
	write_proc(&f, "cmdline", arguments, sizeof(arguments));
	write_proc(&f, "environ", environment, sizeof(environment));
	g_string_append(f.maps, "7f0000000000-7f0000240000 rwxp 00000000 00:00 0 \n7ffc00000000-7ffc00002000 r-xp 00000000 00:00 0  [vdso]\n");
	r = fake_look(&f);
	g_assert_cmpuint(r->runtimes, ==, 1u << RUNTIME_JAVA);
	g_assert_cmpstr(r->versions[RUNTIME_JAVA], ==, "17.0.13");
	g_assert_true(recognised_has_option(r, "-XX:+PreserveFramePointer", NULL));
	g_assert_false(recognised_has_option(r, "-XX", NULL));
	g_assert_true(recognised_has_option(r, "-Xint", variables));
	g_assert_false(recognised_has_option(r, "-Xmx", variables));
	g_assert_cmpstr(recognised_variable(r, "A"), ==, "");
	g_assert_null(recognised_variable(r, "PAT"));
	g_assert_cmpint(r->map.state, ==, PERF_MAP_READABLE);
	g_assert_cmpuint(r->map.cnt, ==, 2);
	g_assert_cmpuint(r->inner_pid, ==, INNER);
	g_assert_true(r->has_own_root);
	g_assert_cmpuint(r->made_bytes, ==, 0x240000);
	g_assert_cmpstr(r->name, ==, "bad?[31m");
	g_assert_cmpuint(r->files->len, ==, 2);
	file = &g_array_index(r->files, struct recognised_file, 0);
	g_assert_cmpstr(file->path, ==, "/jdk/bin/java");
	g_assert_true(file->is_program && file->is_readable && file->facts.has_symbols && file->facts.has_unwind_table);
	recognised_free(r);
	fake_end(&f);
}

static enum perf_map_state state_of_map(struct fake *f)
{
	struct recognised *r = fake_look(f);
	enum perf_map_state state = r->map.state;

	g_assert_cmpstr(r->map.path, ==, "/tmp/perf-7.map");
	recognised_free(r);
	return state;
}

static void test_maps_not_read(void)
{
	g_autofree char *map = NULL, *status = NULL;
	struct fake f;

	fake_begin(&f, "/a");
	map = g_build_filename(f.root, "tmp/perf-7.map", NULL);
	map_file(&f, "/a");
	g_assert_cmpint(state_of_map(&f), ==, PERF_MAP_NONE);
	write_file(f.root, "tmp/perf-7.map", "no line of it makes sense\n", -1);
	g_assert_cmpint(state_of_map(&f), ==, PERF_MAP_EMPTY);
	write_file(f.root, "tmp/perf-7.map", "", 0);
	g_assert_cmpint(state_of_map(&f), ==, PERF_MAP_EMPTY);
	g_assert_cmpint(g_remove(map), ==, 0);
	g_assert_cmpint(symlink("/etc/passwd", map), ==, 0);
	g_assert_cmpint(state_of_map(&f), ==, PERF_MAP_LINKED);
	g_assert_cmpint(g_remove(map), ==, 0);
	g_assert_cmpint(mkfifo(map, 0666), ==, 0);	/* which nobody may hang at */
	g_assert_cmpint(state_of_map(&f), ==, PERF_MAP_LINKED);
	g_assert_cmpint(g_remove(map), ==, 0);
	write_file(f.root, "tmp/perf-7.map", "1000 10 f\n", -1);
	g_assert_cmpint(state_of_map(&f), ==, PERF_MAP_READABLE);
	if (geteuid() == 0 && chown(map, 12345, 12345) == 0)	/* else it is ours, and none can be another's */
		g_assert_cmpint(state_of_map(&f), ==, PERF_MAP_FOREIGN);
	fake_end(&f);
}

/* What cannot be opened, is no ELF file, has lost its name, or is there too often. */
static void test_other_files(void)
{
	const struct recognised_file *first;
	g_autofree char *pipe = NULL;
	struct recognised *r;
	struct fake f;

	fake_begin(&f, "/elsewhere");
	add_file(&f, "/tmp/jit-7.dump", "DTiJ and so on", -1);
	pipe = g_build_filename(f.root, "pipe", NULL);
	g_assert_cmpint(mkfifo(pipe, 0666), ==, 0);
	map_file(&f, "/pipe");
	g_string_append(f.maps, "700000-701000 r-xp 00000000 08:01 99 /usr/lib/gone.so (deleted)\n");
	for (int i = 0; i < RECOGNISED_FILES_MAX + 10; i++)
		g_string_append_printf(f.maps, "%x-%x r-xp 00000000 08:01 %d /many/%d.so\n", 0x800000 + i * 0x1000,
				       0x801000 + i * 0x1000, 1000 + i, i);
	r = fake_look(&f);
	g_assert_true(r->has_jitdump);
	g_assert_cmpuint(r->made_bytes, ==, 0x1000);
	g_assert_cmpuint(r->files->len, ==, RECOGNISED_FILES_MAX);
	g_assert_cmpuint(r->left_out_cnt, ==, 12);
	first = &g_array_index(r->files, struct recognised_file, 0);
	g_assert_cmpstr(first->path, ==, "/pipe");
	g_assert_false(first->is_readable || first->is_program);
	first = &g_array_index(r->files, struct recognised_file, 1);
	g_assert_cmpstr(first->path, ==, "/usr/lib/gone.so");
	g_assert_true(first->is_deleted && !first->is_readable);
	recognised_free(r);
	fake_end(&f);
}

static void test_kernel_thread_and_none(void)
{
	g_autoptr(GError) error = NULL;
	struct recognised *r;
	struct fake f;

	fake_begin(&f, "/a");
	write_proc(&f, "stat", "42 (kworker) S 2 0 0 0 -1 69238880 1 2", -1);
	r = fake_look(&f);
	g_assert_true(r->is_kernel_thread);
	recognised_free(r);
	write_proc(&f, "stat", "42 (damaged", -1);
	write_proc(&f, "maps", "", 0);
	g_assert_null(recognise(f.proc, PID, "/nowhere", NULL, &error));
	g_assert_error(error, G_FILE_ERROR, G_FILE_ERROR_NOENT);
	g_clear_error(&error);
	g_assert_null(recognise(f.proc, PID + 1, "/nowhere", NULL, &error));
	g_assert_error(error, G_FILE_ERROR, G_FILE_ERROR_NOENT);
	fake_end(&f);
}

/* Bytes of the headers, of the note and of .eh_frame changed at random, and files cut short. */
static void test_damaged(void)
{
	gsize len;
	g_autofree char *whole = own_image(&len);
	g_autofree char *dir = g_dir_make_tmp("offcpu-test-XXXXXX", NULL), *path = g_build_filename(dir, "elf", NULL);
	GRand *rand = g_rand_new_with_seed(1);

	for (int round = 0; round < 40; round++) {
		gsize cut = round % 4 ? len : (gsize)g_rand_int_range(rand, 1, (gint32)len);
		g_autofree char *copy = g_memdup2(whole, len);
		struct file_facts facts;
		FILE *file;

		for (int i = 0; i < 40; i++) {
			gsize at = i % 2 ? (gsize)g_rand_int_range(rand, 4, 4096) : len - (gsize)g_rand_int_range(rand, 1, 4096);

			copy[at] = (char)g_rand_int(rand);
		}
		g_assert_true(g_file_set_contents(path, copy, (gssize)cut, NULL));
		file = fopen(path, "rb");
		g_assert_nonnull(file);
		if (file_facts_read(fileno(file), path, dir, &facts))
			file_facts_clear(&facts);
		fclose(file);
	}
	g_rand_free(rand);
	remove_all(dir);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/recognise/files", test_files);
	g_test_add_func("/recognise/java", test_java);
	g_test_add_func("/recognise/maps-not-read", test_maps_not_read);
	g_test_add_func("/recognise/other-files", test_other_files);
	g_test_add_func("/recognise/kernel-thread-and-none", test_kernel_thread_and_none);
	g_test_add_func("/recognise/damaged", test_damaged);
	return g_test_run();
}
