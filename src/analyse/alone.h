/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef ANALYSE_ALONE_H
#define ANALYSE_ALONE_H

#include "analyse/reason/reasons.h"

/*
 * A command whose processes first work in parallel, and then wait for a single one: where the wall time went.  A
 * process works while one of its threads is on CPU, in the run queue, or waiting for anything but its children, other
 * threads of the command, or work.  Children that it waits for work for it, so a chain (make, sh, perl) counts as one.
 */
struct alone {
	uint32_t thread;	/* what the command waited for: last program of the process's first thread */
	uint32_t parent;	/* the same for the parent of the parallel processes */
	uint64_t alone_ns;	/* time in which nothing else of the command worked */
	uint64_t whole_ns;	/* the command's duration */
	uint32_t siblings_cnt;	/* siblings that worked in parallel with it before; 0: a serial step */
	bool have_ended;	/* the siblings had ended; else they had no work */
	uint32_t at_once;	/* maximum number of the parent's children that worked at once */
	bool *threads;		/* by thread of the profile: belongs to it or its descendants */
	bool *passive;		/* by wait: for others of the command, or for work */
};

/*
 * The process that was waited for alone for longest.  NULL: there is none, the recording does not cover a whole
 * command, or there are no slices.
 */
struct alone *alone_new(const struct profile *p, struct reasons *reasons);
void alone_free(struct alone *a);	/* NULL is fine */

#endif
