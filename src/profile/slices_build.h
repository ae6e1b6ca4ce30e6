/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef PROFILE_SLICES_BUILD_H
#define PROFILE_SLICES_BUILD_H

#include "profile/slice_cell.h"

/*
 * How the slices of a profile are kept, and how they are made.  In a finished one each slice is the bytes of its
 * cells, the rows going up.  The row of a cell is a code: twice the wait's index, or twice the wake's and one where
 * the waker is known.
 */
struct slices {
	uint64_t length_ns;
	GPtrArray *cells;	/* GByteArray of each slice; NULL: nothing ended in it */
};

struct slices *slices_new(uint64_t length_ns, uint32_t cnt);
void slices_free(struct slices *s);	/* NULL is fine */
/*
 * The slices of a window of that length.  What is left of it behind the last of SLICES_MAX is part of that: a minute
 * takes a bit longer than a minute.
 */
uint32_t slices_cnt_of(uint64_t window_ns, uint64_t length_ns);

static inline uint32_t slice_code_of_wait(uint32_t wait) { return 2 * wait; }
static inline uint32_t slice_code_of_wake(uint32_t wake) { return 2 * wake + 1; }

static inline uint32_t slice_wait_of_code(const struct profile *p, uint32_t code)
{
	return code % 2 ? profile_wake(p, code / 2)->wait : code / 2;
}

/* Fills in what a finished cell leaves to its row. */
#define SLICE_MAX_STEPS 256	/* its longest wait is rounded up by no more than that part */
void slice_cell_complete(const struct profile *p, struct slice_cell *cell);

/*
 * The next bar of a histogram in whole waits: what is rounded is the sum up to it, *sum_q8, so that they add up to
 * the rounded sum of all.
 */
uint64_t slice_whole_bar(uint64_t *sum_q8, uint64_t count_q8);

/*
 * Calls fn with each cell, slice after slice.  It may have them changed.  False when one is none, or fn said so:
 * what it was told so far is of no use.
 */
typedef bool (*slice_cell_fn)(uint32_t slice, struct slice_cell *cell, void *data);
bool slices_for_each_cell(const struct slices *s, slice_cell_fn fn, void *data);

/* What of a completed even cell of that thread lies between those times of the window. */
void slice_cell_even_within(const struct profile *p, const struct slice_cell *c, const struct thread *t,
			    uint64_t from_ns, uint64_t to_ns, struct slice_cell *ret_cell);
/*
 * What of a crossing wait lies between those two times, counted from its start.  Sums over adjoining ones are its
 * whole time.
 */
void slice_cell_within(const struct slice_cell *c, uint64_t from_ns, uint64_t to_ns, struct slice_part *ret_part);

/*
 * Collects cells in any order, their rows being whatever the caller likes, until it is finished.  It holds no more
 * than SLICES_MAX slices: for more, or where there are too many cells, it makes each twice as long.
 */
struct slice_builder;
struct slice_builder *slice_builder_new(uint64_t length_ns);
void slice_builder_free(struct slice_builder *b);	/* NULL is fine */
uint64_t slice_builder_length_ns(const struct slice_builder *b);
/*
 * Adds waits that began and ended in one slice, which `at_ns` since the window's start lies in; or one that began at
 * start_ns and took max_ns, where is_crossing is set; whether it crosses anything, and before_ns, is found out here.
 */
void slice_builder_add(struct slice_builder *b, uint64_t at_ns, struct slice_cell *cell);
void slice_builder_add_wait(struct slice_builder *b, uint64_t start_ns, struct slice_cell *wait);
/*
 * Makes slices twice as long until there are enough for that window, and not too many bytes of them for so many
 * rows.
 */
void slice_builder_bound(struct slice_builder *b, uint64_t window_ns, uint64_t row_cnt);

/*
 * The slices of p, whose window and rows are final.  codes: of each row that was given to the builder,
 * SLICE_NO_CODE: it is left out. Times are scaled where the profile's rows were, so that they add up to these.
 */
#define SLICE_NO_CODE UINT32_MAX
struct slices *slice_builder_finish(struct slice_builder *b, const struct profile *p, const uint32_t *codes);

/* That all cells are of rows there are, within the window, and add up to the rows. */
bool slices_check(const struct profile *p, GError **error);

#endif
