/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef FEATURES_WAKERS_ANALYSIS_H
#define FEATURES_WAKERS_ANALYSIS_H

#include "profile/profile.h"

/* Who woke whom. */

/* The wakings of each wait: order[first[w]] up to order[first[w + 1] - 1] are indices of its wakes. */
struct wakes_by_wait {
	uint32_t *first;	/* one more than there are waits */
	uint32_t *order;
};
struct wakes_by_wait *wakes_by_wait_new(const struct profile *p);
void wakes_by_wait_free(struct wakes_by_wait *by);	/* NULL is fine */

/* The sleeps of a wait row that no waker is known of. */
void wakes_unknown(const struct profile *p, const struct wakes_by_wait *by, uint32_t wait, struct wake *ret);
/* How long those sleeps that a waker is known of then waited for a CPU: added to a histogram.  Returns their sum. */
uint64_t wakes_add_queue(const struct profile *p, const struct wakes_by_wait *by, uint32_t wait, uint32_t *hist);
/* Does the wait have a waker at all?  What was preempted or has just begun has none. */
static inline bool wait_is_sleep(const struct wait *w) { return w->state != 'R'; }

/* What stands in a waker's place where none is known: it had not come yet, or was not seen. */
static inline const char *waker_missing(const struct wait *w)
{
	return w->flags & WAIT_OPEN_AT_END ? "[still asleep]" : "[unknown]";
}

/* "irq:virtio0", or the thread's comm. */
static inline const char *waker_name(const struct waker *w) { return w->irq ? w->irq : w->comm; }

/*
 * The duration that this share of them does not exceed, from a histogram of PROFILE_HIST_SLOTS powers of two: as if
 * those of one power lay evenly in it, so it may be off by that.  It never contradicts their sum and the longest of
 * them, ns (0: not known).  A sum that cannot be that of these durations is passed over.  0 of nothing.
 * web/page/words.js has the same, as quantile().
 */
uint64_t wait_percentile_ns(const uint64_t *hist, double share, uint64_t sum_ns, uint64_t max_ns);
/* The same of delays of which nothing else is known. */
uint64_t waker_percentile_ns(const uint64_t *hist, double share);

bool waker_is_timer(const struct waker *waker);

/* Does it wake all that wait for a condition at once? */
bool waker_is_broadcast(const struct profile *p, const struct waker *waker);

/* Is it a connection that comes in? */
bool waker_is_connection(const struct profile *p, const struct waker *waker);

/* Do connections that come in end most sleeps of the threads of this program, as in actors_programs(), and of many threads? */
bool wakers_are_connections(const struct profile *p, const char *const *programs, const char *program);

/*
 * Are most sleeps of these threads in epoll sets of their own, of which one place in the program wakes eight or more,
 * and do they run for a moment each time?  One event may wake all of them.
 */
bool wakers_watch_apart(const struct profile *p, const char *const *programs, const char *program);

#endif
