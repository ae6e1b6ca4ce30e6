/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "base/proc/status.h"

#include <sys/wait.h>
#include <unistd.h>

#include <glib.h>
#include <glib/gstdio.h>

/* A /proc whose self leads there. */
static bool is_ours(const char *self)
{
	g_autofree char *folder = g_dir_make_tmp("proc-XXXXXX", NULL), *path = g_build_filename(folder, "self", NULL);
	bool ours;

	g_assert_cmpint(symlink(self, path), ==, 0);
	ours = proc_is_ours(folder);
	g_assert_cmpint(unlink(path), ==, 0);
	g_assert_cmpint(rmdir(folder), ==, 0);
	return ours;
}

static void test_namespace(void)
{
	g_autofree char *own = g_strdup_printf("%d", getpid()), *other = g_strdup_printf("%d", getpid() + 1);

	g_assert_true(is_ours(own));
	g_assert_false(is_ours(other));
	g_assert_true(is_ours("elsewhere"));
	g_assert_true(proc_is_ours("/nonexistent"));
	g_assert_true(proc_is_ours("/proc"));
}

/* A script whose name is longer than the kernel keeps, run by an interpreter with an option; its arguments are no names. */
static void test_script(void)
{
	g_autofree char *folder = g_dir_make_tmp("script-XXXXXX", NULL), *path = g_build_filename(folder, "invoice-consumer", NULL);
	char *argv[] = { (char *)"/bin/sh", (char *)"-u", path, (char *)"orders-exporter", NULL };
	static const char *const names[] = { "invoice-consumer", "orders-exporter", "invoice-consume" };
	g_autoptr(GError) error = NULL;
	GPid pid;
	int in, out;
	char byte;

	g_assert_true(g_file_set_contents(path, "echo; read line", -1, NULL));
	g_assert_true(g_spawn_async_with_pipes(NULL, argv, NULL, G_SPAWN_DO_NOT_REAP_CHILD, NULL, NULL, &pid, &in, &out, NULL, &error));
	g_assert_cmpint(read(out, &byte, 1), ==, 1);
	for (unsigned i = 0; i < G_N_ELEMENTS(names); i++) {
		g_autoptr(GArray) ids = g_array_new(FALSE, FALSE, sizeof(uint32_t));

		g_assert_cmpint(process_ids_named(names[i], ids), ==, !i);
		g_assert_cmpint(process_ids_contain(ids, (uint32_t)pid), ==, !i);
	}
	close(in);
	close(out);
	g_assert_cmpint(waitpid(pid, NULL, 0), ==, pid);
	g_assert_cmpint(g_unlink(path) | g_rmdir(folder), ==, 0);
}

/* Gunicorn, Celery and others write a title over their arguments. */
static void test_title(void)
{
	static const struct { const char *title, *name; bool is_found; } cases[] = {
		{ "gunicorn: master [price-shop]", "gunicorn", true },
		{ "gunicorn: master [price-shop]", "price-shop", true },
		{ "[celeryd: celery@build:MainProcess] -active-", "celery", true },
		{ "gunicorn: master [price-shop]", "price", false },
		{ "gunicorn:master", "gunicorn", false },	/* no title: nothing is behind a blank */
	};

	for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
		char *argv[] = { (char *)"/bin/sh", (char *)cases[i].title, (char *)"-c", (char *)"echo; read line", NULL };
		g_autoptr(GArray) ids = g_array_new(FALSE, FALSE, sizeof(uint32_t));
		g_autoptr(GError) error = NULL;
		GPid pid;
		int in, out;
		char byte;

		g_assert_true(g_spawn_async_with_pipes(NULL, argv, NULL, G_SPAWN_DO_NOT_REAP_CHILD | G_SPAWN_FILE_AND_ARGV_ZERO, NULL,
						       NULL, &pid, &in, &out, NULL, &error));
		g_assert_cmpint(read(out, &byte, 1), ==, 1);
		process_ids_named(cases[i].name, ids);
		g_assert_cmpint(process_ids_contain(ids, (uint32_t)pid), ==, cases[i].is_found);
		close(in);
		close(out);
		g_assert_cmpint(waitpid(pid, NULL, 0), ==, pid);
	}
}

/* As an old kernel has it, without the last columns, and as no kernel has it. */
static void test_cpus_time(void)
{
	static const struct { const char *text; uint64_t busy, all; } cases[] = {
		{ "cpu  100 20 30 4000 500 6 7 8 90 0\ncpu0 1 2 3 4\n", 171, 4671 },
		{ "cpu  100 20 30 4000\n", 150, 4150 },
		{ "cpu  \n", 0, 0 },
		{ "intr 100 20 30 4000\n", 0, 0 },
		{ "", 0, 0 },
		{ NULL, 0, 0 },
	};

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autofree char *dir = g_dir_make_tmp("proc-XXXXXX", NULL), *path = g_build_filename(dir, "stat", NULL);
		struct cpus_time t = { 0 };

		if (cases[i].text)
			g_assert_true(g_file_set_contents(path, cases[i].text, -1, NULL));
		g_assert_cmpint(cpus_time_read(dir, &t), ==, cases[i].all > 0);
		if (cases[i].all) {
			g_assert_cmpuint(t.busy, ==, cases[i].busy);
			g_assert_cmpuint(t.all, ==, cases[i].all);
		}
		g_unlink(path);
		g_rmdir(dir);
	}
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/proc-status/namespace", test_namespace);
	g_test_add_func("/proc-status/script", test_script);
	g_test_add_func("/proc-status/title", test_title);
	g_test_add_func("/proc-status/cpus-time", test_cpus_time);
	return g_test_run();
}
