/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef STORE_SHORT_LIVED_H
#define STORE_SHORT_LIVED_H

#include "profile/profile.h"

/*
 * Keeps windows and their sums small where threads come and go.  Threads that ended in the window and lived shorter
 * than it share a row: one per process and name, or one per name and service if their process ended too.  Such a row
 * has tid 0 (and pid 0).  Its times, counts and waits are sums, so totals over all rows stay exact.  Objects and
 * wakers that differ only by such threads are merged too.  Rows that have tid 0 already are accepted, so sums of
 * folded windows can be folded again.
 */

#define SHORT_LIVED_ROWS_MAX 2000 /* rows that stand for several threads; further ones go to one row "(others)" */

struct short_lived_options {
	bool may_fold;			/* false: only remove what is excluded */
	bool even_gone;			/* also fold threads that were not seen up to the end, whenever they began */
	bool even_one;			/* also fold a thread that is the only one of its name */
	/* without it, only threads that began in the window are known to be short-lived */
	bool has_boot_offset;
	uint64_t boot_offset_ns;	/* CLOCK_BOOTTIME - CLOCK_MONOTONIC: threads' starts are since boot */
	/* Whether to drop a thread's name and its waits' stacks, but not its times.  NULL: none. */
	bool (*is_excluded)(const struct thread *t, void *data);
	void *data;
};

/*
 * The folded window, which shares everything but its rows with *window: free it with profile_free_rows() before
 * *window.  It may add objects and wakers there.  It takes the tasks from *window, which need no folding.  NULL: there
 * is nothing to fold.
 */
struct profile *short_lived_fold(struct profile *window, const struct short_lived_options *options);

#endif
