/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef FEATURES_SLICES_ROWS_BUILD_H
#define FEATURES_SLICES_ROWS_BUILD_H

#include <glib.h>

#include "base/cursor.h"
#include "features/slices/rows.h"

/*
 * What of one row ended in one slice, as bytes (docs/file-format.md, "slice_cells").  There are two kinds of cells:
 * the sum of waits that began in the slice, too, and one wait that began before it.  The second keeps its start, so
 * that its time is known in each slice that it lies in, and costs a few bytes however long it is.
 */
struct slice_hist {
	unsigned cnt;
	struct slice_bar bar[PROFILE_HIST_SLOTS];	/* slots go up */
};

struct slice_cell {
	uint32_t row;		/* what it means is the caller's */
	bool is_crossing;	/* one wait that began before the slice */
	bool is_whole;		/* all that there is of its row: nothing else here is set */
	bool is_even;		/* whole, and spread evenly over its thread's life: it is not known when it was */
	bool has_delays;
	uint64_t count_q8;
	uint64_t blocked_ns, runnable_ns, preempted_ns;
	uint64_t max_ns;	/* of a crossing one its duration: its times are another sum where it was sampled */
	uint64_t before_ns;	/* crossing: from its start to the slice's */
	struct slice_hist bars;		/* not of crossing ones: one bar, that of max_ns */
	struct slice_hist delays;	/* with has_delays */
};

static inline uint64_t slice_cell_ns(const struct slice_cell *c)
{
	return c->blocked_ns + c->runnable_ns + c->preempted_ns;
}

void slice_hist_add(struct slice_hist *h, unsigned slot, uint64_t count_q8);

/* Appends the cell.  `last`: row of the cell before it, which is not above this one's; 0 for the first one. */
void slice_cell_put(GByteArray *into, uint32_t last, const struct slice_cell *c);
/*
 * The cell at the cursor; the lower parts of *ret_cell are valid as far as their numbers say.  False: no cell,
 * nothing of it is used.
 */
bool slice_cell_get(struct cursor *from, uint32_t last, struct slice_cell *ret_cell);
/* Adds one that is not crossing to another one. */
void slice_cell_add(struct slice_cell *into, const struct slice_cell *c);

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
