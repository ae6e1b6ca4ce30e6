/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef FEATURES_SLICES_ROWS_BUILD_H
#define FEATURES_SLICES_ROWS_BUILD_H

#include <glib.h>

#include "base/cursor.h"
#include "features/slices/rows.h"

/*
 * The part of a row that ended in a slice, as bytes (docs/file-format.md, "slice_cells"). A cell is either the sum of
 * waits that also began in the slice, or a single wait that began before. The latter keeps its start, so its time in
 * each slice is known, and it takes a few bytes however long it is.
 */
struct slice_hist {
	unsigned cnt;
	struct slice_bar bar[PROFILE_HIST_SLOTS];	/* in ascending slots */
};

struct slice_cell {
	uint32_t row;		/* its meaning is the caller's */
	bool is_crossing;	/* a single wait that began before the slice */
	bool is_whole;		/* stands for the whole row: no other member is set */
	bool is_even;		/* whole, and spread evenly over the thread's life: its time is unknown */
	bool has_delays;
	uint64_t count_q8;
	uint64_t blocked_ns, runnable_ns, preempted_ns;
	uint64_t max_ns;	/* crossing: its duration (its times are scaled if it was sampled) */
	uint64_t before_ns;	/* crossing: time before the slice */
	struct slice_hist bars;		/* if crossing, one bar: that of max_ns */
	struct slice_hist delays;	/* valid with has_delays */
};

static inline uint64_t slice_cell_ns(const struct slice_cell *c)
{
	return c->blocked_ns + c->runnable_ns + c->preempted_ns;
}

void slice_hist_add(struct slice_hist *h, unsigned slot, uint64_t count_q8);

/* Appends the cell. `last`: row of the previous cell, which must not be higher; 0 for the first one. */
void slice_cell_put(GByteArray *into, uint32_t last, const struct slice_cell *c);
/* Reads a cell; of its arrays only the counted elements are valid. False: no valid cell. */
bool slice_cell_get(struct cursor *from, uint32_t last, struct slice_cell *ret_cell);
/* Adds one that is not crossing to another such cell. */
void slice_cell_add(struct slice_cell *into, const struct slice_cell *c);

/*
 * How a profile stores its slices, and how they are built. A finished slice is the bytes of its cells, by ascending
 * row. The row of a cell is a code: twice the wait's index, or twice the wake's plus one if the waker is known.
 */
struct slices {
	uint64_t length_ns;
	GPtrArray *cells;	/* GByteArray per slice; NULL: nothing ended in it */
};

struct slices *slices_new(uint64_t length_ns, uint32_t cnt);
void slices_free(struct slices *s);	/* NULL is fine */
/*
 * The number of slices in a window. A remainder after SLICES_MAX slices belongs to the last one: a minute may take
 * slightly longer than a minute.
 */
uint32_t slices_cnt_of(uint64_t window_ns, uint64_t length_ns);

static inline uint32_t slice_code_of_wait(uint32_t wait) { return 2 * wait; }
static inline uint32_t slice_code_of_wake(uint32_t wake) { return 2 * wake + 1; }

static inline uint32_t slice_wait_of_code(const struct profile *p, uint32_t code)
{
	return code % 2 ? profile_wake(p, code / 2)->wait : code / 2;
}

/* Fills in what a finished cell takes from its row. */
#define SLICE_MAX_STEPS 256	/* maximum rounding of the longest wait, as 1/n */
void slice_cell_complete(const struct profile *p, struct slice_cell *cell);

/*
 * The next bar of a histogram in whole waits. The cumulative sum *sum_q8 is rounded, so bars add up to the rounded
 * total.
 */
uint64_t slice_whole_bar(uint64_t *sum_q8, uint64_t count_q8);

/*
 * Calls fn with each cell of each slice; fn may change it. False if a cell is invalid or fn returned false: previous
 * calls are invalid, too.
 */
typedef bool (*slice_cell_fn)(uint32_t slice, struct slice_cell *cell, void *data);
bool slices_for_each_cell(const struct slices *s, slice_cell_fn fn, void *data);

/* Reduces a completed even cell of this thread to its part between these times of the window. */
void slice_cell_even_within(const struct profile *p, const struct slice_cell *c, const struct thread *t,
			    uint64_t from_ns, uint64_t to_ns, struct slice_cell *ret_cell);
/* The part of a crossing wait between these times, counted from its start. Parts of adjoining ranges add up to it. */
void slice_cell_within(const struct slice_cell *c, uint64_t from_ns, uint64_t to_ns, struct slice_part *ret_part);

/*
 * Collects cells in any order, with rows that the caller chooses, until it is finished. It holds at most SLICES_MAX
 * slices: for more, or with too many cells, it doubles their length.
 */
struct slice_builder;
struct slice_builder *slice_builder_new(uint64_t length_ns);
void slice_builder_free(struct slice_builder *b);	/* NULL is fine */
uint64_t slice_builder_length_ns(const struct slice_builder *b);
/*
 * Adds waits that began and ended in the slice that contains `at_ns` since the window's start. If is_crossing is set,
 * adds one wait that began at start_ns and took max_ns; whether it crosses a slice, and before_ns, are computed here.
 */
void slice_builder_add(struct slice_builder *b, uint64_t at_ns, struct slice_cell *cell);
void slice_builder_add_wait(struct slice_builder *b, uint64_t start_ns, struct slice_cell *wait);
/* Doubles the slice length until the window fits and the cells are not too many bytes for row_cnt rows. */
void slice_builder_bound(struct slice_builder *b, uint64_t window_ns, uint64_t row_cnt);

/*
 * The slices of p, whose window and rows must be final. codes: for each row given to the builder; SLICE_NO_CODE
 * leaves it out. Times are scaled to add up to the profile's rows.
 */
#define SLICE_NO_CODE UINT32_MAX
struct slices *slice_builder_finish(struct slice_builder *b, const struct profile *p, const uint32_t *codes);

/* Checks that cells refer to rows, lie within the window, and add up to the rows. */
bool slices_check(const struct profile *p, GError **error);

#endif
