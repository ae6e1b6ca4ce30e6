/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef ANALYSE_REASON_IDLE_H
#define ANALYSE_REASON_IDLE_H

#include "analyse/plumbing.h"
#include "analyse/reason/rules.h"
#include "profile/profile.h"

/*
 * Tells idle time from blocked time, by evidence: docs/reasons.md, "Idle".  rule and reason are what the rules said
 * of each wait, loop the event loop that it holds up, or NULL; writes an enum idle_kind for each to ret_idle, and makes
 * REASON_POOL_IDLE of the reason of workers without work.
 */
void idle_find(const struct profile *p, struct plumbing *pl, const struct rule *const *rule,
	       const struct rule *const *loop, uint8_t *reason, uint8_t *ret_idle);

#endif
