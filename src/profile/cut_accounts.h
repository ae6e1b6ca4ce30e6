/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef PROFILE_CUT_ACCOUNTS_H
#define PROFILE_CUT_ACCOUNTS_H

#include "features/slices/rows_build.h"

/*
 * The accounts of threads in a range of the window. Listed waits are known slice by slice. All other time of a thread
 * (on CPU, filtered, lost, residual, the difference to sampled waits) is spread evenly over the time without listed
 * waits. In an exact recording without filters that is no estimate, because all such time is on CPU. The shares of
 * adjoining ranges add up.
 */
struct cut_accounts;

/*
 * p is the whole profile and must outlive the result. The range counts from the window's start. Replaces p's threads
 * by those of the range, in the same order.
 */
struct cut_accounts *cut_accounts_new(struct profile *p, uint64_t from_ns, uint64_t to_ns);
void cut_accounts_free(struct cut_accounts *a);
/* The thread's index in the range. False: the thread did not live then. */
bool cut_accounts_thread(const struct cut_accounts *a, uint32_t old_thread, uint32_t *ret_thread);
/*
 * Called for each cell of a wait of that thread. A crossing wait began at start_ns; other cells lie anywhere in their
 * slice from start_ns on.
 */
void cut_accounts_cell(struct cut_accounts *a, const struct profile *old, uint32_t old_thread,
		       const struct slice_cell *cell, uint64_t start_ns);
/* Called when p's waits are those of the range: replaces its threads and states. True: some accounts are estimates. */
bool cut_accounts_apply(struct cut_accounts *a, const GArray *old_waits);

#endif
