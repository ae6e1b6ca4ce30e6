/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef ANALYSE_DIFF_BATCHES_H
#define ANALYSE_DIFF_BATCHES_H

#include "analyse/diff/keys.h"

/*
 * Waits are not independent of those before them: a disk is slow for a second, a client stops.  So the window is cut
 * into batches, and how much these differ is another estimate of the error ("batch means").  It knows nothing of single
 * waits and nothing of threads.  Private to the diff.
 */
#define BATCHES_CNT 20

/* Waits of a key: their time, and of those that began and ended in the window time and number. */
struct batches {
	double ns[BATCHES_CNT], whole_ns[BATCHES_CNT], count[BATCHES_CNT];
};

/* Of one wait row, in the same order. */
struct wait_batches {
	float blocked_ns[BATCHES_CNT], cpu_ns[BATCHES_CNT], count[BATCHES_CNT];
};

struct row_batches;

/* Of the waits of a profile that matter; NULL where its slices are none or too few. */
struct row_batches *row_batches_new(const struct profile *p);
void row_batches_free(struct row_batches *rows);
bool row_batches_has(const struct row_batches *rows, uint32_t wait);
/* Adds a part of such a wait. */
void row_batches_add(const struct row_batches *rows, uint32_t wait, const struct diff_part *part, struct batches *to);

/* Adds such a wait's own. */
void row_batches_sum(const struct row_batches *rows, uint32_t wait, struct wait_batches *to);

/* Variance of the sum, ns^2. */
double batches_variance(const struct batches *b);
/* Relative variance of the mean of the whole waits. */
double batches_mean_variance(const struct batches *b);

#endif
