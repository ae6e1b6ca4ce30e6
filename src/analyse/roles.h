/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef ANALYSE_ROLES_H
#define ANALYSE_ROLES_H

#include "profile/profile.h"

/*
 * Groups threads of one name that do the same: connection threads, workers of a pool, log writers.
 *
 * A thread's role is how its stacks begin.  Threads with the same process and thread name follow the tree of their
 * user stacks from the outermost frame, as long as all continue to the same child.  Where groups continue to different
 * children, and no thread to both, they become different roles.  A child counts for a thread with at least a tenth of
 * the thread's sleep.  Truncated or broken stacks have no beginning.  Threads with only such stacks are assigned by
 * the function in which they sleep longest: to the only role of their name that sleeps there, or else to a role of
 * their own.  Kernel threads have one role per name without the CPU's number: "ksoftirqd/0" is "ksoftirqd/N".
 */
struct plumbing;

#define ROLE_DEPTH_MAX 24	/* maximum number of outermost frames used */

struct role {
	const char *comm, *process;	/* for kernel threads both are the name for all CPUs */
	/*
	 * stack node at which all its stacks begin; without a beginning the longest sleep of its first thread; 0:
	 * nothing in common
	 */
	uint32_t trunk;
	uint32_t first_thread, threads_cnt;
	bool is_kernel;
};

struct roles {
	GArray *rows;		/* struct role, by their first thread */
	uint32_t *of_thread;	/* by thread: index of its role */
	struct strset *names;
};

/* plumbing: of p; NULL: makes its own. */
struct roles *roles_new(const struct profile *p, struct plumbing *plumbing);
void roles_free(struct roles *r);	/* NULL is fine */

/* A kernel thread's name for all CPUs, with a star instead of the number; free with g_free(). */
char *role_kernel_name(const char *comm);

#endif
