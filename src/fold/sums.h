/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef FOLD_SUMS_H
#define FOLD_SUMS_H

#include <stddef.h>
#include <stdint.h>

#include "abi/offcpu_abi.h"
#include "profile/profile.h"

/*
 * The kernel's sums of waits, added up over the recording. Every drained sum passes through here, so adding costs one
 * probe of a flat table. Most keys occur once, so a histogram is allocated for the second wait.
 */
struct sums;

struct sums *sums_new(void);
void sums_free(struct sums *s);	/* NULL is fine */

/*
 * Adds a slot, whatever its slice, and returns the sum's number, counted from 0. wake_hist_q8 is valid only with a
 * waker. ustack: the user stack to use. The slot is read in place: without wakers it is shorter than its type
 * (OFFCPU_SHORT_SLOT_BYTES), and memory after the last one is not mapped.
 */
size_t sums_add(struct sums *s, uint64_t ustack, const struct offcpu_wait_slot *slot);
/* Up to `cnt` different keys will be added: reserves room for new ones. */
void sums_expect(struct sums *s, size_t cnt);

/* The total of a sum: whole counts, with a histogram that adds up to the count. */
struct sums_total {
	uint64_t count;		/* at least 1, or 0 for pieces of waits counted elsewhere */
	uint64_t blocked_ns, runnable_ns, preempted_ns, max_ns;
	uint64_t max_start_ns;	/* with cut windows: begin of the longest wait */
	uint64_t off_cpu_se_ns;	/* sampling error of the time; sums_get(): its standard error */
	uint64_t count_se;	/* likewise of the count; sums_get(): 0 */
	uint32_t hist[OFFCPU_HIST_SLOTS];
	uint32_t wake_hist[OFFCPU_WAKE_SLOTS];	/* delays from waking to running, with wakers */
};

/* Sums are numbered in the order of their first occurrence. */
size_t sums_cnt(const struct sums *s);
/* The key of sum i; valid until the next sums_add(). */
const struct offcpu_wait_key *sums_key(const struct sums *s, size_t i);
void sums_get(const struct sums *s, size_t i, struct sums_total *ret_total);
/* Sets the count, at least 1, of a result of sums_get() for sum i, and fits its histograms to it. */
void sums_recount(const struct sums *s, size_t i, uint64_t count, struct sums_total *total);

/*
 * Makes sampled waits add up to exact totals. For each thread and state, the total of all waits is exact, by class
 * and number, and so are the waits listed individually. The remainder is what the sampled rows stand for.
 *
 * Times: each estimate is multiplied by remainder / (sum of the estimates), the ratio estimator (Cochran, Sampling
 * Techniques, chapter 6). Counts: what the estimates miss is distributed by their variances, the regression estimator
 * (chapter 7). A ratio would not do, because a kept short wait stands for thousands, and one row of such waits would
 * spoil all other counts.
 *
 * The error of a row is a bound, not only a standard error. Its parts: the standard error of what was kept (Horvitz
 * and Thompson, abi/sample.h), plus twice the weight of a kept wait, because that much may be missing where few or
 * none were kept (with none kept, a Poisson variable may be six, which is three times that). It is at most the
 * remainder.
 */
struct calibration;

/* The thread's waits without any row, because none of them was kept. Some classes may be 0. */
struct calibration_rest {
	uint32_t thread;
	uint8_t state;
	uint64_t count, blocked_ns, runnable_ns, preempted_ns;
};

/* scale_ns: the highest sampling scale. */
struct calibration *calibration_new(const struct profile *p, uint64_t scale_ns);
void calibration_free(struct calibration *c);	/* NULL is fine */

/*
 * First call calibration_tell() for all rows, the sums in order. An open wait at the window's end is a row, too, with
 * its times in *total. Then calibration_told(): it subtracts what threads lost.
 */
void calibration_tell(struct calibration *c, uint32_t thread, uint8_t state, bool is_sampled,
		      const struct sums_total *total);
void calibration_settle(struct calibration *c, const struct profile *p);
/* Then for each row in the same order: rows of a thread and state now add up to its totals. i: number of the sum. */
void calibration_correct(struct calibration *c, const struct sums *sums, size_t i, uint32_t thread, uint8_t state,
			 bool is_sampled, struct sums_total *total);
/* Calls fn with the remainders: of a thread with only short sleeps, none may have been kept. */
void calibration_for_each_rest(struct calibration *c, void (*fn)(const struct calibration_rest *rest, void *data),
			       void *data);

#endif
