/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef PUSH_IDENTITY_H
#define PUSH_IDENTITY_H

#include "profile/profile.h"

/*
 * Ids that identify the same contents in windows of many hosts: two agents that never met give equal things equal ids.
 * An id is the first 8 bytes of a SHA-256, so that a crafted recording cannot make two things collide.
 */

/* Id of a window: host, start, length, and how it was recorded by whom. */
uint64_t identity_of_window(const struct profile *p);

uint64_t identity_of_text(const char *text);

/* Ids of everything in a profile that rows refer to. */
struct identities {
	uint64_t *stacks;	/* by node, including how the stack ended; [0] is 0, no stack */
	uint64_t *objects;	/* by index */
	uint64_t *wakers;
	/*
	 * By thread: distinguishes rows with equal ids and names.  An exec ends a row and begins the next.
	 * Short-lived threads of one name, which have no tid, have a row for each service.
	 */
	uint32_t *programs;
};
struct identities *identities_new(const struct profile *p);
void identities_free(struct identities *ids);	/* NULL is fine */

#endif
