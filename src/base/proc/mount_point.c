/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "base/proc/mount_point.h"

#include <inttypes.h>
#include <mntent.h>
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

#define MINOR_BITS 20	/* include/linux/kdev_t.h */
#define FIELDS 5

/* Octal escapes such as \040. */
static void append_unescaped(GString *s, const char *text)
{
	for (; *text; text++) {
		if (text[0] == '\\' && text[1] >= '0' && text[1] <= '3' && text[2] >= '0' && text[2] <= '7' &&
		    text[3] >= '0' && text[3] <= '7') {
			g_string_append_c(s, (char)((text[1] - '0') * 64 + (text[2] - '0') * 8 + text[3] - '0'));
			text += 3;
		} else {
			g_string_append_c(s, *text);
		}
	}
}

void device_append(GString *s, uint32_t dev)
{
	g_string_append_printf(s, "%" PRIu32 ":%" PRIu32, dev >> MINOR_BITS, dev & ((1U << MINOR_BITS) - 1));
}

bool mount_point_prepend(GString *path, const char *mountinfo, uint32_t dev)
{
	g_auto(GStrv) lines = g_strsplit(mountinfo ? mountinfo : "", "\n", -1);
	g_autoptr(GString) number = g_string_new(NULL);

	device_append(number, dev);
	for (char **line = lines; *line; line++) {
		g_auto(GStrv) field = g_strsplit(*line, " ", FIELDS + 1);	/* id, parent's id, device, root,
										 * mount point */
		g_autoptr(GString) at = g_string_new(NULL);

		if (g_strv_length(field) < FIELDS || strcmp(field[2], number->str) != 0 || strcmp(field[3], "/") != 0)
			continue;
		append_unescaped(at, field[4]);
		if (path->len && !g_str_has_suffix(at->str, "/"))
			g_string_append_c(at, '/');
		g_string_prepend_len(path, at->str, (gssize)at->len);
		return true;
	}
	return false;
}
