/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef ANALYSE_DIFF_COMPARE_H
#define ANALYSE_DIFF_COMPARE_H

#include "analyse/diff/keys.h"
#include "analyse/diff/merge.h"

/* The waits of one side summed by key, and by key and thread: private to the diff. */

/* One thread's waits of one key. */
struct tally_cell {
	uint32_t key, thread;
	uint64_t ns, count;
	uint64_t whole_ns, whole_cnt;	/* see struct diff_amount */
	double squares, whole_squares;	/* sums of the squares of durations, ns^2 */
	double inner_squares;		/* of what they differ by from the mean of their row, a thread and stack; ns^2 */
	double sampled;			/* variance by sampling, ns^2 */
};

struct tally {
	GArray *cells;		/* struct tally_cell, by key */
	uint32_t *first;	/* by key: its first cell; one more at the end */
	uint32_t keys_cnt, keys_room;	/* room: private */
	struct diff_amount *amounts;	/* by key: what is summed, no more */
	uint32_t *batches_of;	/* by key: index in batches + 1; 0: none */
	GArray *batches;	/* struct batches */
	uint32_t *waits;	/* by key: index + 1 of the wait with most time, 0: none */
};

/* Which keys are wanted; their waits go to key 0 together, each wait once. */
struct tally_filter {
	bool (*wants)(uint32_t key, gpointer data);
	gpointer data;
};

/* filter NULL: every key apart. */
struct tally *tally_new(struct diff_keys *k, enum diff_side side, enum diff_by by, const struct selection *selection,
			const struct tally_filter *filter);
void tally_free(struct tally *t);

/* Rows out of the tallies of both sides, with what they are known to differ by: private to the diff. */

/*
 * The row of that key; false when it has no waits on either side.  are_all: all waits of the selected threads are in
 * it.
 */
bool compare_key(const struct diff *d, const char *name, const struct tally *const tallies[DIFF_SIDES], uint32_t key,
		 bool are_all, struct diff_row *ret_row);

/* Marks the changes that are real, all rows being looked at together. */
void compare_together(const struct diff *d, GArray *rows, unsigned *ret_tested_cnt, unsigned *ret_real_cnt);

/*
 * A number of one side: its standard error and degrees of freedom, and what threads that come and go add to its
 * variance.
 */
struct compared {
	double value, se, dof;
	double lives;
	bool is_scaled;		/* by struct diff's scale */
};

/*
 * The change of such a number, p not yet known.  log_between: what threads that are compared in pairs say of the
 * variance of its logarithm, used where it is more; 0: nothing.
 */
struct diff_change compare_values(const struct diff *d, const struct compared side[DIFF_SIDES], double log_between,
				  unsigned pairs_cnt);

#endif
