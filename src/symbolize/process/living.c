/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "symbolize/process/maps.h"

#include <inttypes.h>

#include "base/opener/opener.h"

#define THREADS_TRIED 64	/* threads other than the first vanish when they exit, unless a debugger holds them */

static bool has_mappings(const char *maps)
{
	size_t len = 0;
	g_autofree char *text = opener_text(maps, 1, &len);

	return text && len;
}

struct search {
	const char *task;
	uint32_t pid, found;
	int tried;
};

static bool try_thread(const struct opener_entry *e, void *data)
{
	struct search *s = data;
	g_autofree char *maps = g_strdup_printf("%s/%s/maps", s->task, e->name);
	guint64 tid = g_ascii_strtoull(e->name, NULL, 10);

	if (tid && tid <= INT32_MAX && tid != s->pid && has_mappings(maps))
		s->found = (uint32_t)tid;
	return !s->found && ++s->tried < THREADS_TRIED;
}

uint32_t living_thread(const char *proc_dir, uint32_t pid)
{
	g_autofree char *task = g_strdup_printf("%s/%" PRIu32 "/task", proc_dir, pid);
	g_autofree char *own = g_strdup_printf("%s/%" PRIu32 "/maps", proc_dir, pid);
	struct search s = { .task = task, .pid = pid };

	if (!has_mappings(own))
		opener_list(task, false, try_thread, &s);
	return s.found;
}

char *living_maps(const char *proc_dir, uint32_t pid, size_t max_bytes)
{
	g_autofree char *path = g_strdup_printf("%s/%" PRIu32 "/maps", proc_dir, pid), *of_thread = NULL;
	size_t len;
	char *text = opener_text(path, max_bytes, &len);
	uint32_t tid;
	int error;

	if (text && *text)
		return text;
	error = errno;
	tid = living_thread(proc_dir, pid);
	errno = error;
	if (!tid)
		return text;
	g_free(text);
	of_thread = g_strdup_printf("%s/%" PRIu32 "/task/%" PRIu32 "/maps", proc_dir, pid, tid);
	return opener_text(of_thread, max_bytes, &len);
}
