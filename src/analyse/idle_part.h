/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef ANALYSE_IDLE_PART_H
#define ANALYSE_IDLE_PART_H

#include "analyse/query.h"
#include "analyse/reason/reasons.h"
#include "analyse/weight.h"

/* How much of what is selected was idle: for what is drawn without it. */
struct idle_part {
	bool *waits;		/* by wait: its blocked time is idle */
	uint64_t amount;	/* of the weight */
	uint64_t of_kind[IDLE_KIND_COUNT];
	uint64_t rest;		/* what is not idle */
};

/* Threads of the kernel are idle beside others only.  selection NULL: all. */
struct idle_part *idle_part_new(const struct profile *p, const struct selection *selection, enum weight weight);
void idle_part_free(struct idle_part *idle);	/* NULL is fine */

/*
 * For formats that know of no idle time.  The blocked time of idle waits is left out of the selection, or gets one
 * frame "[idle]" in place of its stacks.  What such a thread waited for a CPU, once it had work, is time as any other:
 * it becomes a row of its own, with the stacks, and without a count.  Slices know nothing of this and are gone.
 * Returns the idle time of what is selected.
 */
uint64_t idle_part_drop(struct profile *p, struct selection *selection);
uint64_t idle_part_fold(struct profile *p, struct selection *selection);

#endif
