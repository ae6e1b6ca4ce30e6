/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "attach/cgroup.h"

#include <glib.h>
#include <glib/gstdio.h>

/* A tree of one group in another; the file is written into the inner one. */
static bool is_used_with(const char *file, const char *text)
{
	g_autofree char *root = g_dir_make_tmp("offcpu-quota-XXXXXX", NULL);
	g_autofree char *outer = g_build_filename(root, "system.slice", NULL), *inner = g_build_filename(outer, "a.service", NULL);
	g_autofree char *path = file ? g_build_filename(inner, file, NULL) : NULL;

	g_assert_cmpint(g_mkdir_with_parents(inner, 0700), ==, 0);
	if (path)
		g_assert_true(g_file_set_contents(path, text, -1, NULL));
	bool is_used = quota_is_used(root);

	if (path)
		g_unlink(path);
	g_rmdir(inner);
	g_rmdir(outer);
	g_rmdir(root);
	return is_used;
}

static void test_files(void)
{
	g_assert_false(is_used_with(NULL, NULL));
	g_assert_false(is_used_with("cpu.max", "max 100000\n"));
	g_assert_true(is_used_with("cpu.max", "20000 100000\n"));
	g_assert_false(is_used_with("cpu.cfs_quota_us", "-1\n"));
	g_assert_true(is_used_with("cpu.cfs_quota_us", "20000\n"));
	g_assert_false(is_used_with("cpu.max", ""));
	g_assert_false(is_used_with("cpu.weight", "100\n"));
	g_assert_false(quota_is_used("/nonexistent"));
}

/* Deeper than anybody nests them: it is not looked at, and may have one. */
static void test_depth(void)
{
	g_autofree char *root = g_dir_make_tmp("offcpu-quota-XXXXXX", NULL);
	g_autoptr(GString) path = g_string_new(root);

	for (int i = 0; i < 40; i++)
		g_string_append(path, "/d");
	g_assert_cmpint(g_mkdir_with_parents(path->str, 0700), ==, 0);
	g_assert_true(quota_is_used(root));
	for (int i = 0; i < 40; i++) {
		g_rmdir(path->str);
		g_string_truncate(path, path->len - 2);
	}
	g_rmdir(root);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/quota/files", test_files);
	g_test_add_func("/quota/depth", test_depth);
	return g_test_run();
}
