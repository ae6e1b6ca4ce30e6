/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef FEATURES_WAKERS_FOLD_EARLIER_H
#define FEATURES_WAKERS_FOLD_EARLIER_H

#include <glib.h>

#include "abi/offcpu_abi.h"
#include "features/wakers/fold.h"
#include "profile/profile.h"

/*
 * What wakers did before their last sleeps.  The kernel's chain explains a wait by the last sleep of each waker; here
 * the last sleeps of every thread are kept, a few thousand each, and what lies before is told out of them, in the same
 * way: the waker ran, had no CPU, or slept, and what it slept is for its own waker of then to explain.  All is
 * bounded: what is no longer kept, or would take too many steps, stays untold.
 */
struct earlier;

struct earlier *earlier_new(void);
void earlier_free(struct earlier *e);	/* NULL is fine */

void earlier_add_sleep(struct earlier *e, const struct offcpu_rec_sleep *rec);
/*
 * Where windows are cut: what is asked for behind the edge is told in the next window.  The kernel asks for nothing
 * before the window's start, so with the next one older sleeps go.
 */
void earlier_cut(struct earlier *e, uint64_t edge_ns);
void earlier_next_window(struct earlier *e);
/* Tells what is asked for, and adds it up by the wait's key and the step of its chain. */
void earlier_tell(struct earlier *e, const struct offcpu_rec_earlier *rec);

#define EARLIER_NONE UINT32_MAX

/* A path of wakers, from one of the chain on: this one, and whom the one above it waited for. */
struct earlier_node {
	uint64_t waker;		/* id; of the uppermost, which stand for a step of the chain, the step */
	uint64_t ran_ns, runnable_ns;
	uint64_t untold_ns;
	/* slept, by why that goes no further; of an interrupt, until it came */
	uint64_t rest_ns[CHAIN_END_COUNT];
	uint32_t first_below, next;	/* EARLIER_NONE: none */
};

/* The nodes told of waits with this key, NULL: there are none.  The uppermost are the first one, and its next ones. */
const GArray *earlier_find(const struct earlier *e, const struct offcpu_wait_key *key);

static inline const struct earlier_node *earlier_get(const GArray *nodes, uint32_t i)
{
	return &g_array_index(nodes, struct earlier_node, i);
}

/* All told of the node and those below it. */
uint64_t earlier_total_ns(const GArray *nodes, uint32_t node);

guint wait_key_hash(gconstpointer p);
gboolean wait_key_equal(gconstpointer a, gconstpointer b);

/* What wakers did before their last sleeps as stories, one for each path, beside that of the last sleeps. */

/* The chain with these wakers, nearest first; cnt > 0.  loop_to: of CHAIN_LOOP, 0 the sleeper, else which of them. */
uint32_t earlier_chain(struct profile *p, const uint32_t *wakers, unsigned cnt, uint8_t end, unsigned loop_to);

/*
 * Adds *story to the profile, whose wakers are wakers[0] to wakers[cnt - 1], and beside it a story for each path of
 * `nodes`: these take the time, and leave to *story what is not told of its wakers' `earlier_ns`.
 */
void earlier_add_stories(struct fold_wakers *f, struct profile *p, const GArray *nodes, const uint32_t *wakers,
			 unsigned cnt, const struct story *story);

#endif
