/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef ANALYSE_DIFF_MERGE_H
#define ANALYSE_DIFF_MERGE_H

#include "analyse/diff/diff.h"
#include "analyse/diff/keys.h"
#include "analyse/reason/reasons.h"

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

/* What is known of a wait, where its profile alone no longer tells. */
struct wait_reason {
	enum reason reason;
	enum idle_kind idle;
};

/*
 * Both sides of a diff as one profile, for whoever draws the stacks of both in one place.  Threads, frames and stacks
 * have the names that the diff compares, and a stack that moved is where it is after.  Only what is selected is in it.
 * It has wakers where both sides have them, and no slices or totals of states; its info is that of AFTER, where the
 * two differ.
 */
struct diff_merged {
	struct profile *profile;
	/* the first threads are those of BEFORE, the others those of AFTER: so the waits */
	uint32_t before_threads_cnt;
	struct wait_reason *reasons;	/* by wait; equal stacks are idle on both sides, or on none */
	uint32_t *rows[DIFF_SIDES];	/* by wait of that side: its row in the profile + 1; 0: not in it */
	uint64_t *root_squares_ns;	/* by wait: the root of the sum of the squares of its durations (stats.h) */
	uint32_t *batches_of;		/* by wait: index in batches + 1; 0: none */
	GArray *batches;		/* struct wait_batches */
};

/* Borrows nothing. */
struct diff_merged *diff_merged_new(const struct diff *d);
void diff_merged_free(struct diff_merged *m);	/* NULL is fine */

/* Wakers of both sides in the one profile of merge.h: private to the diff. */

/* The frame of p that a label of the diff's tree stands for. */
uint32_t diff_frame_of_label(struct profile *p, const struct tree_label *label);

/*
 * Adds the wakings of one side.  rows: by wait of that side its row in p, + 1; 0: not in it.  Threads are the same
 * waker on both sides when name and stacks are, whatever their ids.
 */
void diff_add_wakes(const struct diff *d, enum diff_side side, const uint32_t *rows, struct profile *p);

#endif
