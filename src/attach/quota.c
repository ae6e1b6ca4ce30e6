/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "attach/cgroup.h"

#define GROUPS_MAX 4096	/* one or two files each: some 40 ms */
#define DEPTH_MAX 32

/* "max 100000" without a quota, "20000 100000" with one; version 1: "-1". */
static bool file_has_quota(const char *group, const char *file)
{
	g_autofree char *path = g_build_filename(group, file, NULL), *text = NULL;

	return g_file_get_contents(path, &text, NULL, NULL) && g_ascii_isdigit(text[0]);
}

static bool has_quota(const char *group)
{
	return file_has_quota(group, "cpu.max") || file_has_quota(group, "cpu.cfs_quota_us");
}

static bool find_quota(const char *group, unsigned depth, unsigned *left)
{
	g_autoptr(GDir) dir = NULL;
	const char *name;
	bool found;

	if (!*left || !depth)
		return true;
	--*left;
	found = has_quota(group);
	dir = found ? NULL : g_dir_open(group, 0, NULL);
	while (!found && dir && (name = g_dir_read_name(dir))) {
		/* the kernel's files are all named "controller.x" or "cgroup.x" */
		g_autofree char *path = g_build_filename(group, name, NULL);

		if (g_file_test(path, G_FILE_TEST_IS_DIR) && !g_file_test(path, G_FILE_TEST_IS_SYMLINK))
			found = find_quota(path, depth - 1, left);
	}
	return found;
}

bool quota_is_used(const char *root)
{
	unsigned left = GROUPS_MAX;

	return find_quota(root, DEPTH_MAX, &left);
}
