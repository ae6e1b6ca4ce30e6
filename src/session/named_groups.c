/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "base/refuse.h"
#include "session/session.h"

#include <stdint.h>

#include "attach/cgroup.h"
#include "base/proc/mount_point.h"
#include "fold/services.h"

static bool add_path(const char *path, GArray *ids, GError **error)
{
	uint64_t id;

	if (!cgroup_id(path, &id, error))
		return false;
	g_array_append_val(ids, id);
	return true;
}

bool named_groups(const char *typed, GArray *ids, GError **error)
{
	g_autofree char *mount = cgroup_mount("/proc", NULL), *alike = NULL;
	g_autoptr(GPtrArray) paths = NULL;

	if (*typed == '/' || !mount)
		return add_path(typed, ids, error);
	if (add_path(typed, ids, NULL))
		return true;
	paths = service_groups_find("/proc", mount, typed, &alike);
	if (!paths->len)
		return refuse(error, G_FILE_ERROR, G_FILE_ERROR_NOENT,
			"cgroup %s: there is no control group, unit or container of that name%s%s", typed,
			alike ? "; do you mean " : "", alike ?: "");
	for (guint i = 0; i < paths->len; i++)
		if (!add_path(g_ptr_array_index(paths, i), ids, error))
			return false;
	return true;
}
