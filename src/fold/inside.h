/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef FOLD_INSIDE_H
#define FOLD_INSIDE_H

#include "fold/fold.h"

/* What fold.c, which takes records in, and finish.c, which makes the profile's rows of them, have in common. */

struct fold {
	struct profile *profile;
	struct fold_stacks *stacks;
	struct fold_wakers *wakers;
	struct fold_objects *objects;
	struct fold_targets *targets;
	struct fold_kernel_locks *kernel_locks;
	struct fold_on_cpu *on_cpu;
	GHashTable *threads;	/* tno -> index + 1 */
	struct sums *sums;
	struct fold_traces *traces;
	struct fold_slices *slices;	/* NULL: the window has none */
	struct open_requests *requests;	/* NULL: they are not asked for; borrowed */
	struct fold_services *services;	/* NULL: they are not asked for */
	GArray *open;		/* struct open_wait */
	GArray *throttled;	/* struct blame */
	GArray *owners;		/* uint32_t; of each sum, the first ones first: index of its thread */
	const char *const *park_names;	/* NULL: not known */
	unsigned park_names_cnt;
	bool is_later_window;	/* another one was before */
	uint32_t lost_thread;	/* index + 1 of the row for threads whose account was lost */
};

/* What a thread was waiting in as the window ended. */
struct open_wait {
	uint64_t ustack, kstack, waker, object;
	uint64_t blocked_ns, runnable_ns, preempted_ns;
	uint32_t thread;
	uint8_t state, flags;
};

#endif
