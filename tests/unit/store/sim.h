/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef TESTS_UNIT_STORE_SIM_H
#define TESTS_UNIT_STORE_SIM_H

#include "profile/profile.h"

/*
 * Threads that run and wait, made up at random from a seed, and what a recorder would tell of any part of that time: whatever goes on at
 * an edge is split there.  So windows can be compared with one long window of the same events.
 */
struct sim;

#define SIM_START_UNIX_NS (UINT64_C(1764081000) * 1000000000)	/* 2025-11-25 14:30:00 UTC */
#define SIM_START_NS UINT64_C(5000000000)

struct sim *sim_new(uint32_t seed, unsigned threads, uint64_t length_ns);
/* More of them: processes of one thread that begin at random and live for about so long. */
void sim_add_short_lived(struct sim *s, uint32_t seed, unsigned cnt, uint64_t length_ns, uint64_t life_ns);
void sim_free(struct sim *s);
/* [from, to) since the start. */
struct profile *sim_window(const struct sim *s, uint64_t from_ns, uint64_t to_ns);

/* All that a profile says, in an order that does not depend on ids; free with g_free(). */
char *sim_text(const struct profile *p);
/* Fails at the first line that differs. */
void sim_assert_same(const struct profile *a, const struct profile *b);

#endif
