/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */

#include "analyse/actors.h"
#include "explain/findings_part.h"
#include "explain/sentence.h"

#define RUNS_PART 10 /* of the window: a thread that runs longer may do what others wait for */

/*
 * A thread that hands over a result may have it from workers in other processes of the program, or from ended ones:
 * those busy for most of the waiting time compute it.
 */
static void find_busy_workers(const struct findings *f, struct finding *row)
{
	const struct profile *p = f->profile;
	g_autofree bool *waits = finding_waiters_new(f, row);
	uint64_t each_ns = row->time_ns / MAX(row->threads_cnt, 1), most_ns = 0, on_cpu_ns = 0, all_ns = 0;
	uint32_t cnt = 0, most = 0;
	bool is_one_process = true;

	EACH_ROW(i, const struct thread, t, p->threads) {
		uint64_t busy_ns = t->on_cpu_ns + t->runnable_ns + t->preempted_ns;

		if (waits[i] || f->programs[i] != row->process || busy_ns <= each_ns / 2)
			continue;
		most = busy_ns > most_ns ? i : most;
		most_ns = MAX(most_ns, busy_ns);
		is_one_process = is_one_process && t->pid == profile_thread(p, most)->pid;
		on_cpu_ns += t->on_cpu_ns;
		all_ns += busy_ns;
		cnt++;
	}
	if (!cnt)
		return;
	row->by = (struct finding_by){
		.comm = profile_thread(p, most)->comm,
		.pid = profile_thread(p, most)->pid,
		.tid = profile_thread(p, most)->tid,
		.threads_cnt = cnt,
		.is_program = !is_one_process,
		.blocked_ns = row->time_ns,
		.frame = -1,
		.does = on_cpu_ns > all_ns / 2 ? REASON_ON_CPU : REASON_CPU_QUEUE,
		.does_frame = -1,
		.does_ns = all_ns,
	};
}

void work_find_meanwhile(const struct findings *f, struct finding *row)
{
	g_autofree bool *waits = finding_waiters_new(f, row);
	g_autofree uint64_t *ns = g_new0(uint64_t, (gsize)f->rows->len + 1);
	uint64_t each_ns = row->time_ns / MAX(row->threads_cnt, 1);
	uint32_t most = 0;

	EACH_ROW(i, const struct wait, w, f->profile->waits) {
		uint32_t id = f->blocked_in[i];

		if (!id || waits[w->thread] || !g_str_has_prefix(reasons_says(f->reasons, i), "waits for ") ||
		    f->programs[w->thread] != row->process)
			continue;
		ns[id] += w->blocked_ns;
		most = ns[id] > ns[most] ? id : most;
	}
	if (ns[most] > each_ns / 2)
		row->meanwhile = most;
}

/* It is idle or sleeps, and nothing from outside, like data or an event, can make it end a task. */
static bool is_bystander(const struct findings *f, uint32_t wait)
{
	const struct object *o = profile_wait_object(f->profile, profile_wait(f->profile, wait));
	enum reason reason = reasons_of(f->reasons, wait);

	return (reasons_is_idle(f->reasons, wait) || reason == REASON_SLEEP) &&
	       (!o || o->kind < LOCK_KIND_COUNT || o->kind == OBJECT_CHILD) &&
	       (reason == REASON_POOL_IDLE || reason == REASON_SLEEP || reason == REASON_CHILD_EXIT ||
		reason_family(reason) == FAMILY_LOCK);
}

/* Every process of Celery's pool that was recorded spends its time in tasks that wait for others. */
static bool is_whole_pool(const struct findings *f, const struct finding *row)
{
	static const char *const loops[] = { "Worker.workloop", NULL };	/* billiard/pool.py */
	const struct profile *p = f->profile;
	g_autofree uint64_t *ns = g_new0(uint64_t, (gsize)p->threads->len + 1);
	bool is_pool = false;

	EACH_ROW(i, const struct wait, w, p->waits)
		ns[w->thread] += f->blocked_in[i] == row->id ? w->blocked_ns : 0;
	EACH_ROW(i, const struct wait, w, p->waits) {
		const uint64_t observed_ns = thread_observed_ns(profile_thread(p, w->thread));

		if (f->programs[w->thread] != row->process || !profile_stack_names(p, w->user, loops))
			continue;
		if (ns[w->thread] < observed_ns - observed_ns / RUNS_PART)
			return false;
		is_pool = true;
	}
	return is_pool;
}

enum nobody_works work_nobody(const struct findings *f, const struct finding *row)
{
	const struct profile *p = f->profile;

	if (finding_is_by(f, row, "celery-result-in-worker"))
		return is_whole_pool(f, row) ? NOBODY_OF_POOL : SOMEBODY_WORKS;
	if (!sentence_is_for_workers(f, row))
		return SOMEBODY_WORKS;
	const char *comm = profile_thread(p, profile_wait(p, row->wait)->thread)->comm;
	const enum nobody_works of_pool = sentence_is_in_worker(f, row) ? NOBODY_OF_POOL : SOMEBODY_WORKS;
	enum nobody_works all = NOBODY_OF_PROCESS;

	if (!row->pid || row->woken_cnt || !p->info.has_wakers || !deadlock_knows_all(p, row->pid) ||
	    row->max_ns < deadlock_long_ns(p))
		return SOMEBODY_WORKS;
	for (uint32_t i = 0; i < p->threads->len; i++)
		if (profile_thread(p, i)->pid == row->pid &&
		    profile_thread(p, i)->on_cpu_ns > p->info.duration_ns / RUNS_PART)
			return SOMEBODY_WORKS;
	EACH_ROW(i, const struct wait, w, p->waits) {
		const struct thread *t = profile_thread(p, w->thread);
		const struct finding of_wait = { .wait = i };

		if (t->pid != row->pid || !w->blocked_ns ||
		    (sentence_is_for_workers(f, &of_wait) && wait_is_all_along(w)))
			continue;
		if (sentence_is_for_workers(f, &of_wait) || !is_bystander(f, i) || t->comm == comm ||
		    actors_same_kind(t->comm, comm))
			return SOMEBODY_WORKS;
		all = of_pool;
	}
	return all;
}

void work_find(const struct findings *f, struct finding *row)
{
	if (!row->by.does_ns && !row->by.is_peer)
		find_busy_workers(f, row);
	row->is_told_elsewhere = row->by.does_ns && row->threads_cnt <= row->by.threads_cnt &&
				 (row->by.does == REASON_ON_CPU || row->by.does == REASON_CPU_QUEUE);
	if (!row->by.does_ns)
		work_find_meanwhile(f, row);
}
