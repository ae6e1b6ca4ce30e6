/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef ANALYSE_DIFF_STATS_H
#define ANALYSE_DIFF_STATS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * How precisely a sum of waits is known, and whether two sums differ.  docs/diff.md has the argument; in short:
 *
 *   a thread    alternates between these waits and everything else.  In a window of length T its time in them, W = fT,
 *               varies by (1 - f)^2 times the sum of the waits' squares.
 *   threads     may wait for the same thing, so their waits are not independent: standard errors add up, not squares.
 *   two runs    differ by a percent or so for reasons that no recording shows.
 *   many rows   are tested, so some differ by chance: Benjamini-Hochberg.
 */

/* Sum of squared durations in ns^2, from their histogram (PROFILE_HIST_SLOTS slots) and sum. */
double stats_squares(const uint32_t *hist, uint64_t sum_ns, uint64_t max_ns);

/*
 * Variance of the sum of one thread's waits in ns^2.  cnt: number of waits; observed_ns: of the thread.  are_all:
 * these are all its waits, so the rest is time on CPU; otherwise other waits may replace them even if they fill all
 * its time.
 */
double stats_thread_variance(double squares, uint64_t sum_ns, double cnt, uint64_t observed_ns, bool are_all);

/* A term of a variance and its degrees of freedom; dof 0: exact. */
struct stats_term {
	double variance, dof;
};

/* Degrees of freedom of a sum of terms, at least 1 (Welch, Satterthwaite). */
double stats_dof(const struct stats_term *terms, size_t cnt);

/* Probability of |t| or more by chance. */
double stats_p(double t, double dof);

/*
 * Threshold for p such that a share of at most q of the positives is expected to be false: Benjamini, Hochberg (1995).
 * Negative: no positives.  Sorts p.
 */
double stats_threshold(double *p, size_t cnt, double q);

/* Durations of which only these values are known. */
struct stats_durations {
	const uint64_t *hist;	/* PROFILE_HIST_SLOTS slots */
	uint64_t sum_ns, max_ns;
};

/*
 * The duration in ns that a given share of them does not exceed; 0 if none.  The sum tells where in slots durations
 * lie on average.
 */
double stats_quantile(const struct stats_durations *d, double share);
/*
 * The mean of the longest waits, which have 1 - `share` of the time: many short ones say little about how long a wait
 * is. 0 if none.
 */
double stats_mean_of_most(const struct stats_durations *d, double share);
/* Standard error of the quantile if `alike` waits are worth one independent wait.  Includes the width of slots. */
double stats_quantile_error(const struct stats_durations *d, double share, double alike);

#endif
