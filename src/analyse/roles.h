/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef ANALYSE_ROLES_H
#define ANALYSE_ROLES_H

#include "profile/profile.h"

/*
 * Threads of one name that do the same: connection threads, workers of a pool, log writers.
 *
 * A thread's role is how its stacks begin.  The threads of one process name and thread name walk down the tree of
 * their user stacks together, from the outermost frame, as long as all go the same way.  Where some go one way and
 * others another, and none goes both, they part. A way counts for a thread if a tenth of its time asleep went there.
 * Stacks that were cut off or broken have no beginning; threads that have no others go by the function that they sleep
 * in longest: with the one role of their name that has threads sleeping there, or else together.  Kernel threads are
 * of one role by name, the number of a CPU left out: "ksoftirqd/0" is "ksoftirqd/N".
 */
struct plumbing;

#define ROLE_DEPTH_MAX 24	/* frames from the outermost that are looked at */

struct role {
	const char *comm, *process;	/* of a kernel thread its name for all CPUs, twice */
	uint32_t trunk; /* stack node: how all its stacks begin, or, if they have no beginning, the longest sleep of the
				 * first thread; 0: they have nothing in common */
	uint32_t first_thread, threads_cnt;
	bool is_kernel;
};

struct roles {
	GArray *rows;		/* struct role, by their first thread */
	uint32_t *of_thread;	/* index of each thread's */
	struct strset *names;
};

/* plumbing: of p; NULL: its own. */
struct roles *roles_new(const struct profile *p, struct plumbing *plumbing);
void roles_free(struct roles *r);	/* NULL is fine */

/* One name for the threads of all CPUs, with a star in place of the number; free with g_free(). */
char *role_kernel_name(const char *comm);

#endif
