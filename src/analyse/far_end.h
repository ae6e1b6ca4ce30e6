/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef ANALYSE_FAR_END_H
#define ANALYSE_FAR_END_H

#include "profile/profile.h"

/*
 * Who answers at the other end of a socket, where that is a thread of this recording.  A packet's receiver is woken by
 * whoever handles the packet.  On one machine that mostly is who sent it, but also an interrupt, or a thread of the kernel's,
 * which only carry it.  Then the two ends tell: objects name the process at the other end, and its threads wait for sockets
 * with this one at theirs.
 */
struct far_ends;

/* Borrows from p, and the thread of each waker (actors_threads_of_wakers()). */
struct far_ends *far_ends_new(const struct profile *p, const uint32_t *threads_of_wakers);
void far_ends_free(struct far_ends *f);	/* NULL is fine */

/* The thread that answers what the wait is for; UINT32_MAX: not known, as it may be one of several. */
uint32_t far_ends_thread(struct far_ends *f, uint32_t wait);
/* The same if that waker only carries packets. */
uint32_t far_ends_behind(struct far_ends *f, uint32_t wait, uint32_t waker);

#endif
