/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* What threads wait for under the lock that tasks wait for, or in place of the one that has it. */
#include "base/find.h"
#include "explain/findings_part.h"
#include "features/tasks/findings_kind.h"

#define SYNC_ADVICE                                                                                                       \
	"Each has the lock until its data is safe on disk: put more into one transaction or write, so that one fsync serves many " \
	"(bbolt: Batch(), or one Update() for many)."
#define UNDER_PART 4	/* 1/n of the window: less hardly keeps others waiting */

/* What the threads wait for in a function in which that task is in a system call. */
static bool is_done_there(const struct findings *findings, const struct finding *row, const struct task_wait *w)
{
	const enum reason_family family = reason_family(row->reason);
	const char *function =
		row->frame < 0 ? NULL : profile_get_frame(findings->profile, (uint32_t)row->frame)->name;

	return !row->busy && family != FAMILY_CPU && family != FAMILY_LOCK && function &&
	       task_passes(w->path, function);
}

/* The finding's wait is in the function that takes the lock, called in the same one of the program. */
static bool is_in_call(const struct findings *findings, const struct finding *row, const struct task_wait *w)
{
	const struct profile *p = findings->profile;
	const char *const functions[] = { w->function, NULL };
	const char *const calls[] = { *w->call ? w->call : w->function, NULL };
	const enum reason_family family = reason_family(row->reason);
	const uint32_t user = profile_wait(p, row->wait)->user;

	return !row->busy && family != FAMILY_CPU && family != FAMILY_LOCK && row->reason != REASON_SLEEP &&
	       *w->function && profile_stack_names(p, user, functions) && profile_stack_names(p, user, calls);
}

/* A disk is waited for by the function that has taken the lock, as nobody else gets so far. */
static bool is_past_lock(const struct findings *findings, const struct finding *row, const struct task_wait *w)
{
	const char *const functions[] = { w->function, NULL };

	return !row->busy && reason_family(row->reason) == FAMILY_DISK && *w->function &&
	       profile_stack_names(findings->profile, profile_wait(findings->profile, row->wait)->user, functions);
}

static void find_under(const struct findings *findings, struct task_wait *w)
{
	EACH_ROW(k, const struct finding, row, findings->rows) {
		const bool is_in = is_in_call(findings, row, w);

		if (row->pid != w->pid || row->time_ns < findings->profile->info.duration_ns / UNDER_PART ||
		    (w->under && row->time_ns <= w->under->time_ns) || (!is_in && !is_past_lock(findings, row, w)))
			continue;
		w->under = row;
		w->is_in_call = is_in;
	}
	if (w->under && w->under->reason == REASON_DISK_SYNC)
		w->advice = SYNC_ADVICE;
}

void task_threads_find(struct task_findings *f, const struct findings *findings)
{
	const uint64_t window_ns = findings->profile->info.duration_ns;

	for (guint i = 0; i < f->cnt; i++) {
		struct task_wait *w = &g_array_index(f->rows, struct task_wait, i);

		if (!task_is_at_lock(w))
			continue;
		EACH_ROW(k, const struct finding, row, findings->rows) {
			if (!w->meanwhile || strcmp(w->meanwhile->state, "syscall") != 0 || row->pid != w->pid ||
			    row->time_ns < window_ns / 2 || !is_done_there(findings, row, w->meanwhile))
				continue;
			w->behind = row;
			w->advice = BEHIND_ADVICE;
		}
		if (!w->behind)
			find_under(findings, w);
	}
}
