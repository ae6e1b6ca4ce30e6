/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef ANALYSE_DIFF_WAKES_H
#define ANALYSE_DIFF_WAKES_H

#include "analyse/diff/diff.h"

/* Wakers of both sides in the one profile of merge.h: private to the diff. */

/* The frame of p that a label of the diff's tree stands for. */
uint32_t diff_frame_of_label(struct profile *p, const struct tree_label *label);

/*
 * Adds the wakings of one side.  rows: by wait of that side its row in p, + 1; 0: not in it.  Threads are the same
 * waker on both sides when name and stacks are, whatever their ids.
 */
void diff_add_wakes(const struct diff *d, enum diff_side side, const uint32_t *rows, struct profile *p);

#endif
