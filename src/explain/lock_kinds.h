/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef EXPLAIN_LOCK_KINDS_H
#define EXPLAIN_LOCK_KINDS_H

#include "explain/findings.h"

/*
 * The stripes of a table, or a channel for each reply, are one thing to people, though each is another lock.  Of each
 * lock (an id of lock_ids_new()) the one that stands for all of its kind and place: of one program, awaited for the same
 * reason in the same function, without a name of their own or with that of one array.  Those that somebody waits for all
 * the time, and those of a deadlock, are kinds of their own.
 *
 * rings: of deadlock_rings_new().  Reads `reasons`, `profile` and `selection` of the findings.  Free with g_free().
 */
uint32_t *lock_kinds_new(const struct findings *f, const uint32_t *locks, const uint32_t *rings);

/* Bytes of the name of the array or structure that the lock is in: "stripes" of "stripes+0x28".  0: it has none. */
size_t lock_array_bytes(const struct object *o);

#endif
