/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef ANALYSE_ACCOUNTS_H
#define ANALYSE_ACCOUNTS_H

#include "analyse/query.h"
#include "profile/profile.h"

/* Where each process's time went, and how much of it is known (docs/semantics.md, "Coverage"). */

/* A process running one program: the sum of its threads. */
struct account_row {
	uint32_t pid;
	const char *process;
	uint64_t threads_cnt;
	uint64_t observed_ns, on_cpu_ns, blocked_ns, runnable_ns, preempted_ns, off_cpu_ns;
	uint64_t filtered_ns, lost_ns, switches;
	uint64_t throttled_ns;		/* part of runnable and preempted: the cgroup's CPU quota was used up */
	int64_t residual_ns;		/* negative if time was counted twice */
	uint64_t residual_abs_ns;	/* sum of the threads' absolute residuals, which cannot cancel out */
};

struct accounts {
	GArray *rows;	/* struct account_row, most off-CPU first, then by name and pid */
	struct account_row total;	/* pid 0, process NULL */
};

/* Accounts of the selected threads; `selection` NULL: all. */
struct accounts *accounts_new(const struct profile *p, const struct selection *selection);
void accounts_free(struct accounts *a);

struct coverage {
	uint64_t waits_cnt;		/* events, of the selected threads */
	uint64_t listed_ns;		/* off-CPU time in listed waits */
	double listed_se_ns;		/* its standard error, due to sampling */
	uint64_t stacks_ns[STACK_END_COUNT];	/* listed_ns by how the user stack ended */
	/* listed_ns of waits open at an edge; a wait open at both counts in both */
	uint64_t open_start_ns, open_end_ns;
	uint64_t open_start_cnt, open_end_cnt;
	uint64_t selected_ns;		/* listed_ns of the selected waits */
	uint64_t lost_cnt;		/* sum over all reasons except sampling */
};

void coverage_of(const struct profile *p, const struct selection *selection, struct coverage *ret_coverage);

/* How the user stack of a wait ended; STACK_NONE for kernel threads and if user stacks were not recorded. */
enum stack_end coverage_stack_end(const struct profile *p, const struct wait *w);

#endif
