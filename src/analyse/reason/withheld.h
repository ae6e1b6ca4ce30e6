/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef ANALYSE_REASON_WITHHELD_H
#define ANALYSE_REASON_WITHHELD_H

#include "analyse/plumbing.h"
#include "analyse/reason/rules.h"

struct withheld_input {
	struct plumbing *pl;
	const struct rule *const *rule;	/* of each wait */
	const uint8_t *reason;
};

/*
 * A server that keeps all in memory answers at once. Where it does not, and has nothing to do meanwhile, the command was
 * one that waits for work (BRPOP, SUBSCRIBE), whatever the client's functions are called: these waits are idle. So are
 * those of who reads from a pipe what a program writes that has nothing to do itself, as `tail -F`.
 */
void withheld_find(const struct profile *p, const struct withheld_input *in, uint8_t *idle);

#endif
