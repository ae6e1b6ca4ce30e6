/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef ANALYSE_HEADLINES_H
#define ANALYSE_HEADLINES_H

#include "analyse/findings.h"

/*
 * Waits summed by who waits and what for: name of the thread, reason, and the headline of the stack (plumbing.h).
 * Stacks that differ only in how the program got there are one row, and the heaviest of them stands for all.
 */
struct headline {
	const char *name;	/* not escaped */
	enum reason reason;
	bool is_idle;
	uint32_t wait;		/* index of the wait with most time: its stacks, object and thread */
	uint32_t stacks_cnt, threads_cnt;
	bool has_several_objects;
	uint64_t off_cpu_ns, blocked_ns, runnable_ns, preempted_ns, count, max_ns;
	uint32_t longest;	/* index + 1 of the wait that max_ns is of; 0: none */
	uint64_t hist[PROFILE_HIST_SLOTS];
};

struct headlines {
	GArray *rows;	/* struct headline, the heaviest first; ties by name, then wait */
	uint64_t sum_ns;
};

/* selection NULL: all waits.  Names belong to f, which must outlive it; samples on CPU are no waits. */
struct headlines *headlines_new(const struct findings *f, const struct selection *selection);
void headlines_free(struct headlines *h);	/* NULL is fine */

#endif
