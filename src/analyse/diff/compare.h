/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef ANALYSE_DIFF_COMPARE_H
#define ANALYSE_DIFF_COMPARE_H

#include "analyse/diff/tally.h"

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
