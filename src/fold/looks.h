/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef FOLD_LOOKS_H
#define FOLD_LOOKS_H

#include "profile/profile.h"

/*
 * A recording made by sampling threads instead of tracing them. The window is cut into periods, and every thread is
 * looked at once in each, at a random instant (stratified sampling; Cochran, Sampling Techniques, chapter 5). A
 * period counts as the state seen in it, so sums of periods are unbiased estimates of times.
 *
 * What is known exactly is kept exactly. The kernel counts how long each thread ran and how long it was on a run
 * queue. The rest of its time it was blocked, and its rows are scaled to these totals (ratio estimator). If a thread
 * has not run between three looks in a row, it was in one wait for the whole period between, which has no error.
 *
 * Only times are known, not the number or the duration of waits.
 */
struct looks;

struct looks *looks_new(struct profile *p);
void looks_free(struct looks *l);	/* NULL is fine */

/* Adds a thread that lives from t->from_ns on; t's strings belong to the profile. Returns its number here. */
uint32_t looks_thread(struct looks *l, const struct thread *t);

#define LOOK_STATE_RUNS 0	/* on a CPU, which is no wait */

/* The result of one look. The periods of a thread come in order. */
struct look {
	uint32_t period;	/* number of the period */
	uint64_t period_ns;
	uint32_t user, kernel;	/* stack nodes */
	/* a letter; 'R': waits for a CPU, or runs if the source cannot tell; or LOOK_STATE_RUNS */
	uint8_t state;
	bool has_stood;		/* has not run since the previous look */
};
void looks_see(struct looks *l, uint32_t thread, const struct look *look);

/* A sample of it on a CPU; weight_ns: time between two samples of a CPU. The account says how long it ran in total. */
void looks_on_cpu(struct looks *l, uint32_t thread, uint32_t user, uint32_t kernel, uint64_t weight_ns);

/* A thread's account up to to_ns. Call before looks_finish(). */
struct looks_account {
	uint64_t to_ns, switches;
	/* has_exact: the kernel's exact counts; else on_cpu_ns is accurate to a few ms and queue_ns unknown */
	uint64_t on_cpu_ns, queue_ns;
	bool has_exact;
	bool has_stood;		/* has not run since the last look */
	uint32_t flags;		/* enum thread_flag to add */
};
void looks_account(struct looks *l, uint32_t thread, const struct looks_account *a);

/* Adds the threads and waits to the profile. The last period may have ended early, after last_period_ns. */
void looks_finish(struct looks *l, uint32_t last_period, uint64_t last_period_ns);

#endif
