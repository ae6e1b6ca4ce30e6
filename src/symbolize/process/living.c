/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "symbolize/process/living.h"

#include <fcntl.h>
#include <glib.h>
#include <inttypes.h>
#include <stdbool.h>
#include <unistd.h>

#include "symbolize/process/fileopen.h"

#define THREADS_TRIED 64	/* a thread other than the first leaves as it exits, unless a debugger holds it */

static bool has_mappings(const char *maps)
{
	int fd = open(maps, O_RDONLY | O_CLOEXEC);
	char byte;
	bool has = fd >= 0 && read(fd, &byte, 1) == 1;

	if (fd >= 0)
		close(fd);
	return has;
}

uint32_t living_thread(const char *proc_dir, uint32_t pid)
{
	g_autofree char *task = g_strdup_printf("%s/%" PRIu32 "/task", proc_dir, pid);
	g_autofree char *own = g_strdup_printf("%s/%" PRIu32 "/maps", proc_dir, pid);
	GDir *dir = has_mappings(own) ? NULL : g_dir_open(task, 0, NULL);
	uint32_t found = 0;
	const char *name;

	for (int i = 0; dir && !found && i < THREADS_TRIED && (name = g_dir_read_name(dir)); i++) {
		g_autofree char *maps = g_strdup_printf("%s/%s/maps", task, name);
		guint64 tid = g_ascii_strtoull(name, NULL, 10);

		if (tid && tid <= INT32_MAX && tid != pid && has_mappings(maps))
			found = (uint32_t)tid;
	}
	if (dir)
		g_dir_close(dir);
	return found;
}

char *living_maps(const char *proc_dir, uint32_t pid, size_t max_bytes)
{
	g_autofree char *path = g_strdup_printf("%s/%" PRIu32 "/maps", proc_dir, pid), *of_thread = NULL;
	size_t len;
	char *text = file_read_text(path, max_bytes, &len);
	uint32_t tid;

	if (text && *text)
		return text;
	tid = living_thread(proc_dir, pid);
	if (!tid)
		return text;
	g_free(text);
	of_thread = g_strdup_printf("%s/%" PRIu32 "/task/%" PRIu32 "/maps", proc_dir, pid, tid);
	return file_read_text(of_thread, max_bytes, &len);
}
