/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef STORE_SHORT_LIVED_H
#define STORE_SHORT_LIVED_H

#include "profile/profile.h"

/*
 * Keeps windows and their sums small where threads come and go.  Threads that ended in it and lived shorter than it
 * become one row for each process and name; those of processes that ended, too, one for each name and service.  Such a
 * row has tid 0 (and pid 0), and its times, counts and waits are the sums: those over all rows are what they were, to
 * the nanosecond.  What is told apart by such threads alone becomes one, too: the objects that they waited for, and
 * they as wakers.  Rows that have tid 0 already are taken for what they are, so a sum of folded windows is folded
 * again.
 */

#define SHORT_LIVED_ROWS_MAX 2000 /* rows that stand for several threads; what goes beyond has one name: "(others)" */

struct short_lived_options {
	bool may_fold;			/* false: only what is excluded is told anew */
	bool even_gone;			/* also a thread that was not seen up to the end, whenever it began */
	bool even_one;			/* also a thread that is the only one of its name */
	bool has_boot_offset;		/* without, only threads that began in it are known to have lived shorter */
	uint64_t boot_offset_ns;	/* CLOCK_BOOTTIME - CLOCK_MONOTONIC, as threads' starts are since boot */
	/* Is it to have no name, and its waits no stacks?  Its times stay.  NULL: nothing is. */
	bool (*is_excluded)(const struct thread *t, void *data);
	void *data;
};

/*
 * The window told anew, which shares everything but its rows with *window: to be freed by profile_free_rows(), before
 * what *window itself shares is.  It may add objects and wakers there, and takes its tasks, which need no folding.
 * NULL: nothing is to be folded.
 */
struct profile *short_lived_fold(struct profile *window, const struct short_lived_options *options);

#endif
