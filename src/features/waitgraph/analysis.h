/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef FEATURES_WAITGRAPH_ANALYSIS_H
#define FEATURES_WAITGRAPH_ANALYSIS_H

#include "analyse/actors.h"
#include "analyse/query.h"
#include "profile/profile.h"

/*
 * The wait-for graph: who waited for whom, how often and how long.  An edge holds the sleeps of one
 * actor that another one ended; its places say what the one waited in and what the other did
 * then.  Sleeps that nobody had ended when the window did are at no edge, but with the actor.
 */

struct wait_edge {
	uint32_t from, to;	/* actors: who waited, for whom */
	uint64_t count;
	uint64_t blocked_ns, runnable_ns;	/* up to the waking; from there to the CPU */
	uint32_t places_first, places_cnt;	/* of its places */
	uint32_t wakes_first, wakes_cnt;	/* of its wakes, see wait_edge_delays() */
};

struct wait_place {
	uint32_t from, to;
	const char *wait;	/* plumbing_leaf() of the sleep */
	const char *waker;	/* plumbing_waker(); "" for an unknown one */
	uint64_t count;
	uint64_t blocked_ns, runnable_ns;
};

struct waitgraph {
	const struct profile *profile;
	struct actors *actors;
	GArray *edges;		/* struct wait_edge, the longest blocked first; ties by actor */
	GArray *places;		/* struct wait_place, by edge; of one edge the longest blocked first */
	uint64_t *asleep_ns;	/* per actor: in sleeps that nobody had ended */
	uint64_t *asleep_cnt;
	uint64_t *waited_ns;	/* per actor: blocked_ns of the edges from it */
	uint64_t *ended_ns;	/* per actor: blocked_ns of the edges to it */
	uint64_t blocked_ns, runnable_ns, count;	/* of all edges */
	uint64_t all_asleep_ns;
	struct plumbing *plumbing;	/* whose the texts of the places are */
	/* private */
	struct reasons *reasons;	/* whose the plumbing is */
	uint32_t *threads_of_wakers;
	struct far_ends *far_ends;
	GArray *wakes;		/* uint32_t, by edge: indices of the profile's wakes; UINT32_MAX: unknown */
};

/*
 * Of the selected waits, NULL: all; preempted threads wait for nobody.  With `and_their_wakers` kernel threads that
 * ended a selected sleep are in with their own sleeps, selected or not, and those that ended theirs.
 */
struct waitgraph *waitgraph_new(const struct profile *p, const struct selection *selection, enum actor_by by,
				bool and_their_wakers);
void waitgraph_free(struct waitgraph *g);	/* NULL is fine */

/* Whom a wait was for that this waker ended: of a packet that an interrupt carried who sent it, if that is known. */
uint32_t waitgraph_ended_by(const struct waitgraph *g, uint32_t wait, uint32_t waker);

static inline const struct wait_edge *waitgraph_edge(const struct waitgraph *g, uint32_t i)
{
	return &g_array_index(g->edges, struct wait_edge, i);
}
static inline const struct wait_place *waitgraph_place(const struct waitgraph *g, uint32_t i)
{
	return &g_array_index(g->places, struct wait_place, i);
}

/*
 * The distribution of the delays from waking to running of one edge, for waker_percentile_ns(); PROFILE_HIST_SLOTS
 * slots.  False where none is known, of unknown wakers.
 */
bool wait_edge_delays(const struct waitgraph *g, const struct wait_edge *e, uint64_t *ret_hist);

/*
 * The knots among the actors, of the time in which one held up another: waits for work that is not there are left out,
 * or every pool would be one.  For each a struct knot of knots.h; free with g_ptr_array_unref().
 */
GPtrArray *waitgraph_knots(const struct waitgraph *g);

/*
 * Who answers at the other end of a socket, where that is a thread of this recording.  A packet's receiver is woken by
 * whoever handles the packet.  On one machine that mostly is who sent it, but also an interrupt, or a thread of the kernel's,
 * which only carry it.  Then the two ends tell: objects name the process at the other end, and its threads wait for sockets
 * with this one at theirs.
 */
struct far_ends;

/* Borrows from p, and the thread of each waker (actors_threads_of_wakers()). */
struct far_ends *far_ends_new(const struct profile *p, const uint32_t *threads_of_wakers);
void far_ends_free(struct far_ends *f);	/* NULL is fine */

/* The thread that answers what the wait is for; UINT32_MAX: not known, as it may be one of several. */
uint32_t far_ends_thread(struct far_ends *f, uint32_t wait);
/* The same if that waker only carries packets. */
uint32_t far_ends_behind(struct far_ends *f, uint32_t wait, uint32_t waker);

#endif
