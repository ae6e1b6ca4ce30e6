/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef FEATURES_WAKERS_ANALYSIS_CHAINS_H
#define FEATURES_WAKERS_ANALYSIS_CHAINS_H

#include "analyse/actors.h"
#include "analyse/query.h"
#include "profile/profile.h"

/* Chains of wakers: who did what while a thread waited. */

/* The stories of each wake: order[first[k]] up to order[first[k + 1] - 1] are indexes of stories. */
struct stories_by_wake {
	uint32_t *first;	/* number of wakes + 1 */
	uint32_t *order;
};
struct stories_by_wake *stories_by_wake_new(const struct profile *p);
void stories_by_wake_free(struct stories_by_wake *by);	/* NULL is fine */

/* The part of a wake without a story: in a history, windows without chains may be mixed with others. */
struct wake stories_rest(const struct profile *p, const struct stories_by_wake *by, uint32_t wake);
#define CHAIN_NOT_RECORDED "[chain not recorded]"

/* The chain's wakers, nearest first, in ret_wakers[PROFILE_CHAIN_MAX]; returns their number. *ret_last: last node. */
unsigned chain_wakers(const struct profile *p, uint32_t chain, const struct waker **ret_wakers,
		      const struct chain_node **ret_last);

/* Why a chain ends, for machines: "awake", "loop", ... */
const char *chain_end_name(enum chain_end end);
/* The same in words. */
const char *chain_end_text(enum chain_end end);

/* All stories of an actor whose wakers are the same actors. */
struct chain_row {
	const char *target;
	const char *names[PROFILE_CHAIN_MAX];
	unsigned cnt;
	enum chain_end end;
	unsigned loop_to;	/* CHAIN_LOOP: 0 the target, else the number of the name */
	uint64_t count, blocked_ns, runnable_ns, rest_ns;
	struct hop hop[PROFILE_CHAIN_MAX];
};

struct chain_table {
	GArray *rows;		/* struct chain_row, the longest blocked first */
	uint64_t blocked_ns;	/* sum over the rows */
};

/* selection NULL: everything. Borrows actors. */
struct chain_table *chain_table_new(const struct profile *p, const struct actors *actors,
				    const struct selection *selection);
void chain_table_free(struct chain_table *t);

#endif
