/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef ANALYSE_ACTIVITY_H
#define ANALYSE_ACTIVITY_H

#include "analyse/reason/reasons.h"
#include "profile/profile.h"

/*
 * Activity of threads in a window by process, thread, reason, object, stack or route: where their time went, and what
 * they waited for longest.  Keys identify a row in the next windows of the same session.
 */

enum activity_by {
	ACTIVITY_BY_PROCESS = 0,
	ACTIVITY_BY_THREAD,
	ACTIVITY_BY_REASON,
	ACTIVITY_BY_OBJECT,
	ACTIVITY_BY_STACK,
	ACTIVITY_BY_ROUTE,
	ACTIVITY_BY_COUNT
};

const char *activity_by_name(enum activity_by by);	/* "process" */
bool activity_by_parse(const char *name, enum activity_by *ret_by);

/* Restricts threads and waits; 0: no restriction. */
struct activity_scope {
	uint32_t pid, tid;
	uint32_t reason;	/* enum reason + 1 */
	uint32_t object;	/* index + 2; 1: waits without an object */
	uint64_t route;		/* word[0] of the key of a row by route; 0: all */
};

struct activity_key {
	uint64_t word[4];
};
guint activity_key_hash(gconstpointer p);
gboolean activity_key_equal(gconstpointer a, gconstpointer b);

struct activity_row {
	struct activity_key key;
	const char *name;	/* not escaped; valid as long as the activity */
	uint32_t pid, tid;	/* 0: several or none */
	uint32_t threads_cnt;
	bool is_kernel;
	uint64_t observed_ns;	/* for rows of waits: the waits' time */
	uint64_t on_cpu_ns, blocked_ns, runnable_ns, preempted_ns;	/* blocked: without idle time */
	uint64_t idle_ns;
	uint64_t unlisted_ns;	/* blocked or idle, but in no listed wait: filtered or lost */
	int64_t residual_ns;
	uint64_t waits;		/* that began in the window */
	uint64_t switches;
	uint64_t hist[PROFILE_HIST_SLOTS];	/* of waits that were not idle; durations within the window */
	uint64_t durations_ns;	/* sum of durations in hist */
	uint64_t max_ns;
	enum reason reason;	/* of most off-CPU time that was not idle; valid if reason_ns is not 0 */
	uint64_t reason_ns;
	uint32_t wait;		/* index + 1 of its longest row of waits for that reason; 0: none */
};

/* Off-CPU time that somebody may want to reduce. */
static inline uint64_t activity_matters_ns(const struct activity_row *r)
{
	return r->blocked_ns + r->runnable_ns + r->preempted_ns;
}
static inline uint64_t activity_queue_ns(const struct activity_row *r)
{
	return r->runnable_ns + r->preempted_ns;
}
/* Percentile of its waits, at most max_ns; 0: none. */
uint64_t activity_percentile_ns(const struct activity_row *r, double share);

struct activity {
	GArray *rows;		/* struct activity_row, unsorted */
	struct activity_row total;	/* of all threads in the scope, independent of rows; name NULL */
	GStringChunk *names;
};

/* scope NULL: everything.  Borrows p and reasons. */
struct activity *activity_new(const struct profile *p, struct reasons *reasons, enum activity_by by,
			      const struct activity_scope *scope);
void activity_free(struct activity *a);	/* NULL is fine */

#endif
