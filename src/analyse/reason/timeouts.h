/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef ANALYSE_REASON_TIMEOUTS_H
#define ANALYSE_REASON_TIMEOUTS_H

#include "analyse/plumbing.h"
#include "analyse/reason/reason.h"
#include "analyse/reason/rules.h"
#include "profile/profile.h"

/* How a thread's waits ended in which somebody could have signalled it: conditions, semaphores and the like. */
struct timeouts {
	uint64_t cnt, ns;	/* whose end is known */
	uint64_t timed_out_cnt, timed_out_ns;	/* of these by their time limit */
	uint32_t longest;	/* of the rows, index + 1; 0: none */
};

/* One waking of such a wait. */
void timeouts_add(struct timeouts *t, const struct profile *p, const struct wake *wake);
static inline bool timeouts_is_signalled(enum reason reason)
{
	return reason == REASON_LOCK_CONDITION || reason == REASON_LOCK_SEMAPHORE || reason == REASON_LOCK_OTHER ||
	       reason == REASON_POOL_IDLE;
}

/* Does nobody ever signal it? */
bool timeouts_are_all(const struct timeouts *t);

/*
 * Of each thread whose waits all time out: the index + 1 of the thread of its process that it asks, 0: none.  It ends
 * nearly all of that one's waits, and more often than it times out, so it goes on without a time limit, too; and that one
 * has signalled it.  reason: of each wait.
 */
uint32_t *timeouts_asked_new(const struct profile *p, const uint8_t *reason);

/*
 * A lost wakeup looks like a worker without work: one thread hands another one something, does not signal it, and waits
 * until it is done; the other one finds it when its time limit runs out.  So does a clock that hands out work.  What
 * tells: whoever takes what it is handed also answers at once when it is awake, or ends the wait in the function in which
 * it waits itself, while the other one waits in a function that it has called.  Makes such waits of `idle` IDLE_NOT.
 */
struct timeouts_input {
	struct plumbing *pl;
	const uint16_t *depth;	/* of each user node: functions of the program on its path */
	const struct rule *const *rule;	/* of each wait, and so is reason */
	const uint8_t *reason;
};
void timeouts_find(const struct profile *p, const struct timeouts_input *in, uint8_t *idle);

#endif
