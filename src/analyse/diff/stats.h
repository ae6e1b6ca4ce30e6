/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef ANALYSE_DIFF_STATS_H
#define ANALYSE_DIFF_STATS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * How well a sum of waits is known, and whether two differ.  docs/diff.md has the argument; in short:
 *
 *   a thread    alternates between these waits and everything else.  In a window of length T its time in them, W = fT,
 *               varies by (1 - f)^2 times the sum of the waits' squares.
 *   threads     may wait for the same thing, so their waits are not independent: standard errors add up, not squares.
 *   two runs    differ by a percent or so for reasons that no recording shows.
 *   many rows   are looked at, so some look different by chance: Benjamini-Hochberg.
 */

/* Sum of the squares of durations of which the histogram (PROFILE_HIST_SLOTS slots) and the sum are known, ns^2. */
double stats_squares(const uint32_t *hist, uint64_t sum_ns, uint64_t max_ns);

/*
 * Variance of the sum of one thread's waits, ns^2.  cnt: how many; observed_ns: of the thread.  are_all: these are all
 * of its waits, so that what is left is its time on CPU; of some that fill all of its time others may take the place.
 */
double stats_thread_variance(double squares, uint64_t sum_ns, double cnt, uint64_t observed_ns, bool are_all);

/* One term of a variance and on how many degrees of freedom it is known; dof 0: exactly. */
struct stats_term {
	double variance, dof;
};

/* Degrees of freedom of a sum of terms, at least 1 (Welch, Satterthwaite). */
double stats_dof(const struct stats_term *terms, size_t cnt);

/* Probability of a |t| at least that large by chance. */
double stats_p(double t, double dof);

/*
 * Which of the tests find something, when a share of at most q of those that do may be wrong: Benjamini, Hochberg
 * (1995). Returns the highest p that counts, below 0 when none does.  Sorts p.
 */
double stats_threshold(double *p, size_t cnt, double q);

/* Durations of which only these are known. */
struct stats_durations {
	const uint64_t *hist;	/* PROFILE_HIST_SLOTS slots */
	uint64_t sum_ns, max_ns;
};

/*
 * The duration that such a share of them does not exceed, ns; 0 of none.  Where in its slot it lies, their sum tells
 * on the whole.
 */
double stats_quantile(const struct stats_durations *d, double share);
/*
 * The mean of the longest waits, which hold 1 - `share` of the time: many that are short say little of how long a wait
 * is.  0 of none.
 */
double stats_mean_of_most(const struct stats_durations *d, double share);
/* Its standard error, when `alike` waits are worth one that is independent; that slots are powers of two is in it. */
double stats_quantile_error(const struct stats_durations *d, double share, double alike);

#endif
