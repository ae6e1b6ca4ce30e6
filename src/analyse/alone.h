/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef ANALYSE_ALONE_H
#define ANALYSE_ALONE_H

#include "analyse/reason/reasons.h"

/*
 * A command whose processes work beside each other at one time, and wait for one of them at another: where its wall time
 * went.  A process works while a thread of it runs, wants a CPU, or waits for anything but its children, other threads of
 * the command, or work.  What it starts and waits for works for it, so a chain (make, sh, perl) is one.
 */
struct alone {
	uint32_t thread;	/* whom the command waited for: the last program of its first thread */
	uint32_t parent;	/* the same of the process whose children work beside each other at other times */
	uint64_t alone_ns;	/* nothing else of the command worked */
	uint64_t whole_ns;	/* how long the command took */
	uint32_t siblings_cnt;	/* other children of the parent that worked beside it first; 0: a serial step */
	bool have_ended;	/* these, before it did; else they had no work */
	uint32_t at_once;	/* so many children of the parent worked at once, at most */
	bool *threads;		/* of the profile: its own, and those of what it started */
	bool *passive;		/* of each wait: for others of the command, or for work */
};

/*
 * The process that was waited for alone for longest.  NULL: there is none, it is no recording of a command from start to
 * end, or that is not known by slices.
 */
struct alone *alone_new(const struct profile *p, struct reasons *reasons);
void alone_free(struct alone *a);	/* NULL is fine */

#endif
