/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef FEATURES_CRITICAL_ANALYSIS_H
#define FEATURES_CRITICAL_ANALYSIS_H

#include "features/waitgraph/analysis.h"

/*
 * The critical path of some threads through the window: where all of their time went, and for
 * whom they waited.  Parts form a tree; those directly below one sum to it exactly, and those at the top to the
 * observed time.
 */

enum critical_kind {
	CRITICAL_ON_CPU = 0,
	CRITICAL_RUNNABLE,	/* woken, without a CPU yet */
	CRITICAL_PREEMPTED,
	CRITICAL_WAITING,
	/* below WAITING */
	/* one actor, perhaps the unknown one; below a PLACE: for whom that one waited meanwhile */
	CRITICAL_FOR,
	CRITICAL_ASLEEP,	/* nobody had ended it when the window ended */
	CRITICAL_UNLISTED,	/* filtered, lost, or more or less than sampling says */
	/* below the upper FOR */
	CRITICAL_PLACE,		/* at one place, until the other did one thing */
	/* below PLACE or the lower FOR, where chains were recorded: what the other did meanwhile (struct story) */
	CRITICAL_RAN,		/* from the end of its own last sleep on */
	CRITICAL_READY,		/* from there on, without a CPU */
	CRITICAL_EARLIER,	/* before that sleep */
	CRITICAL_REST,		/* asleep, and the chain goes no further: `end` says why */
	CRITICAL_UNTOLD,	/* no chain was recorded */
	/* at the top again */
	CRITICAL_RESIDUAL,	/* in none of them: losses */
	CRITICAL_KINDS
};
/* "on_cpu", ...: for machines. */
const char *critical_kind_name(enum critical_kind kind);

struct critical_part {
	uint32_t parent;	/* index of a part before it; UINT32_MAX: at the top */
	enum critical_kind kind;
	enum chain_end end;	/* REST; else CHAIN_GOES_ON */
	uint32_t actor;		/* FOR, PLACE: who was waited for; RAN to UNTOLD: who did that; else UINT32_MAX */
	const char *wait, *waker;	/* PLACE: as in struct wait_place; else NULL */
	uint64_t count;		/* of sleeps; 0 where that is no matter */
	int64_t ns;		/* below 0 only of UNLISTED and RESIDUAL */
};

/* What one actor did while it was waited for, over all of the path. */
struct critical_share {
	uint32_t actor;
	uint64_t ns;		/* all of it */
	uint64_t ran_ns, ready_ns, earlier_ns, rest_ns;	/* an interrupt's is rest_ns: until it came */
};

struct critical {
	struct waitgraph *graph;	/* of the subject's sleeps */
	GArray *parts;		/* struct critical_part; a part stands before those below it, siblings by kind, then
				 * the longest first */
	GArray *shares;		/* struct critical_share, the longest first; empty where no chains were recorded */
	bool has_chains;
	uint32_t threads_cnt;
	uint32_t single;	/* the subject's thread if it is but one, else UINT32_MAX */
	uint64_t observed_ns;
	uint64_t filtered_ns, lost_ns;	/* off-CPU time of the subject that no wait lists, and why */
	char *name;		/* as asked for */
	struct selection *selection;	/* the subject's threads and their waits */
};

/*
 * Of the threads that `subject` names: a number is a thread id, or else a process id; another text is
 * a name or a glob of names, or the name of an actor of that grouping.  NULL with a sentence where nobody is meant.
 */
struct critical *critical_new(const struct profile *p, const char *subject, enum actor_by by, GError **error);
void critical_free(struct critical *c);	/* NULL is fine */

static inline const struct critical_part *critical_get(const struct critical *c, uint32_t i)
{
	return &g_array_index(c->parts, struct critical_part, i);
}

/*
 * The recorded threads that the subject waited for longest, UINT32_MAX: none; *ret_is_own when
 * the subject is of them, or is they.
 */
uint32_t critical_next(const struct critical *c, bool *ret_is_own);

/* Between the two files that make a critical path. */

/* Appends the parts below WAITING that have a waker: FOR, PLACE and, with chains, what those did. */
void critical_append_waiting(struct critical *c, uint32_t waiting);
/* Fills c->shares from the parts. */
void critical_sum_shares(struct critical *c);

#endif
