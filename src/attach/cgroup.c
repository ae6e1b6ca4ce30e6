/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "attach/cgroup.h"

#include <errno.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include "base/cgroup_mount.h"
#include "base/refuse.h"

#define CGROUP2_MAGIC 0x63677270	/* CGROUP2_SUPER_MAGIC, linux/magic.h */

bool cgroup_id(const char *path, uint64_t *ret_id, GError **error)
{
	g_autofree char *below = NULL;
	struct statfs fs;
	struct stat st;

	if (path[0] != '/') {
		g_autofree char *mount = cgroup_mount("/proc", NULL);

		below = mount ? g_build_filename(mount, path, NULL) : NULL;
	}
	const char *found = below ? below : path;
	if (statfs(found, &fs) || stat(found, &st))
		return refuse(error, G_FILE_ERROR, G_FILE_ERROR_NOENT, "cgroup %s: %s", path, g_strerror(errno));
	if (fs.f_type != CGROUP2_MAGIC || !S_ISDIR(st.st_mode))
		return refuse(error, G_FILE_ERROR, G_FILE_ERROR_NOTDIR,
			      "cgroup %s: not a folder of the cgroup version 2 hierarchy", path);
	*ret_id = st.st_ino;
	return true;
}
