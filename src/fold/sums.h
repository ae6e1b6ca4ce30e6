/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef FOLD_SUMS_H
#define FOLD_SUMS_H

#include <stddef.h>
#include <stdint.h>

#include "abi/offcpu_abi.h"
#include "profile/profile.h"

/*
 * The kernel's sums of waits, added up over the whole recording.  Every sum that is drained
 * comes through here, so adding one costs one probe of a flat table; and since most keys are
 * met only once, a histogram is kept from the second wait on.
 */
struct sums;

struct sums *sums_new(void);
void sums_free(struct sums *s);	/* NULL is fine */

/*
 * Adds what a slot holds, whatever its slice: its wake_hist_q8 only where it has a waker.  The sum's number: those
 * there are count from 0.  ustack: the user stack that it goes to.  The slot is read where it lies: without wakers it is
 * shorter than its type (OFFCPU_SHORT_SLOT_BYTES), and what follows the last one is not mapped.
 */
size_t sums_add(struct sums *s, uint64_t ustack, const struct offcpu_wait_slot *slot);
/* So many of different keys will be added: room for as many of them as must be new, at once. */
void sums_expect(struct sums *s, size_t cnt);

/* What a sum says once all is added up: whole counts, the histogram adding up to the count. */
struct sums_total {
	uint64_t count;		/* at least 1, but for pieces of waits that others count: 0 */
	uint64_t blocked_ns, runnable_ns, preempted_ns, max_ns;
	uint64_t max_start_ns;	/* where windows are cut: when the longest began */
	uint64_t off_cpu_se_ns;	/* error of the time, of sampling; sums_get(): its standard error */
	uint64_t count_se;	/* of the count; sums_get(): 0 */
	uint32_t hist[OFFCPU_HIST_SLOTS];
	uint32_t wake_hist[OFFCPU_WAKE_SLOTS];	/* of the delays from waking to running, with wakers */
};

/* Those there are, in the order in which they were first met. */
size_t sums_cnt(const struct sums *s);
/* What the i-th is of; valid until the next one is added. */
const struct offcpu_wait_key *sums_key(const struct sums *s, size_t i);
void sums_get(const struct sums *s, size_t i, struct sums_total *ret_total);
/* Makes the histograms of what sums_get() gave of the i-th add up to this count, at least 1, and sets it. */
void sums_recount(const struct sums *s, size_t i, uint64_t count, struct sums_total *total);

/*
 * Makes sampled waits add up to what is known exactly.  All waits of a thread in one state are known exactly, by class
 * and number, and so are those of them that were listed as themselves.  The rest is what the sampled rows of that
 * thread and state stand for together.
 *
 * Times: each estimate is multiplied by rest / (sum of the estimates), the ratio estimator (Cochran, Sampling
 * Techniques, chapter 6).  Counts: what the estimates miss is shared out by their variances, the regression estimator
 * (chapter 7); for a short wait that was kept stands for thousands, and one row of such waits would spoil the counts
 * of all others.
 *
 * The error of a row is a bound rather than a standard error alone.  Its parts: the standard error of what was kept
 * (Horvitz and Thompson, abi/sample.h); twice what a kept wait counts as, for so much may be missing where few or none
 * were kept (with none kept of a Poisson variable six are possible, which are three times that); never more than the
 * rest.
 */
struct calibration;

/* The thread's waits that no row stands for, as none of them was kept; in times 0 but for one class or more. */
struct calibration_rest {
	uint32_t thread;
	uint8_t state;
	uint64_t count, blocked_ns, runnable_ns, preempted_ns;
};

/* scale_ns: the highest at which waits were sampled. */
struct calibration *calibration_new(const struct profile *p, uint64_t scale_ns);
void calibration_free(struct calibration *c);	/* NULL is fine */

/*
 * First tells all rows, those of the sums in their order; what is open as the window ends is a row as well, with its
 * times in *total.  Then says that all are told: what a thread lost is left out of its rests.
 */
void calibration_tell(struct calibration *c, uint32_t thread, uint8_t state, bool is_sampled,
		      const struct sums_total *total);
void calibration_settle(struct calibration *c, const struct profile *p);
/* Then corrects each in the same order; afterwards all of a thread and state add up to its totals.  i: of the sums. */
void calibration_correct(struct calibration *c, const struct sums *sums, size_t i, uint32_t thread, uint8_t state,
			 bool is_sampled, struct sums_total *total);
/* Calls with what is left: where a thread slept only shortly, none of its waits may have been kept. */
void calibration_for_each_rest(struct calibration *c, void (*fn)(const struct calibration_rest *rest, void *data),
			       void *data);

#endif
