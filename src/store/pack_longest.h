/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef STORE_PACK_LONGEST_H
#define STORE_PACK_LONGEST_H

#include "base/cursor.h"
#include "profile/profile.h"

/*
 * When the longest waits began and who ended them.  Of each stack of a process the longest wait of the window is
 * written, from 1 ms on, to the millisecond.  A single wait at an edge of the window needs no bytes: it begins or ends
 * there.  The waker of a single wait is its only one.
 */

/* waits, wakes: struct pack_row, as they were written. */
void pack_longest(const struct profile *p, const GArray *waits, const GArray *wakes, GByteArray *into);
/* The rows of p are in that order.  False: these are no such bytes. */
bool unpack_longest(struct profile *p, struct cursor *c);
/* What needs no bytes, also of windows that were written without the others. */
void unpack_longest_at_edges(struct profile *p);

#endif
