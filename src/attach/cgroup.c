/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "attach/cgroup.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include "base/find.h"
#include "base/proc/mount_point.h"
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

static bool is_one_of(const GArray *ids, uint64_t id)
{
	return ANY_ROW(const uint64_t, x, ids, *x == id);
}

/* The line of the version 2 hierarchy is "0::/a/b". */
bool cgroup_has_thread(const GArray *ids, const char *mount, pid_t pid, pid_t tid)
{
	g_autofree char *path = g_strdup_printf("/proc/%d/task/%d/cgroup", pid, tid), *text = NULL, *group = NULL;
	const char *line;

	if (!mount || !g_file_get_contents(path, &text, NULL, NULL))
		return false;
	line = g_str_has_prefix(text, "0::/") ? text : strstr(text, "\n0::/");
	if (!line)
		return false;
	line = strchr(line, '/');
	group = g_strdup_printf("%s%.*s", mount, (int)strcspn(line, "\n"), line);
	for (size_t root = strlen(mount); strlen(group) >= root; *strrchr(group, '/') = '\0') {
		uint64_t id;

		if (cgroup_id(group, &id, NULL) && is_one_of(ids, id))
			return true;
	}
	return false;
}
