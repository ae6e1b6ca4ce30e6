/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef FEATURES_WAKERS_FOLD_EARLIER_H
#define FEATURES_WAKERS_FOLD_EARLIER_H

#include <glib.h>

#include "abi/offcpu_abi.h"
#include "features/wakers/fold.h"
#include "profile/profile.h"

/*
 * What wakers did before their last sleeps. The kernel's chain explains a wait by the last sleep of each waker. Here
 * a few thousand of the last sleeps of every thread are kept, and earlier time is explained from these in the same
 * way: the waker ran, waited for a CPU, or slept, and its sleep is explained by its own waker. Everything is bounded:
 * sleeps that were dropped, or need too many steps, stay unexplained.
 */
struct earlier;

struct earlier *earlier_new(void);
void earlier_free(struct earlier *e);	/* NULL is fine */

void earlier_add_sleep(struct earlier *e, const struct offcpu_rec_sleep *rec);
/*
 * For cut windows: questions about the time after the edge are answered in the next window. The kernel asks for
 * nothing before the window's start, so older sleeps are dropped.
 */
void earlier_cut(struct earlier *e, uint64_t edge_ns);
void earlier_next_window(struct earlier *e);
/* Answers a question of the kernel, and adds the result under the wait's key and the step of its chain. */
void earlier_tell(struct earlier *e, const struct offcpu_rec_earlier *rec);

#define EARLIER_NONE UINT32_MAX

/* A node of a path of wakers, from one in the chain on: this waker, which its parent waited for. */
struct earlier_node {
	uint64_t waker;		/* id; for top nodes, which stand for a step of the chain: the step */
	uint64_t ran_ns, runnable_ns;
	uint64_t untold_ns;
	/* slept, by the reason why it goes no further; for an interrupt: until it came */
	uint64_t rest_ns[CHAIN_END_COUNT];
	uint32_t first_below, next;	/* EARLIER_NONE: none */
};

/* The nodes of waits with this key. NULL: none. The top nodes are the first one and its siblings. */
const GArray *earlier_find(const struct earlier *e, const struct offcpu_wait_key *key);

static inline const struct earlier_node *earlier_get(const GArray *nodes, uint32_t i)
{
	return &g_array_index(nodes, struct earlier_node, i);
}

/* Total time of the node and those below it. */
uint64_t earlier_total_ns(const GArray *nodes, uint32_t node);

guint wait_key_hash(gconstpointer p);
gboolean wait_key_equal(gconstpointer a, gconstpointer b);

/* Turns what wakers did before their last sleeps into stories, one for each path, beside that of the last sleeps. */

/* The chain with these wakers, nearest first; cnt > 0. loop_to: for CHAIN_LOOP: 0 the sleeper, else a waker. */
uint32_t earlier_chain(struct profile *p, const uint32_t *wakers, unsigned cnt, uint8_t end, unsigned loop_to);

/*
 * Adds *story, with wakers[0] to wakers[cnt - 1], and a story for each path of `nodes`. These take their time from
 * the wakers' `earlier_ns` in *story, which keeps the rest.
 */
void earlier_add_stories(struct fold_wakers *f, struct profile *p, const GArray *nodes, const uint32_t *wakers,
			 unsigned cnt, const struct story *story);

#endif
