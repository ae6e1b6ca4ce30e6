/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef FOLD_EARLIER_STORIES_H
#define FOLD_EARLIER_STORIES_H

#include "fold/earlier.h"
#include "fold/wakers.h"

/* What wakers did before their last sleeps as stories, one for each path, beside that of the last sleeps. */

/* The chain with these wakers, nearest first; cnt > 0.  loop_to: of CHAIN_LOOP, 0 the sleeper, else which of them. */
uint32_t earlier_chain(struct profile *p, const uint32_t *wakers, unsigned cnt, uint8_t end, unsigned loop_to);

/*
 * Adds *story to the profile, whose wakers are wakers[0] to wakers[cnt - 1], and beside it a story for each path of
 * `nodes`: these take the time, and leave to *story what is not told of its wakers' `earlier_ns`.
 */
void earlier_add_stories(struct fold_wakers *f, struct profile *p, const GArray *nodes, const uint32_t *wakers,
			 unsigned cnt, const struct story *story);

#endif
