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

#endif
