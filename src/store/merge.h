/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef STORE_MERGE_H
#define STORE_MERGE_H

#include "profile/profile.h"

/*
 * Windows one behind the other, as one profile: exactly what one longer window of the same events would hold
 * (docs/semantics.md, "Cuts").  Times add up to the nanosecond.  A wait that was split where one window ends and the
 * next begins is one wait again, of its whole length, counted once.
 *
 * Where time was not observed between two windows, the second one is moved up to the end of the first: duration_ns is
 * the time that was observed, and a thread that lived on both sides is one row.  Its wait stays open at that edge.
 */
struct merger;

struct merger *merge_new(void);
/*
 * The same, but the sum has all but its rows in common with `with`, as windows of one session have: to be freed by
 * profile_free_rows().
 */
struct merger *merge_new_rows(struct profile *with);
void merge_free(struct merger *m);	/* NULL is fine */
/* What it is made into, with nothing but frames, stacks, objects and wakers before merge_end(): for rows to share. */
struct profile *merge_profile(struct merger *m);
/*
 * The next window, by time; it may share all but its rows with merge_profile().  False with a sentence: there are too
 * many rows. Slices are of one window, and are left out.  Of a sleep that was split chains tell the last part; the
 * rest is told as what the last waker did earlier.
 */
bool merge_add(struct merger *m, const struct profile *window, GError **error);
/* The caller's own; m is freed.  NULL where nothing was added. */
struct profile *merge_end(struct merger *m);

/*
 * The window as a profile of its own, with the frames, stacks, objects and wakers that it needs alone: a session has
 * known many more for long. NULL with a sentence: it is too much.
 */
struct profile *merge_copy(const struct profile *window, GError **error);
/*
 * The same, but of where a thread was preempted only that many stacks are told apart, those of most time: a thread
 * that is on a CPU all the time is preempted anywhere, so half of all rows would be of that.  Behind the first one
 * each has an eighth of the thread's.  The others are one row, exact in all but the stack.  Of who held the CPU
 * meanwhile four programs of each thread are told apart, the others are BLAME_OTHERS_NAME.
 */
#define MERGE_TOLD_PART 8
#define MERGE_COARSE_NAME "[preempted elsewhere]"
struct profile *merge_coarse(const struct profile *window, unsigned preempted_stacks, GError **error);

#endif
