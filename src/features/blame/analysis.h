/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef FEATURES_BLAME_ANALYSIS_H
#define FEATURES_BLAME_ANALYSIS_H

#include "analyse/query.h"
#include "profile/profile.h"

/* Who held the CPU while threads were in its run queue. */

#define BLAME_UNKNOWN 0	/* extends enum blame_kind: time that no row accounts for */

/* Threads of one name. */
struct blame_row {
	const char *sufferer;	/* NULL: all */
	const char *culprit;	/* comm; "" unless kind is BLAME_THREAD */
	uint8_t kind;		/* enum blame_kind, BLAME_UNKNOWN */
	uint64_t count;
	uint64_t runnable_ns, preempted_ns;
};
static inline uint64_t blame_row_ns(const struct blame_row *r) { return r->runnable_ns + r->preempted_ns; }

/*
 * For each thread the part of its runnable and preempted time due to cgroups' CPU quotas; known in every recording.
 * Free with g_free().
 */
uint64_t *throttled_by_thread(const struct profile *p);

/* Times of `culprits`, and of `pairs`, add up to exactly runnable_ns and preempted_ns. */
struct blame_table {
	GArray *culprits;	/* struct blame_row, longest first, then by name */
	GArray *pairs;		/* the same for each sufferer */
	uint64_t runnable_ns, preempted_ns;	/* of the selected threads */
	uint64_t own_ns, others_ns;	/* of these times: behind threads of the same process, of other processes */
};

/* selection NULL: everything.  Borrows from p. */
struct blame_table *blame_table_new(const struct profile *p, const struct selection *selection);
void blame_table_free(struct blame_table *t);	/* NULL is fine */

/* The part of each thread's delays without a culprit; one per thread, free with g_free(). */
struct blame_rest {
	uint64_t runnable_ns, preempted_ns;
};
struct blame_rest *blame_rests_new(const struct profile *p);

/* "thread", "idle", "throttled", "unknown": ids in JSON. */
const char *blame_kind_id(uint8_t kind);
/* "mysqld", "[idle]", "[throttled]", "[unknown]" */
const char *blame_name(uint8_t kind, const char *comm);

#endif
