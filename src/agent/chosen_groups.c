/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "agent/chosen_groups.h"

#include <stdint.h>

#include "base/proc/mount_point.h"
#include "session/session.h"

GArray *chosen_groups(char **names, char **ret_missing, char **ret_why)
{
	GArray *ids = names ? g_array_new(FALSE, FALSE, sizeof(uint64_t)) : NULL;
	g_autoptr(GString) missing = g_string_new(NULL), why = g_string_new(NULL);

	for (char **name = names; name && *name; name++) {
		g_autoptr(GError) error = NULL;

		if (named_groups(*name, ids, &error))
			continue;
		g_string_append_printf(missing, "%s ", *name);
		g_string_append_printf(why, "%s%s", why->len ? "; " : "", error->message);
	}
	*ret_missing = missing->len ? g_strdup(missing->str) : NULL;
	*ret_why = missing->len ? g_strdup(why->str) : NULL;
	return ids;
}

static bool contains(const GArray *ids, uint64_t id)
{
	for (guint i = 0; ids && i < ids->len; i++)
		if (g_array_index(ids, uint64_t, i) == id)
			return true;
	return false;
}

bool chosen_groups_has_new(const GArray *now, const GArray *before)
{
	for (guint i = 0; now && i < now->len; i++)
		if (!contains(before, g_array_index(now, uint64_t, i)))
			return true;
	return false;
}

char *chosen_groups_counted(void)
{
	g_autofree char *mount = cgroup_mount("/proc", NULL), *path = NULL;
	char *text = NULL;

	if (!mount)
		return NULL;
	path = g_build_filename(mount, "cgroup.stat", NULL);
	g_file_get_contents(path, &text, NULL, NULL);
	return text;
}
