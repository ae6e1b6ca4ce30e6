/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "base/find.h"
#include "fold/limits/limits.h"

#include "fold/targets/part.h"

#define LONG_SHARE 2	/* 1/n of the window: a shorter wait is told by what others do meanwhile */

void sessions_look(struct profile *p, const char *proc_dir)
{
	unsigned left = SESSIONS_MAX;

	EACH_ROW_WHILE(i, const struct wait, w, p->waits, left) {
		const struct thread *t = profile_thread(p, w->thread);
		const struct object *o = profile_wait_object(p, w);

		if (!o || (o->kind != OBJECT_SOCKET && o->kind != OBJECT_POLL) || !o->pid ||
		    !(w->flags & WAIT_OPEN_AT_END) || w->blocked_ns < p->info.duration_ns / LONG_SHARE)
			continue;
		left--;
		g_autofree char *activity = backend_activity(proc_dir, o->pid);

		if (activity && *activity)
			profile_add_limit(p, LIMIT_SESSION, t->pid, t->tid, activity);
	}
}
