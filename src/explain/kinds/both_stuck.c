/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "analyse/plumbing.h"
#include "explain/findings_part.h"
#include "explain/sentence.h"
#include "explain/text.h"

#define TOLD_MAX 2
#define STAYS_PERCENT 95 /* of the window */

/*
 * Locks of a process that nobody releases and whose holders are unknown: a thread waiting for one probably holds the
 * other. A thread in the ring waits for the lock with few waiters; threads that only queue behind wait for the other.
 */
static bool is_candidate(const struct finding *row)
{
	return row->never_let_go && row->reason == REASON_LOCK_MUTEX && !row->by.comm && !row->deadlock;
}

/* Each Ruby thread has its own condition, which does not identify the lock. */
static bool knows_lock(const struct findings *f, const struct finding *row)
{
	const struct object *o = finding_object(f, row);

	return o && o->kind != LOCK_CONDITION;
}

static uint32_t waiters_of(const struct findings *f, const struct finding *row)
{
	uint32_t cnt = 0;

	EACH_ROW(i, const struct finding, other, f->rows)
		if (other->stuck_lock == row->stuck_lock && other->process == row->process)
			cnt += other->threads_cnt;
	return cnt;
}

static bool is_of_other_lock(const struct finding *row, const struct finding *other)
{
	return other->stuck_lock && other->stuck_lock != row->stuck_lock && other->process == row->process;
}

/* It waits for room, an answer or a device during the whole window. */
static bool is_stuck_elsewhere(const struct findings *f, const struct finding *row, const struct finding *lock)
{
	switch (reason_family(row->reason)) {
	case FAMILY_NETWORK:
	case FAMILY_DISK:
	case FAMILY_PIPE:
	case FAMILY_TERMINAL:
	case FAMILY_DEVICE:
	case FAMILY_DECISION: break;
	default: return false;
	}
	return row->process == lock->process && row->pid == lock->pid && row->threads_cnt == 1 && !row->busy &&
	       finding_fills_window(f->profile, row->max_ns);
}

/*
 * A lock that nobody releases, and one thread that also waits all the time: it is the likely holder, and ranks first.
 */
static void find_likely_holder(struct findings *f, struct finding *lock)
{
	struct finding *holder = NULL;

	EACH_ROW(i, struct finding, row, f->rows) {
		if (!is_stuck_elsewhere(f, row, lock))
			continue;
		if (holder)
			return;
		holder = row;
	}
	if (!holder)
		return;
	lock->meanwhile = holder->id;
	lock->is_told_with = lock->is_behind = true;
	lock->is_stuck = false;
	holder->leads_ns += lock->time_ns;
}

/*
 * Without such a finding, e.g. if the thread only sleeps between retries: a thread that is in the function taking the
 * lock during the whole window, without waiting for it, is the likely holder.
 */
static void find_who_stays(const struct findings *f, struct finding *lock)
{
	const struct profile *p = f->profile;
	g_autofree uint64_t *in_ns = g_new0(uint64_t, (gsize)p->threads->len + 1);
	g_autofree uint32_t *longest = g_new0(uint32_t, (gsize)p->threads->len + 1);	/* wait + 1 */
	g_autofree bool *is_waiter = finding_waiters_new(f, lock);
	uint32_t cnt = 0;

	if (lock->frame < 0 || plumbing_frame_is_runtime(reasons_plumbing(f->reasons), (uint32_t)lock->frame))
		return;
	EACH_ROW(i, const struct wait, w, p->waits) {
		if (profile_thread(p, w->thread)->pid != lock->pid || !cause_passes(p, w->user, lock->frame))
			continue;
		in_ns[w->thread] += wait_off_cpu_ns(w) + w->on_cpu_ns;
		if (!longest[w->thread] || w->blocked_ns > profile_wait(p, longest[w->thread] - 1)->blocked_ns)
			longest[w->thread] = i + 1;
	}
	for (uint32_t t = 0; t < p->threads->len; t++) {
		if (is_waiter[t] || in_ns[t] / STAYS_PERCENT < p->info.duration_ns / 100)
			continue;
		cnt++;
		lock->stayer_wait = longest[t];
	}
	if (cnt != 1)
		lock->stayer_wait = 0;
}

void both_stuck_find(struct findings *f, const uint32_t *locks)
{
	EACH_ROW(i, struct finding, row, f->rows)
		row->stuck_lock = is_candidate(row) && knows_lock(f, row) ? locks[row->object] : 0;
	EACH_ROW(i, struct finding, row, f->rows) {
		bool has_other = false, is_least = true;

		for (guint k = 0; row->stuck_lock && k < f->rows->len; k++) {
			const struct finding *other = &g_array_index(f->rows, struct finding, k);

			if (!is_of_other_lock(row, other))
				continue;
			has_other = true;
			is_least = is_least && waiters_of(f, row) <= waiters_of(f, other);
		}
		row->is_both_stuck = has_other;
		row->leads_others = has_other && is_least;
		if (row->stuck_lock && !has_other)
			find_likely_holder(f, row);
		if (is_candidate(row) && !has_other && !row->is_behind)
			find_who_stays(f, row);
	}
}

/* "; another thread is in there all the time, and mostly waits for data from the network, 127.0.0.1:5432 (postgres)" */
static void append_stayer(GString *s, const struct findings *f, uint32_t wait)
{
	const struct wait *w = profile_wait(f->profile, wait);
	const struct object *o = profile_wait_object(f->profile, w);
	/* of its own connections, not of those of its process's clients */
	const char *there = object_upstream(o) ?: o && o->kind == OBJECT_SOCKET ? o->name : NULL;

	g_string_append_printf(s, "; another thread is in there all the time, and mostly %s", reasons_says(f->reasons, wait));
	if (!there)
		return;
	g_string_append(s, ", ");
	text_safe_cut(s, there, FINDING_NAME_COLUMNS);
}

/* "; meanwhile 3 threads wait for another one, in list_stock (erp-sync:14) and update_price (erp-sync:11)" */
void both_stuck_append_evidence(GString *s, const struct findings *f, const struct finding *row)
{
	GString *places = g_string_new(NULL);
	uint32_t threads = 0, told = 0;

	for (guint i = 0; row->is_both_stuck && i < f->rows->len; i++) {
		const struct finding *other = &g_array_index(f->rows, struct finding, i);

		if (!is_of_other_lock(row, other))
			continue;
		threads += other->threads_cnt;
		if (told++ < TOLD_MAX)
			sentence_function(places, f, other->frame, told == 1 ? ", in " : " and ");
	}
	if (threads)
		g_string_append_printf(s, "; meanwhile %u thread%s for another one%s", threads, threads == 1 ? " waits" : "s wait",
				       places->str);
	g_string_free(places, TRUE);
	if (row->stayer_wait)
		append_stayer(s, f, row->stayer_wait - 1);
}
