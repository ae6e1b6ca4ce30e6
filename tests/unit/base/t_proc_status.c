/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "base/proc/status.h"

#include <unistd.h>

#include <glib.h>

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

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/proc-status/namespace", test_namespace);
	return g_test_run();
}
