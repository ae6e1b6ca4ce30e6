/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef ANALYSE_DIFF_COMPARE_H
#define ANALYSE_DIFF_COMPARE_H

#include "analyse/diff/keys.h"
#include "analyse/diff/merge.h"

/* Waits of one side summed by key, and by key and thread.  Private to the diff. */

/* A thread's waits with one key. */
struct tally_cell {
	uint32_t key, thread;
	uint64_t ns, count;
	uint64_t whole_ns, whole_cnt;	/* see struct diff_amount */
	double squares, whole_squares;	/* sums of squared durations, ns^2 */
	double inner_squares;		/* squared deviations from the mean of each row (a thread and stack), ns^2 */
	double sampled;			/* variance due to sampling, ns^2 */
};

struct tally {
	GArray *cells;		/* struct tally_cell, by key */
	uint32_t *first;	/* by key: its first cell; has one more element at the end */
	uint32_t keys_cnt, keys_room;	/* private: capacity of the arrays */
	struct diff_amount *amounts;	/* by key: sums, without estimates */
	uint32_t *batches_of;	/* by key: index in batches + 1; 0: none */
	GArray *batches;	/* struct batches */
	uint32_t *waits;	/* by key: index + 1 of the longest wait, 0: none */
};

/* Selects keys: their waits go to key 0, each wait once. */
struct tally_filter {
	bool (*wants)(uint32_t key, gpointer data);
	gpointer data;
};

/* filter NULL: each key separately. */
struct tally *tally_new(struct diff_keys *k, enum diff_side side, enum diff_by by, const struct selection *selection,
			const struct tally_filter *filter);
void tally_free(struct tally *t);

/* Rows from the tallies of both sides, with standard errors.  Private to the diff. */

/* Makes the row of that key; false: no waits on either side.  are_all: it has all waits of the selected threads. */
bool compare_key(const struct diff *d, const char *name, const struct tally *const tallies[DIFF_SIDES], uint32_t key,
		 bool are_all, struct diff_row *ret_row);

/* Marks real changes, considering all rows together. */
void compare_together(const struct diff *d, GArray *rows, unsigned *ret_tested_cnt, unsigned *ret_real_cnt);

/* A value of one side: standard error, degrees of freedom, and the variance due to threads that begin and end. */
struct compared {
	double value, se, dof;
	double lives;
	bool is_scaled;		/* scaled by struct diff's scale */
};

/*
 * The change of such a value, without p.  log_between: variance of its logarithm from paired threads, used if larger;
 * 0: none.
 */
struct diff_change compare_values(const struct diff *d, const struct compared side[DIFF_SIDES], double log_between,
				  unsigned pairs_cnt);

#endif
