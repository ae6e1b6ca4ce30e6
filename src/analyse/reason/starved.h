/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef ANALYSE_REASON_STARVED_H
#define ANALYSE_REASON_STARVED_H

#include "analyse/reason/rules.h"
#include "analyse/roles.h"
#include "profile/profile.h"

/* What idle.c knows by then, of p. */
struct starved_input {
	const struct roles *roles;
	const uint16_t *depth;	/* of each user node: functions of the program on its path */
	const struct rule *const *rule;	/* of each wait, and so is reason */
	const uint8_t *reason;
};

/*
 * Threads that wait for an answer look like a pool without work.  What tells: there are three or more of a kind, fewer
 * others end nearly all of their waits, and those have no idle time themselves.  Then they wait for these, whether they
 * have asked them or get their work from them.  Makes such waits of `idle` (enum idle_kind, one a wait) IDLE_NOT.
 */
void starved_find(const struct profile *p, const struct starved_input *in, uint8_t *idle);

#endif
