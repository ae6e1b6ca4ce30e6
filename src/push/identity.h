/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef PUSH_IDENTITY_H
#define PUSH_IDENTITY_H

#include "profile/profile.h"

/*
 * Numbers by which the rows of many windows and hosts are known: of contents, so that two agents that never met give
 * equal things the same one.  The first 8 bytes of a SHA-256: recordings of anybody must not be able to make two
 * things one.
 */

/* Of a window: host, when it began, how long it is, and who recorded it how. */
uint64_t identity_of_window(const struct profile *p);

uint64_t identity_of_text(const char *text);

/* Of everything in a profile that rows point to. */
struct identities {
	uint64_t *stacks;	/* by node: with how the stack ended; [0] is 0, no stack */
	uint64_t *objects;	/* by index */
	uint64_t *wakers;
	/*
	 * By thread, what tells apart rows of the same numbers and names: an exec ends one and begins the next, and
	 * short-lived threads of one name, which have no numbers, are a row for each service.
	 */
	uint32_t *programs;
};
struct identities *identities_new(const struct profile *p);
void identities_free(struct identities *ids);	/* NULL is fine */

#endif
