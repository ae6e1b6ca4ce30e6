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

char *cgroup_mount(const char *proc_dir, const char *controller)
{
	g_autofree char *path = g_build_filename(proc_dir, "self/mounts", NULL);
	FILE *mounts = setmntent(path, "re");
	char *found = NULL;
	struct mntent *m;

	while (mounts && !found && (m = getmntent(mounts)))
		if (is_it(m, controller))
			found = g_strdup(m->mnt_dir);
	if (mounts)
		endmntent(mounts);
	return found;
}
