/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "base/cgroup_mount.h"

#include <glib.h>
#include <mntent.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static bool is_it(const struct mntent *m, const char *controller)
{
	return controller ? strcmp(m->mnt_type, "cgroup") == 0 && hasmntopt(m, controller) :
			    strcmp(m->mnt_type, "cgroup2") == 0;
}

void cgroup_mounts(const char *proc_dir, const char *const *controllers, unsigned cnt, char **ret)
{
	g_autofree char *path = g_build_filename(proc_dir, "self/mounts", NULL);
	FILE *mounts = setmntent(path, "re");
	struct mntent *m;

	memset(ret, 0, cnt * sizeof(*ret));
	while (mounts && (m = getmntent(mounts)))
		for (unsigned i = 0; i < cnt; i++)
			if (!ret[i] && is_it(m, controllers[i]))
				ret[i] = g_strdup(m->mnt_dir);
	if (mounts)
		endmntent(mounts);
}

char *cgroup_mount(const char *proc_dir, const char *controller)
{
	char *found;

	cgroup_mounts(proc_dir, &controller, 1, &found);
	return found;
}
