/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef ANALYSE_TOP_H
#define ANALYSE_TOP_H

#include "analyse/query.h"
#include "analyse/weight.h"
#include "analyse/routes.h"
#include "profile/profile.h"

/*
 * Waits summed by what they have in common, the heaviest first.  Where waits were sampled and rows do
 * not depend on stacks, their times and counts are the threads' exact totals.
 */

enum top_by {
	TOP_BY_LEAF = 0,	/* plumbing.h: the headline */
	TOP_BY_STACK,		/* comm, state, both stacks and lock */
	TOP_BY_THREAD,
	TOP_BY_PROCESS,
	TOP_BY_SERVICE,		/* what threads belong to */
	TOP_BY_POD,		/* the same, of pods alone, without their containers */
	TOP_BY_CONTAINER,
	TOP_BY_UNIT,		/* of systemd */
	TOP_BY_COMM,
	TOP_BY_STATE,
	TOP_BY_SYSCALL,
	TOP_BY_OBJECT,		/* objects.h */
	/* reasons.h: blocked time by what it waited for, and all waits for a CPU in a row of their own */
	TOP_BY_REASON,
	TOP_BY_ROUTE,		/* routes.h */
	TOP_BY_COUNT
};

const char *top_by_name(enum top_by by);	/* "leaf" */
const char *top_by_names(void);			/* "leaf, stack, ..." for messages */
bool top_by_parse(const char *name, enum top_by *ret_by);
/* The attribute that "attribute:rpc.service" names; NULL: it names none. */
const char *top_by_attribute(const char *name);

struct top_row {
	const char *name;	/* what they share; for stacks the headline name.  Not escaped */
	uint64_t weight;	/* of the waits, in the unit asked for */
	uint64_t off_cpu_ns, blocked_ns, runnable_ns, preempted_ns, on_cpu_ns;
	uint64_t count;
	uint64_t samples;	/* that on_cpu_ns is known by */
	double off_cpu_se_ns, count_se;	/* errors of off_cpu_ns and count, of sampling; 0: exact */
	uint64_t max_ns;	/* 0: not known, as of a run queue */
	uint32_t longest;	/* index + 1 of the wait that max_ns is of; 0: none */
	uint64_t hist[PROFILE_HIST_SLOTS];	/* empty: not known */
	uint64_t durations_ns;	/* the sum of what hist holds: of whole waits */
	uint32_t thread;	/* index of the first thread met */
	uint32_t threads_cnt, processes_cnt;	/* of the waits; only for stacks, else 0 */
	uint32_t user, kernel;	/* the stacks; only for stacks, else 0 */
	uint32_t object;	/* index + 1; only for stacks; 0: none */
	int64_t user_parent;	/* frame to point at, -1: none; only for stacks */
	uint8_t state;		/* only for stacks and states, else 0 */
	uint8_t reason;		/* enum reason; only for reasons */
};

struct top {
	enum top_by by;
	const char *attribute;	/* of TOP_BY_ROUTE: rows are its values; NULL: they are routes */
	enum weight weight;
	GArray *rows;		/* struct top_row; ties by name, then ids: always the same order */
	uint64_t sum;		/* weight of all rows */
	const char *rows_are;	/* see struct profile_info */
	bool is_exact;		/* no weight is an estimate */
	bool sums_on_cpu;	/* each row has all samples of its threads, or none: their sum is exact */
	/*
	 * What 100 % is: for a weight in time, the time of that kind of the selected threads'
	 * accounts, so that shares of listed, filtered and lost time add up; for events, and without idle time, `sum`.
	 */
	uint64_t whole;
	bool without_idle;	/* see struct selection */
	/* private */
	struct reasons *reasons;
	struct plumbing *plumbing;
	struct routes *routes;	/* NULL: none are known, or not asked for */
	uint32_t *locks;	/* see lock_ids_new() */
	GStringChunk *strings;
};

/* `selection` NULL: all.  Borrows from p, which must outlive the result. */
struct top *top_new(const struct profile *p, const struct selection *selection, enum top_by by,
		    enum weight weight);
/* The same of the profile of another one, which may be freed first: what that has found out of stacks is kept. */
struct top *top_new_beside(const struct top *other, const struct profile *p, const struct selection *selection,
			   enum top_by by, enum weight weight);
/* By the values of an attribute of trace contexts, which must outlive the result. */
struct top *top_new_of(const struct profile *p, const struct selection *selection, const char *attribute,
		       enum weight weight);
void top_free(struct top *t);
/* "route", "rpc.service": what rows share. */
const char *top_title(const struct top *t);

/* weight / whole in percent; 0 of nothing. */
double top_percent(const struct top *t, uint64_t weight);

#endif
