/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef FEATURES_CRITICAL_ANALYSIS_H
#define FEATURES_CRITICAL_ANALYSIS_H

#include "features/waitgraph/analysis.h"

/*
 * The critical path of some threads through the window: where all their time went, and for whom they waited.  Parts
 * form a tree: children of a part add up to it exactly, and the top parts to the observed time.
 */

enum critical_kind {
	CRITICAL_ON_CPU = 0,
	CRITICAL_RUNNABLE,	/* woken, but not running yet */
	CRITICAL_PREEMPTED,
	CRITICAL_WAITING,
	/* children of WAITING */
	/* one actor, perhaps the unknown one; as child of a PLACE: for whom that actor waited meanwhile */
	CRITICAL_FOR,
	CRITICAL_ASLEEP,	/* not ended when the window ended */
	CRITICAL_UNLISTED,	/* filtered, lost, or the error of sampling */
	/* child of the upper FOR */
	CRITICAL_PLACE,		/* waiting at one place until the other actor did one thing */
	/*
	 * children of PLACE or the lower FOR, if chains were recorded: what the other actor did meanwhile (struct
	 * story)
	 */
	CRITICAL_RAN,		/* on CPU since the end of its own last sleep */
	CRITICAL_READY,		/* since then, waiting for a CPU */
	CRITICAL_EARLIER,	/* before that sleep */
	CRITICAL_REST,		/* asleep, and the chain ends here: `end` says why */
	CRITICAL_UNTOLD,	/* no chain was recorded */
	/* top level */
	CRITICAL_RESIDUAL,	/* in none of the others, due to losses */
	CRITICAL_KINDS
};
/* "on_cpu", ...: ids in JSON. */
const char *critical_kind_name(enum critical_kind kind);

struct critical_part {
	uint32_t parent;	/* index of an earlier part; UINT32_MAX: top level */
	enum critical_kind kind;
	enum chain_end end;	/* for REST; else CHAIN_GOES_ON */
	uint32_t actor;		/* FOR, PLACE: who was waited for; RAN to UNTOLD: whose time it is; else UINT32_MAX */
	const char *wait, *waker;	/* for PLACE, as in struct wait_place; else NULL */
	uint64_t count;		/* number of sleeps; 0 if meaningless */
	int64_t ns;		/* negative only for UNLISTED and RESIDUAL */
};

/* What an actor did while it was waited for, on the whole path. */
struct critical_share {
	uint32_t actor;
	uint64_t ns;		/* sum of the following */
	uint64_t ran_ns, ready_ns, earlier_ns, rest_ns;	/* an interrupt has only rest_ns: the time until it came */
};

struct critical {
	struct waitgraph *graph;	/* the graph of the subject's sleeps */
	/* struct critical_part; a part precedes its children; siblings are sorted by kind, then longest first */
	GArray *parts;
	GArray *shares;		/* struct critical_share, longest first; empty if no chains were recorded */
	bool has_chains;
	uint32_t threads_cnt;
	uint32_t single;	/* the subject's thread, if it is a single one, else UINT32_MAX */
	uint64_t observed_ns;
	uint64_t filtered_ns, lost_ns;	/* off-CPU time of the subject that is in no wait, by cause */
	char *name;		/* as given */
	struct selection *selection;	/* the subject's threads and their waits */
};

/*
 * Computes the path of the threads that `subject` names: a tid, else a pid; or a name or glob of names, or the name of
 * an actor.  NULL on error: no such threads.
 */
struct critical *critical_new(const struct profile *p, const char *subject, enum actor_by by, GError **error);
void critical_free(struct critical *c);	/* NULL is fine */

static inline const struct critical_part *critical_get(const struct critical *c, uint32_t i)
{
	return &g_array_index(c->parts, struct critical_part, i);
}

/* The thread that the subject waited for longest, UINT32_MAX: none; *ret_is_own: it belongs to the subject. */
uint32_t critical_next(const struct critical *c, bool *ret_is_own);

/* Shared by the two files that compute a critical path. */

/* Appends children of WAITING that have a waker: FOR, PLACE and, with chains, what the wakers did. */
void critical_append_waiting(struct critical *c, uint32_t waiting);
/* Computes c->shares from the parts. */
void critical_sum_shares(struct critical *c);

#endif
