/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef FEATURES_WAKERS_HISTORY_H
#define FEATURES_WAKERS_HISTORY_H

#include "profile/profile.h"

/* Copies chains of wakers and their stories from one profile to another one. */

/* Maps the chains of `from` to `to`, with the wakers that waker() maps. Free with g_free(). */
uint32_t *chains_copy(const struct profile *from, struct profile *to, uint32_t (*waker)(void *data, uint32_t waker),
		      void *data);

void story_add(struct story *into, const struct story *s);
/* A cut split its sleep: chains do not cover the part before the cut. */
void story_begins_earlier(const struct profile *p, struct story *s, uint64_t ns);

/*
 * After rounding has changed the wakes, adapts their stories: these must remain parts of them, and cover them if they
 * did. before: the old wakes.
 */
void stories_fit(struct profile *p, const struct wake *before);

/*
 * Shortens chains with little of a wake's time to their first waker, as CHAIN_CUT, and rounds times to a few bits.
 * The total of each wake's stories stays exact.
 */
#define STORY_TOLD_NS UINT64_C(1000000)	/* stories from this time on are kept, and */
#define STORY_TOLD_PART 64		/* those from this part of their wake on */
#define STORY_BITS 8
void stories_coarse(struct profile *p);

/* The number of times in a story's hops. */
#define STORY_HOP_TIMES (sizeof(struct hop) / sizeof(uint64_t))
#define STORY_TIMES (STORY_HOP_TIMES * PROFILE_CHAIN_MAX)
#define story_times(s) ((__typeof__(&(s)->hop[0].ran_ns))(s)->hop)

#endif
