/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "features/io/cmd.h"

#include <inttypes.h>

#include "explain/text.h"
#include "fold/limits/limits.h"

#define PROCESSES_MAX 64	/* more would mostly be in the same groups */
#define LIMIT_COLUMNS 120

static bool is_first(const struct profile *p, guint at)
{
	const struct profile_limit *l = &g_array_index(p->limits, struct profile_limit, at);

	for (guint i = 0; i < at; i++)
		if (g_array_index(p->limits, struct profile_limit, i).text == l->text)
			return false;
	return true;
}

void io_limits_append(GString *s, const char *proc_dir, const GArray *pids)
{
	struct group_limits *groups = group_limits_new(proc_dir);
	struct profile *p = profile_new();

	for (guint i = 0; pids && i < MIN(pids->len, PROCESSES_MAX); i++)
		group_limits_look(groups, p, LIMIT_DISK, g_array_index(pids, uint32_t, i));
	EACH_ROW(i, const struct profile_limit, l, p->limits) {
		if (!is_first(p, i))
			continue;
		g_string_append_printf(s, "The control group of process %" PRIu32 " allows ", l->pid);
		text_safe_cut(s, l->text, LIMIT_COLUMNS);
		g_string_append(s, ".\n");
	}
	if (p->limits->len)
		g_string_append(s, "What such a limit holds is no request to a disk yet: an operation that is blocked for long, with little "
				   "time at the disk, waits for the limit.\n");
	profile_free(p);
	group_limits_free(groups);
}
