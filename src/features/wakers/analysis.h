/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef FEATURES_WAKERS_ANALYSIS_H
#define FEATURES_WAKERS_ANALYSIS_H

#include "profile/profile.h"

/* Who woke whom. */

/* The wakes of each wait: order[first[w]] up to order[first[w + 1] - 1] are indexes of wakes. */
struct wakes_by_wait {
	uint32_t *first;	/* number of waits + 1 */
	uint32_t *order;
};
struct wakes_by_wait *wakes_by_wait_new(const struct profile *p);
void wakes_by_wait_free(struct wakes_by_wait *by);	/* NULL is fine */

/* The sleeps of a row without a known waker. */
void wakes_unknown(const struct profile *p, const struct wakes_by_wait *by, uint32_t wait, struct wake *ret);
/* Adds the delays until on CPU of sleeps with a known waker to a histogram, and returns their sum. */
uint64_t wakes_add_queue(const struct profile *p, const struct wakes_by_wait *by, uint32_t wait, uint32_t *hist);
/* Can the wait have a waker? Preempted and new threads have none. */
static inline bool wait_is_sleep(const struct wait *w) { return w->state != 'R'; }

/* Shown if the waker is unknown: it had not come yet, or was not seen. */
static inline const char *waker_missing(const struct wait *w)
{
	return w->flags & WAIT_OPEN_AT_END ? "[still asleep]" : "[unknown]";
}

/* "irq:virtio0", or the thread's comm. */
static inline const char *waker_name(const struct waker *w) { return w->irq ? w->irq : w->comm; }

/*
 * The duration that this share does not exceed, from a histogram of PROFILE_HIST_SLOTS powers of two, within which
 * durations count as evenly distributed. The result never contradicts the sum and the longest duration, in ns (0:
 * unknown). A sum that cannot be that of these durations is ignored. 0 without any. web/page/words.js has the same as
 * quantile().
 */
uint64_t wait_percentile_ns(const uint64_t *hist, double share, uint64_t sum_ns, uint64_t max_ns);
/* Likewise for delays, of which nothing else is known. */
uint64_t waker_percentile_ns(const uint64_t *hist, double share);

bool waker_is_timer(const struct waker *waker);

/* Does it wake all waiters of a condition at once? */
bool waker_is_broadcast(const struct profile *p, const struct waker *waker);

/* Is it an incoming connection? */
bool waker_is_connection(const struct profile *p, const struct waker *waker);
/* By data on a TCP connection. */
bool waker_brings_by_tcp(const struct profile *p, const struct waker *waker);

/* Do incoming connections end most sleeps of these programs' threads (see actors_programs()), in many threads? */
bool wakers_are_connections(const struct profile *p, const char *const *programs, const char *program);

/*
 * Are most sleeps of these threads in epoll sets of their own, eight or more of which are woken by one place in the
 * program, and do they run only briefly each time? Then one event may wake them all.
 */
bool wakers_watch_apart(const struct profile *p, const char *const *programs, const char *program);

#endif
