/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "features/io/cmd.h"

#include <stdint.h>
#include <string.h>

static void put(const char *folder, const char *name, const char *text)
{
	g_autofree char *path = g_build_filename(folder, name, NULL), *dir = g_path_get_dirname(path);

	g_assert_cmpint(g_mkdir_with_parents(dir, 0700), ==, 0);
	g_assert_true(g_file_set_contents(path, text, -1, NULL));
}

/* Two processes of one group, one of another without a limit, and one that has ended: one line. */
static void test_limits(void)
{
	g_autofree char *folder = g_dir_make_tmp("io-limits-XXXXXX", NULL), *proc = g_build_filename(folder, "proc", NULL);
	g_autofree char *mounts = g_strdup_printf("cgroup2 %s/cg cgroup2 rw 0 0\n", folder);
	g_autofree char *command = g_strdup_printf("rm -r '%s'", folder);
	g_autoptr(GArray) pids = g_array_new(FALSE, FALSE, sizeof(uint32_t));
	g_autoptr(GString) s = g_string_new(NULL);

	put(folder, "proc/self/mounts", mounts);
	put(folder, "proc/20/cgroup", "0::/free\n");
	put(folder, "proc/10/cgroup", "0::/shop\n");
	put(folder, "proc/11/cgroup", "0::/shop\n");
	put(folder, "cg/free/io.max", "");
	put(folder, "cg/shop/io.max", "7:99 rbps=max wbps=2097152 riops=max wiops=max\n");
	g_array_append_vals(pids, ((const uint32_t[]){ 20, 11, 10, 99 }), 4);
	io_limits_append(s, proc, pids);
	g_assert_true(g_str_has_prefix(s->str, "The control group of process 11 allows writes of 7:99 at 2.00 MiB/s (io.max).\nWhat "));
	g_assert_null(strstr(s->str, "process 10"));
	g_string_truncate(s, 0);
	g_array_set_size(pids, 1);
	io_limits_append(s, proc, pids);
	io_limits_append(s, proc, NULL);
	g_assert_cmpstr(s->str, ==, "");
	g_assert_true(g_spawn_command_line_sync(command, NULL, NULL, NULL, NULL));
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/io-limits", test_limits);
	return g_test_run();
}
