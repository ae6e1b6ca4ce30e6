/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef ANALYSE_DIFF_MERGE_H
#define ANALYSE_DIFF_MERGE_H

#include "analyse/diff/batches.h"
#include "analyse/diff/diff.h"
#include "analyse/reason/reasons.h"

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

#endif
