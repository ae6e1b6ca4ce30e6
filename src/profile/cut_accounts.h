/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef PROFILE_CUT_ACCOUNTS_H
#define PROFILE_CUT_ACCOUNTS_H

#include "features/slices/rows_build.h"

/*
 * The accounts of threads in a range of the window.  What waits list is known slice by slice.  All else of a thread
 * (on CPU, filtered, lost, residual, the difference to sampled waits) lies in the time that its listed waits leave
 * free, and is shared out evenly there.  Where waits list everything but the time on CPU, as in an exact recording
 * without filters, that is no estimate: on CPU is what is free.  The shares of adjoining ranges add up.
 */
struct cut_accounts;

/*
 * Of the whole profile, which outlives it; the range is since the window's start.  Takes the threads of the range,
 * in the same order.
 */
struct cut_accounts *cut_accounts_new(struct profile *p, uint64_t from_ns, uint64_t to_ns);
void cut_accounts_free(struct cut_accounts *a);
/* The thread's index in the range; false: it did not live then. */
bool cut_accounts_thread(const struct cut_accounts *a, uint32_t old_thread, uint32_t *ret_thread);
/*
 * Each cell there is, of a wait of that thread of the profile as it was; a crossing one began at start_ns, one that
 * is not anywhere in its slice from there on.
 */
void cut_accounts_cell(struct cut_accounts *a, const struct profile *old, uint32_t old_thread,
		       const struct slice_cell *cell, uint64_t start_ns);
/*
 * The waits of p are those of the range: puts its threads and states in place.  old: the waits before that.  True:
 * some of it is an estimate.
 */
bool cut_accounts_apply(struct cut_accounts *a, const GArray *old_waits);

#endif
