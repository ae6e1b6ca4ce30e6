/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef PROFILE_SLICE_CELL_H
#define PROFILE_SLICE_CELL_H

#include <glib.h>

#include "base/cursor.h"
#include "profile/slices.h"

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

#endif
