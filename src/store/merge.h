/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef STORE_MERGE_H
#define STORE_MERGE_H

#include "profile/profile.h"

/*
 * Adds consecutive windows up to one profile: exactly what one longer window of the same events would hold
 * (docs/semantics.md, "Cuts").  Times add up to the nanosecond.  A wait that was split at a cut becomes one wait of
 * its whole length, counted once.
 *
 * A gap between two windows is removed: the second one is moved to the end of the first.  duration_ns is the observed
 * time, and a thread that lived on both sides is one row.  Its wait stays open at that edge.
 */
struct merger;

struct merger *merge_new(void);
/*
 * Like merge_new(), but the sum shares all but its rows with `with`, as windows of one session do: free it with
 * profile_free_rows().
 */
struct merger *merge_new_rows(struct profile *with);
void merge_free(struct merger *m);	/* NULL is fine */
/*
 * The sum under construction.  Before merge_end() only its frames, stacks, objects and wakers are valid, for rows to
 * share.
 */
struct profile *merge_profile(struct merger *m);
/*
 * Adds the next window in time.  It may share all but its rows with merge_profile().  False on error: too many rows.
 * Slices are left out, since they belong to one window.  Chains of a sleep that was split explain its last part; the
 * rest is *earlier* of the last waker.
 */
bool merge_add(struct merger *m, const struct profile *window, GError **error);
/* Returns the sum and frees m.  NULL if nothing was added. */
struct profile *merge_end(struct merger *m);

/*
 * Copies the window with only the frames, stacks, objects and wakers that it needs: a session collects many more over
 * time.  NULL on error: too large.
 */
struct profile *merge_copy(const struct profile *window, GError **error);
/*
 * Like merge_copy(), but keeps at most `preempted_stacks` stacks per thread where it was preempted, those with most
 * time.  A thread that is always on CPU is preempted anywhere, which would be half of all rows.  All but the first
 * need an eighth of the thread's time.  The others are merged into one row, exact but for the stack.  Of those who
 * held the CPU meanwhile, four programs per thread are kept; the others are BLAME_OTHERS_NAME.
 */
#define MERGE_TOLD_PART 8
#define MERGE_COARSE_NAME "[preempted elsewhere]"
struct profile *merge_coarse(const struct profile *window, unsigned preempted_stacks, GError **error);

#endif
