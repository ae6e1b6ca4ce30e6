/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef FEATURES_BLAME_ANALYSIS_H
#define FEATURES_BLAME_ANALYSIS_H

#include "analyse/query.h"
#include "profile/profile.h"

/* Who held the CPU while threads stood in its queue. */

#define BLAME_UNKNOWN 0	/* beside enum blame_kind: what no row takes */

/* Of all threads of one name. */
struct blame_row {
	const char *sufferer;	/* NULL: of all */
	const char *culprit;	/* comm; "" unless kind is BLAME_THREAD */
	uint8_t kind;		/* enum blame_kind, BLAME_UNKNOWN */
	uint64_t count;
	uint64_t runnable_ns, preempted_ns;
};
static inline uint64_t blame_row_ns(const struct blame_row *r) { return r->runnable_ns + r->preempted_ns; }

/*
 * Of each thread's runnable and preempted time what cgroups' CPU quotas took, by index; known of every recording.
 * Free with g_free().
 */
uint64_t *throttled_by_thread(const struct profile *p);

/* The times of its rows, of `culprits` as well as of `pairs`, are runnable_ns and preempted_ns exactly. */
struct blame_table {
	GArray *culprits;	/* struct blame_row, the longest first; ties by name */
	GArray *pairs;		/* the same, for each sufferer by itself */
	uint64_t runnable_ns, preempted_ns;	/* of the selected threads */
	uint64_t own_ns, others_ns;	/* of that: behind threads of their own process, of other ones */
};

/* selection NULL: everything.  Borrows from p. */
struct blame_table *blame_table_new(const struct profile *p, const struct selection *selection);
void blame_table_free(struct blame_table *t);	/* NULL is fine */

/* What of each thread's delays nobody is blamed for; free with g_free(), one per thread. */
struct blame_rest {
	uint64_t runnable_ns, preempted_ns;
};
struct blame_rest *blame_rests_new(const struct profile *p);

/* "thread", "idle", "throttled", "unknown", for programs */
const char *blame_kind_id(uint8_t kind);
/* "mysqld", "[idle]", "[throttled]", "[unknown]" */
const char *blame_name(uint8_t kind, const char *comm);

#endif
