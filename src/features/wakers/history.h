/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef FEATURES_WAKERS_HISTORY_H
#define FEATURES_WAKERS_HISTORY_H

#include "profile/profile.h"

/* Chains of wakers and their stories, on their way from one profile to another one. */

/* The chains of `from` as those of `to`, with the wakers that waker() makes of its own.  Free with g_free(). */
uint32_t *chains_copy(const struct profile *from, struct profile *to, uint32_t (*waker)(void *data, uint32_t waker),
		      void *data);

void story_add(struct story *into, const struct story *s);
/* A cut split its sleep: what went on before, chains were not asked. */
void story_begins_earlier(const struct profile *p, struct story *s, uint64_t ns);

/*
 * Wakes have other numbers than before, as rounding gives them: their stories are to be parts of them still, and all of
 * them where they were that.  before: the wakes as they were.
 */
void stories_fit(struct profile *p, const struct wake *before);

/*
 * Chains that tell little of a wake's time are told by their first waker alone, as cut ones, and so many bits of all
 * times are kept.  What is told of a wake stays the same, to the nanosecond.
 */
#define STORY_TOLD_NS UINT64_C(1000000)	/* each story from this on is told, or */
#define STORY_TOLD_PART 64		/* with so small a part of its wake */
#define STORY_BITS 8
void stories_coarse(struct profile *p);

/* The times of all hops, one after the other. */
#define STORY_HOP_TIMES (sizeof(struct hop) / sizeof(uint64_t))
#define STORY_TIMES (STORY_HOP_TIMES * PROFILE_CHAIN_MAX)
#define story_times(s) ((__typeof__(&(s)->hop[0].ran_ns))(s)->hop)

#endif
