/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef ANALYSE_TOP_H
#define ANALYSE_TOP_H

#include "analyse/query.h"
#include "analyse/weight.h"
#include "analyse/routes.h"
#include "profile/profile.h"

/*
 * Waits summed by a common property, largest first.  If waits were sampled and rows do not depend on stacks, times and
 * counts are the threads' exact totals.
 */

enum top_by {
	TOP_BY_LEAF = 0,	/* plumbing.h: the headline */
	TOP_BY_STACK,		/* comm, state, both stacks and lock */
	TOP_BY_THREAD,
	TOP_BY_PROCESS,
	TOP_BY_SERVICE,		/* what threads belong to */
	TOP_BY_POD,		/* the same, only for pods, without containers */
	TOP_BY_CONTAINER,
	TOP_BY_UNIT,		/* of systemd */
	TOP_BY_COMM,
	TOP_BY_STATE,
	TOP_BY_SYSCALL,
	TOP_BY_OBJECT,		/* objects.h */
	/* reasons.h: blocked time by what it waited for; run-queue time in a row of its own */
	TOP_BY_REASON,
	TOP_BY_ROUTE,		/* routes.h */
	TOP_BY_COUNT
};

const char *top_by_name(enum top_by by);	/* "leaf" */
const char *top_by_names(void);			/* "leaf, stack, ..." for messages */
bool top_by_parse(const char *name, enum top_by *ret_by);
/* The attribute in "attribute:rpc.service"; NULL: not of that form. */
const char *top_by_attribute(const char *name);

struct top_row {
	const char *name;	/* the common property; for stacks the headline.  Not escaped */
	uint64_t weight;	/* of the waits, in the requested unit */
	uint64_t off_cpu_ns, blocked_ns, runnable_ns, preempted_ns, on_cpu_ns;
	uint64_t count;
	uint64_t samples;	/* on which on_cpu_ns is based */
	double off_cpu_se_ns, count_se;	/* standard errors of off_cpu_ns and count, due to sampling; 0: exact */
	uint64_t max_ns;	/* 0: unknown, as for a run queue */
	uint32_t longest;	/* index + 1 of the wait with max_ns; 0: none */
	const uint64_t *hist;	/* PROFILE_HIST_SLOTS; all 0: unknown */
	uint64_t durations_ns;	/* sum of the durations in hist: of whole waits */
	uint32_t thread;	/* index of its first thread */
	uint32_t threads_cnt, processes_cnt;	/* of the waits; only for stacks, else 0 */
	uint32_t user, kernel;	/* the stacks; only for stacks, else 0 */
	uint32_t object;	/* index + 1; only for stacks; 0: none */
	int64_t user_parent;	/* frame to highlight, -1: none; only for stacks */
	uint8_t state;		/* only for stacks and states, else 0 */
	uint8_t reason;		/* enum reason; only for reasons */
};

struct top {
	enum top_by by;
	const char *attribute;	/* with TOP_BY_ROUTE: rows are its values; NULL: routes */
	enum weight weight;
	GArray *rows;		/* struct top_row; ties are broken by name, then ids, so the order is deterministic */
	uint64_t sum;		/* total weight of all rows */
	const char *rows_are;	/* see struct profile_info */
	bool is_exact;		/* no weight is an estimate */
	bool sums_on_cpu;	/* each row has either all or none of its threads' samples, so that sums are exact */
	/*
	 * 100 %: for a weight in time, the time of that kind in the selected threads' accounts, so that listed,
	 * filtered and lost shares add up; for events, and without idle time, `sum`.
	 */
	uint64_t whole;
	bool without_idle;	/* see struct selection */
	/* private */
	struct reasons *reasons;
	struct plumbing *plumbing;
	struct routes *routes;	/* NULL: none, or not requested */
	uint32_t *locks;	/* see lock_ids_new() */
	GStringChunk *strings;
};

/* `selection` NULL: all.  Borrows from p, which must outlive the result. */
struct top *top_new(const struct profile *p, const struct selection *selection, enum top_by by,
		    enum weight weight);
/* Like top_new(), but reuses the stack classification of `other`.  `other` may be freed first. */
struct top *top_new_beside(const struct top *other, const struct profile *p, const struct selection *selection,
			   enum top_by by, enum weight weight);
/* By values of an attribute of trace contexts; the text must outlive the result. */
struct top *top_new_of(const struct profile *p, const struct selection *selection, const char *attribute,
		       enum weight weight);
void top_free(struct top *t);
/* "route", "rpc.service": the common property. */
const char *top_title(const struct top *t);

/* weight / whole in percent; 0 if whole is 0. */
double top_percent(const struct top *t, uint64_t weight);

#endif
