/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "explain/findings_part.h"
#include "explain/sentence.h"

#define TOLD_MAX 2

/*
 * Of locks of a process that nobody lets go of, and whose holders nobody knows: who waits for the one is likely to hold the
 * other.  Who is in the ring waits for a lock with few waiters, and who only queues behind it for the others'.
 */
static bool is_candidate(const struct findings *f, const struct finding *row)
{
	const struct object *o = finding_object(f, row);

	/* each of Ruby's threads has a condition of its own, which tells nothing of the lock */
	return row->never_let_go && row->reason == REASON_LOCK_MUTEX && o && o->kind != LOCK_CONDITION &&
	       !row->by.comm && !row->deadlock;
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

/* For room, an answer or a device it waits all through the window. */
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
	       row->max_ns / STUCK_PERMILLE >= f->profile->info.duration_ns / 1000;
}

/* A lock that nobody lets go of, beside one thread that waits all the time, too: that is likely to have it, and leads. */
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
	lock->stuck_weight = 0;
	holder->leads_ns += lock->time_ns;
}

void both_stuck_find(struct findings *f, const uint32_t *locks)
{
	EACH_ROW(i, struct finding, row, f->rows)
		row->stuck_lock = is_candidate(f, row) ? locks[row->object] : 0;
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
	}
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
}
