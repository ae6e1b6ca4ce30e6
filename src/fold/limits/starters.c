/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "fold/limits/limits.h"

#include <unistd.h>

#include "base/opener/opener.h"
#include "base/proc/status.h"

#define DEPTH_MAX 32

void starters_look(struct profile *p, const char *proc_dir)
{
	g_autoptr(GHashTable) recorded = limits_pids_new(p);
	uint32_t pid = (uint32_t)getppid();

	for (unsigned i = 0; i < DEPTH_MAX && pid > 1; i++) {
		g_autofree char *status = opener_process_text(proc_dir, pid, "status");

		if (g_hash_table_contains(recorded, GUINT_TO_POINTER(pid)))
			profile_add_limit(p, LIMIT_RECORDER, pid, 0, g_get_prgname() ?: "offcpu");
		pid = status ? (uint32_t)proc_status_number(status, "PPid") : 0;
	}
}
