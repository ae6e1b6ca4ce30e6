/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * A process's limits are used up: descriptors, processes and threads, for which it does not wait; and semaphores that
 * nobody is left to raise.
 */
#include "explain/findings_part.h"

#include <string.h>

#include "explain/limits.h"
#include "explain/sentence.h"
#include "explain/text.h"
#include "profile/limits.h"

#define TEXT_COLUMNS 120

bool full_find(const struct findings *f, const struct finding *row, struct finding_limit *ret)
{
	uint32_t pid = finding_pid(f, row);
	const struct profile_limit *semaphore = row->reason == REASON_LOCK_SEMAPHORE && !row->woken_cnt ?
							profile_find_limit(f->profile, LIMIT_SEMAPHORE, pid, 0) : NULL;

	ret->limit = row->reason == REASON_SLEEP ? profile_find_limit(f->profile, LIMIT_TASKS, pid, 0) ?:
						   profile_find_limit(f->profile, LIMIT_FILES, pid, 0) :
		     semaphore && strcmp(semaphore->text, "nobody") == 0 ? semaphore : NULL;
	return ret->limit;
}

static void append_full(GString *s, const struct profile_limit *l)
{
	if (l->kind == LIMIT_SEMAPHORE) {
		g_string_append(s, "no other process has it open");
		return;
	}
	g_string_append(s, l->kind == LIMIT_TASKS ? "its control group allows " : "");
	text_safe_cut(s, l->text, TEXT_COLUMNS);
	g_string_append(s, l->kind == LIMIT_TASKS ? "" : " that it may have are open (ulimit -n)");
}

void full_append_evidence(GString *s, const struct profile_limit *l)
{
	g_string_append(s, "; ");
	append_full(s, l);
}

#define FILES_STEP "raise the limit (ulimit -n, LimitNOFILE=), or see what stays open: ls -l /proc/PID/fd."
#define TASKS_STEP "raise the limit (pids.max, TasksMax=), or see which stay: cgroup.procs, systemd-cgls."

const char *full_advice(const struct finding *row)
{
	if (row->limit.limit->kind == LIMIT_SEMAPHORE)
		return "Nobody is left to raise it: whoever took the last one has ended with it, as a semaphore has no owner. Raise it "
		       "(sem_post()), or remove it (/dev/shm) and start these processes anew.";
	if (row->busy)
		return "Each accept() fails (EMFILE) meanwhile: " FILES_STEP;
	return row->limit.limit->kind == LIMIT_TASKS ?
		       "Starting another one fails (EAGAIN), and this may be the pause before it is tried again: " TASKS_STEP :
		       "Opening another one fails (EMFILE), and this may be the pause before it is tried again: " FILES_STEP;
}

/* Any wait of the process, to report a finding about it; false: it is not selected. */
static bool find_wait(const struct findings *f, uint32_t pid, uint32_t *ret_wait)
{
	for (uint32_t i = 0; i < f->profile->waits->len; i++) {
		if (profile_thread(f->profile, profile_wait(f->profile, i)->thread)->pid != pid ||
		    !selection_has_process(f->selection, f->profile, pid))
			continue;
		*ret_wait = i;
		return true;
	}
	return false;
}

void full_find_refusals(struct findings *f)
{
	EACH_ROW(i, const struct profile_limit, l, f->profile->limits) {
		struct finding row = {
			.reason = REASON_NETWORK_ACCEPT,
			.pid = l->pid,
			.frame = -1,
			FINDING_OWN_ONLY,
			.busy = BUSY_REFUSES,
			.limit.limit = l,
			.threads_cnt = 1,
			.backlog = profile_find_limit(f->profile, LIMIT_BACKLOG, l->pid, 0),
		};

		if (l->kind != LIMIT_FILES || !row.backlog || !find_wait(f, l->pid, &row.wait))
			continue;
		row.process = f->programs[profile_wait(f->profile, row.wait)->thread];
		g_array_append_val(f->rows, row);
	}
}

void full_append_refusal(GString *s, const struct finding *row)
{
	sentence_process(s, row->process, 0);
	g_string_append(s, " accepts no connections: ");
	append_full(s, row->limit.limit);
}

void full_append_most(GString *s, const struct findings *f)
{
	EACH_ROW(i, const struct profile_limit, l, f->profile->limits) {
		uint32_t wait;

		if ((l->kind != LIMIT_FILES && l->kind != LIMIT_TASKS) || !find_wait(f, l->pid, &wait))
			continue;
		g_string_append_c(s, ' ');
		sentence_begin_process(s, f->programs[profile_wait(f->profile, wait)->thread], FINDING_NAME_COLUMNS);
		g_string_append(s, " can have no more: ");
		append_full(s, l);
		g_string_append_c(s, '.');
		return;
	}
}
