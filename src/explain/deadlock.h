/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef EXPLAIN_DEADLOCK_H
#define EXPLAIN_DEADLOCK_H

#include "profile/profile.h"

/*
 * Rings of threads each of which waits, as the window ends, for a lock that the next one holds, where that is certain.
 * Of each wait: index + 1 of the wait of the thread that holds its lock, if both are in one ring; else 0.  A thread
 * that waits for what it holds itself is a ring of one.  locks: of lock_ids_new().  Free with g_free().
 */
uint32_t *deadlock_rings_new(const struct profile *p, const uint32_t *locks);

/* Who waits for longer than that as the window ends, ns, does so for ever. */
uint64_t deadlock_long_ns(const struct profile *p);

/* Are all threads and waits of that process in the recording?  And is that a single thread? */
bool deadlock_knows_all(const struct profile *p, uint32_t pid);
bool deadlock_is_alone(const struct profile *p, uint32_t pid);

/* The wait, index + 1, of a process that reads what the wait's own process should write, while that reads from it; 0: none. */
uint32_t deadlock_of_pipes(const struct profile *p, uint32_t wait);

#endif
