/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef FOLD_CALIBRATE_H
#define FOLD_CALIBRATE_H

#include "fold/sums.h"
#include "profile/profile.h"

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
