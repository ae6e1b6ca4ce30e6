/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef ANALYSE_DIFF_MERGE_H
#define ANALYSE_DIFF_MERGE_H

#include "analyse/diff/diff.h"
#include "analyse/diff/keys.h"
#include "analyse/reason/reasons.h"

/*
 * Consecutive waits are not independent: a disk is slow for a second, a client stops.  So the window is divided into
 * batches, and their variation is another estimate of the error ("batch means"), which needs neither single waits nor
 * threads.  Private to the diff.
 */
#define BATCHES_CNT 20

/* For waits of a key by batch: their time; and of waits that began and ended in the window, time and number. */
struct batches {
	double ns[BATCHES_CNT], whole_ns[BATCHES_CNT], count[BATCHES_CNT];
};

/* For one row of waits, in the same order. */
struct wait_batches {
	float blocked_ns[BATCHES_CNT], cpu_ns[BATCHES_CNT], count[BATCHES_CNT];
};

struct row_batches;

/* For the relevant waits of a profile; NULL if it has no or too few slices. */
struct row_batches *row_batches_new(const struct profile *p);
void row_batches_free(struct row_batches *rows);
bool row_batches_has(const struct row_batches *rows, uint32_t wait);
/* Adds a part of a wait. */
void row_batches_add(const struct row_batches *rows, uint32_t wait, const struct diff_part *part, struct batches *to);

/* Adds all of a wait. */
void row_batches_sum(const struct row_batches *rows, uint32_t wait, struct wait_batches *to);

/* Variance of the sum in ns^2. */
double batches_variance(const struct batches *b);
/* Relative variance of the mean of whole waits. */
double batches_mean_variance(const struct batches *b);

/* Reason of a wait, which the merged profile alone cannot give. */
struct wait_reason {
	enum reason reason;
	enum idle_kind idle;
};

/*
 * Both sides of a diff as one profile, to draw their stacks together.  Threads, frames and stacks have the names that
 * the diff compares.  Moved stacks are where they are in AFTER.  Contains only selected waits.  It has wakers if both
 * sides have them, and no slices or totals by state; info is that of AFTER where the sides differ.
 */
struct diff_merged {
	struct profile *profile;
	/* the first threads are those of BEFORE, the others those of AFTER; likewise waits */
	uint32_t before_threads_cnt;
	struct wait_reason *reasons;	/* by wait; equal stacks are idle either on both sides or on neither */
	uint32_t *rows[DIFF_SIDES];	/* by wait of that side: index in the profile + 1; 0: not included */
	uint64_t *root_squares_ns;	/* by wait: square root of the sum of squared durations (stats.h) */
	uint32_t *batches_of;		/* by wait: index in batches + 1; 0: none */
	GArray *batches;		/* struct wait_batches */
};

/* Borrows nothing. */
struct diff_merged *diff_merged_new(const struct diff *d);
void diff_merged_free(struct diff_merged *m);	/* NULL is fine */

/* Adds wakers of both sides to the profile of merge.h.  Private to the diff. */

/* The frame of p for a label of the diff's tree. */
uint32_t diff_frame_of_label(struct profile *p, const struct tree_label *label);

/*
 * Adds one side's wakes.  rows: by wait of that side its index in p + 1; 0: not included.  Wakers with equal name and
 * stacks are the same on both sides, whatever their ids.
 */
void diff_add_wakes(const struct diff *d, enum diff_side side, const uint32_t *rows, struct profile *p);

#endif
