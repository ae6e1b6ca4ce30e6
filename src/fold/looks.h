/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef FOLD_LOOKS_H
#define FOLD_LOOKS_H

#include "profile/profile.h"

/*
 * A recording made by looking at threads now and then, instead of tracing them.  The window is cut into periods, and
 * every thread is looked at once in each, at a random instant of it (stratified sampling; Cochran, Sampling
 * Techniques, chapter 5): a period counts as what was seen in it, so sums of periods are unbiased estimates of times.
 *
 * What is known exactly is kept exactly.  The kernel counts for each thread how long it ran and how long it stood in a
 * run queue; the rest of its time it was blocked, and its rows are scaled to that (ratio estimator).  A thread that
 * has not run between three looks in a row was in that wait all through the period between: such a period has no
 * error.
 *
 * Times only: how many waits there were, and how long each took, nobody sees by looking.
 */
struct looks;

struct looks *looks_new(struct profile *p);
void looks_free(struct looks *l);	/* NULL is fine */

/* A thread from t->from_ns on; t's strings are the profile's.  Returns its number here. */
uint32_t looks_thread(struct looks *l, const struct thread *t);

#define LOOK_STATE_RUNS 0	/* on a CPU: no wait */

/* What one look shows.  The periods of a thread come in order. */
struct look {
	uint32_t period;	/* which */
	uint64_t period_ns;
	uint32_t user, kernel;	/* stack nodes */
	/* a letter; 'R' waits for a CPU, or runs if the source cannot tell these apart; or LOOK_STATE_RUNS */
	uint8_t state;
	bool has_stood;		/* has not run since the look before */
};
void looks_see(struct looks *l, uint32_t thread, const struct look *look);

/*
 * It was met on a CPU there; weight_ns: the time between two such samples of a CPU.  Its account says how long it ran
 * in all.
 */
void looks_on_cpu(struct looks *l, uint32_t thread, uint32_t user, uint32_t kernel, uint64_t weight_ns);

/* Its account up to to_ns.  Before looks_finish(). */
struct looks_account {
	uint64_t to_ns, switches;
	/* exact, by the kernel's count, if has_exact; else on_cpu_ns is to some ms, and queue_ns unknown */
	uint64_t on_cpu_ns, queue_ns;
	bool has_exact;
	bool has_stood;		/* has not run since the last look */
	uint32_t flags;		/* enum thread_flag, to add */
};
void looks_account(struct looks *l, uint32_t thread, const struct looks_account *a);

/* Makes threads and waits of it all.  The last period ended early, after so long. */
void looks_finish(struct looks *l, uint32_t last_period, uint64_t last_period_ns);

#endif
