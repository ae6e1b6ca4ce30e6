/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef ANALYSE_WAIT_GROUPS_H
#define ANALYSE_WAIT_GROUPS_H

#include "analyse/query.h"
#include "analyse/reason/reasons.h"

/*
 * Waits summed by who waits for what: thread name, reason, and headline of the stack (plumbing.h).  Stacks that differ
 * only in how the program got there share a row, which is represented by the heaviest.
 */
struct wait_group {
	const char *name;	/* not escaped */
	enum reason reason;
	bool is_idle;
	uint32_t wait;		/* index of the longest wait, which has the row's stacks, object and thread */
	uint32_t stacks_cnt, threads_cnt;
	bool has_several_objects;
	uint64_t off_cpu_ns, blocked_ns, runnable_ns, preempted_ns, count, max_ns;
	uint32_t longest;	/* index + 1 of the wait with max_ns; 0: none */
	uint64_t hist[PROFILE_HIST_SLOTS];
};

struct wait_groups {
	GArray *rows;	/* struct wait_group, heaviest first, then by name and wait */
	uint64_t sum_ns;
};

/* selection NULL: all waits.  Names belong to `reasons`, which must outlive it.  On-CPU samples are not waits. */
struct wait_groups *wait_groups_new(const struct profile *p, struct reasons *reasons,
				    const struct selection *selection);
void wait_groups_free(struct wait_groups *h);	/* NULL is fine */

#endif
