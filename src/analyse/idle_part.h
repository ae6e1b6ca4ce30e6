/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef ANALYSE_IDLE_PART_H
#define ANALYSE_IDLE_PART_H

#include "analyse/query.h"
#include "analyse/reason/reasons.h"
#include "analyse/weight.h"

/* How much of the selection was idle, for views without idle time. */
struct idle_part {
	bool *waits;		/* by wait: its blocked time is idle */
	uint64_t amount;	/* in the unit of the weight */
	uint64_t of_kind[IDLE_KIND_COUNT];
	uint64_t rest;		/* time that is not idle */
};

/* Idle waits of kernel threads count only if others are selected too.  selection NULL: all. */
struct idle_part *idle_part_new(const struct profile *p, const struct selection *selection, enum weight weight);
void idle_part_free(struct idle_part *idle);	/* NULL is fine */

/*
 * For formats without a notion of idle time: removes the blocked time of idle waits from the selection, or replaces
 * their stacks by a frame "[idle]".  The run-queue time after such a wait becomes a row of its own, with stacks but
 * without a count.  Removes slices, which cannot express this.  Returns the selection's idle time.
 */
uint64_t idle_part_drop(struct profile *p, struct selection *selection);
uint64_t idle_part_fold(struct profile *p, struct selection *selection);

#endif
