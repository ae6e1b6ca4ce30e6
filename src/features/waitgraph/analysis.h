/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef FEATURES_WAITGRAPH_ANALYSIS_H
#define FEATURES_WAITGRAPH_ANALYSIS_H

#include "analyse/actors.h"
#include "analyse/query.h"
#include "profile/profile.h"

/*
 * The wait-for graph: who waited for whom, how often and how long.  An edge has the sleeps of one actor that another
 * one ended; its places say where the first waited and what the second did.  Sleeps that were open at the window's end
 * are on no edge, but counted per actor.
 */

struct wait_edge {
	uint32_t from, to;	/* actors: who waited, and for whom */
	uint64_t count;
	uint64_t blocked_ns, runnable_ns;	/* until the waking, and from there to the CPU */
	uint32_t places_first, places_cnt;	/* range of its places */
	uint32_t wakes_first, wakes_cnt;	/* range of its wakes, see wait_edge_delays() */
};

struct wait_place {
	uint32_t from, to;
	const char *wait;	/* plumbing_leaf() of the wait */
	const char *waker;	/* plumbing_waker(); "" if unknown */
	uint64_t count;
	uint64_t blocked_ns, runnable_ns;
};

struct waitgraph {
	const struct profile *profile;
	struct actors *actors;
	GArray *edges;		/* struct wait_edge, longest blocked first, then by actor */
	GArray *places;		/* struct wait_place, by edge, then longest blocked first */
	uint64_t *asleep_ns;	/* per actor: time in sleeps that were open at the end */
	uint64_t *asleep_cnt;
	uint64_t *waited_ns;	/* per actor: blocked_ns of the edges from it */
	uint64_t *ended_ns;	/* per actor: blocked_ns of the edges to it */
	uint64_t blocked_ns, runnable_ns, count;	/* sums of all edges */
	uint64_t all_asleep_ns;
	struct plumbing *plumbing;	/* owns texts of places */
	/* private: owner of `plumbing` */
	struct reasons *reasons;	/* private: owner of `plumbing` */
	uint32_t *threads_of_wakers;
	struct far_ends *far_ends;
	GArray *wakes;		/* uint32_t, by edge: indices of wakes in the profile; UINT32_MAX: unknown */
};

/*
 * Graph of the selected waits, NULL: all.  Preempted threads wait for nobody.  With `and_their_wakers` it includes all
 * sleeps of kernel threads that ended a selected sleep, of kernel threads that ended those, and so on.
 */
struct waitgraph *waitgraph_new(const struct profile *p, const struct selection *selection, enum actor_by by,
				bool and_their_wakers);
void waitgraph_free(struct waitgraph *g);	/* NULL is fine */

/* The actor that a wait was for, given its waker: for a packet delivered by an interrupt its sender, if known. */
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
 * Distribution of an edge's delays from waking to running, for waker_percentile_ns(); PROFILE_HIST_SLOTS slots. False
 * if unknown, as for unknown wakers.
 */
bool wait_edge_delays(const struct waitgraph *g, const struct wait_edge *e, uint64_t *ret_hist);

/*
 * The knots (strongly connected components) among actors, without waits for work: otherwise every thread pool would be
 * one.  struct knot of analysis_components.h; free with g_ptr_array_unref().
 */
GPtrArray *waitgraph_knots(const struct waitgraph *g);

/*
 * Finds the thread that answers at the other end of a socket, if it is in this recording.  The waker of a packet's
 * receiver is usually the sender if both are on one machine, but may be an interrupt or kernel thread that only
 * delivers it.  Then objects tell: they name the process at the other end, whose threads wait for sockets connected to
 * this process.
 */
struct far_ends;

/* Borrows p, and the thread of each waker (actors_threads_of_wakers()). */
struct far_ends *far_ends_new(const struct profile *p, const uint32_t *threads_of_wakers);
void far_ends_free(struct far_ends *f);	/* NULL is fine */

/* The thread that answers; UINT32_MAX: unknown, as it may be one of several. */
uint32_t far_ends_thread(struct far_ends *f, uint32_t wait);
/* The same, if that waker only delivers packets. */
uint32_t far_ends_behind(struct far_ends *f, uint32_t wait, uint32_t waker);

#endif
