/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* What tasks wait for beside what threads do, and beside tasks of whom they ask. */
#include "analyse/peers.h"
#include "base/find.h"
#include "explain/findings_part.h"
#include "features/tasks/analysis.h"
#include "features/tasks/findings_kind.h"

#define CLIENTS_PART 4	/* 1/n of a client's time: less does not explain its wait */

/* Of a process that nobody asks. */
static void rank_client(const struct task_findings *f, struct task_wait *w, uint32_t asked,
			const struct findings *findings)
{
	EACH_ROW(n, const struct task_wait, o, f->rows)
		if (o->pid == asked && o->rank_ns && o->task_ns >= w->task_ns / CLIENTS_PART)
			w->rank_ns = MIN(w->rank_ns, o->rank_ns / 2 + 1);
	/* else who asks is what the user looks at */
	if (!findings || !profile_is_of_machine(findings->profile) || !finding_process_name(findings, asked))
		return;
	const uint64_t one_ns = MIN(w->task_ns, findings->profile->info.duration_ns);
	const struct finding *cause = behind_served_by(findings, asked, NULL, one_ns / CLIENTS_PART);

	if (cause)
		w->rank_ns = MIN(w->rank_ns, finding_rank_ns(cause) / 2 + 1);
	else if (w->tasks < TASKS_MIN)
		w->rank_ns = 0;
}

/* A client only queues behind what those wait for whom it asks, if that is long enough to explain its wait. */
void task_clients_rank(const struct profile *p, struct task_findings *f, const struct findings *findings)
{
	EACH_ROW(i, struct task_wait, w, f->rows) {
		const enum awaited k = awaited_of(w);
		const bool asks = w->rank_ns && (k == NETWORK || k == LIBRARY) && !peers_serves(p, w->pid);
		const uint32_t asked = asks ? peers_awaited(p, w->pid, true) : 0;

		if (asked)
			rank_client(f, w, asked, findings);
	}
}

bool task_findings_precede(const struct findings *f, const struct task_wait *w, const struct finding *row)
{
	const struct object *o = finding_object(f, row);

	if (row->reason == REASON_NETWORK_RECEIVE && !row->deadlock && o && o->pid == w->pid && row->pid != w->pid)
		return w->task_ns >= row->time_ns / CLIENTS_PART;	/* whom it asks */
	return task_is_of_python(w->kind) && w->task_ns > w->busy_ns / 2 && row->pid == w->pid && !row->loop &&
	       !row->deadlock && row->reason == REASON_NETWORK_RECEIVE && o && o->kind == OBJECT_EPOLL;
}

bool task_findings_outweigh(const struct task_findings *f, const struct finding *row, uint64_t window_ns)
{
	for (guint i = 0; i < f->cnt && !row->deadlock && row->busy != BUSY_REFUSES; i++) {
		const struct task_wait *w = &g_array_index(f->rows, struct task_wait, i);

		if (row->pid ? w->pid == row->pid : strcmp(w->program, row->process) == 0)
			return row->time_ns < window_ns / HELD_UP_PART;
	}
	return false;
}
