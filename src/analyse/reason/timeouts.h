/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef ANALYSE_REASON_TIMEOUTS_H
#define ANALYSE_REASON_TIMEOUTS_H

#include "analyse/plumbing.h"
#include "analyse/reason/reason.h"
#include "analyse/reason/rules.h"
#include "profile/profile.h"

/* How a thread's waits ended that could have been signalled: conditions, semaphores and the like. */
struct timeouts {
	uint64_t cnt, ns;	/* whose end is known */
	uint64_t timed_out_cnt, timed_out_ns;	/* part of these that timed out */
	uint32_t longest;	/* index + 1 of its longest row; 0: none */
};

/* Adds a waking of such a wait. */
void timeouts_add(struct timeouts *t, const struct profile *p, const struct wake *wake);

/* Whether it is never signalled. */
bool timeouts_are_all(const struct timeouts *t);

/*
 * For each thread whose waits all time out: index + 1 of the thread of its process that it asks, 0: none.  The thread
 * ends nearly all waits of the other one, more often than it times out, so it also continues without a time limit; and
 * the other one has signalled it.  reason: by wait.
 */
uint32_t *timeouts_asked_new(const struct profile *p, const uint8_t *reason);

/*
 * A lost wakeup looks like a worker without work: one thread hands over something without signalling and waits for the
 * result; the other finds it when it times out.  A clock that hands out work looks the same.  The difference: a thread
 * that misses wakeups also answers at once when it is awake, or ends the wait in the function in which it waits
 * itself, while the asking one waits in a function called there.  Changes such waits in `idle` to IDLE_NOT.
 */
struct timeouts_input {
	struct plumbing *pl;
	const uint16_t *depth;	/* by user node: number of the program's functions on its path */
	const struct rule *const *rule;	/* by wait, like reason */
	const uint8_t *reason;
};
void timeouts_find(const struct profile *p, const struct timeouts_input *in, uint8_t *idle);

#endif
