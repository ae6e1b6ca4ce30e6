/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "attach/sched_ext.h"

#include <glib.h>
#include <glib/gstdio.h>

static void put(const char *root, const char *file, const char *text)
{
	g_autofree char *path = g_build_filename(root, file, NULL);

	g_assert_true(text ? g_file_set_contents(path, text, -1, NULL) : g_unlink(path) == 0);
}

static void test_files(void)
{
	g_autofree char *root = g_dir_make_tmp("offcpu-sched-ext-XXXXXX", NULL), *inner = g_build_filename(root, "root", NULL);

	g_assert_null(sched_ext_name(root));
	g_assert_cmpuint(sched_ext_begun(root), ==, 0);
	put(root, "state", "disabled\n");
	put(root, "enable_seq", "3\n");
	g_assert_null(sched_ext_name(root));
	g_assert_cmpuint(sched_ext_begun(root), ==, 3);
	for (int has_name = 0; has_name < 2; has_name++) {
		put(root, "state", "enabled\n");
		g_assert_cmpint(g_mkdir_with_parents(inner, 0700), ==, 0);
		if (has_name)
			put(inner, "ops", "lavd_1.0.8\n");
		g_autofree char *name = sched_ext_name(root);

		g_assert_cmpstr(name, ==, has_name ? "lavd_1.0.8" : "unnamed");
	}
	put(inner, "ops", NULL);
	put(root, "state", NULL);
	put(root, "enable_seq", NULL);
	g_rmdir(inner);
	g_rmdir(root);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/sched-ext/files", test_files);
	return g_test_run();
}
