/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef ANALYSE_WAKERS_H
#define ANALYSE_WAKERS_H

#include "analyse/query.h"
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
/* Does the wait have a waker at all?  What was preempted or has just begun has none. */
static inline bool wait_is_sleep(const struct wait *w) { return w->state != 'R'; }

/* "irq:virtio0", or the thread's comm. */
static inline const char *waker_name(const struct waker *w) { return w->irq ? w->irq : w->comm; }

/* All wakings of threads of one name by a waker of one name. */
struct waker_row {
	const char *waker;	/* "unknown" for all that nobody is known of */
	const char *target;
	uint64_t count;
	uint64_t blocked_ns, runnable_ns;
	uint64_t hist[PROFILE_HIST_SLOTS];	/* of the delays from waking to running; none of unknown ones */
};

struct waker_table {
	GArray *rows;		/* struct waker_row, the longest blocked first; ties by name */
	uint64_t blocked_ns;	/* of all rows */
	uint64_t asleep_ns;	/* besides: of those that nobody has woken yet */
};

/* selection NULL: everything.  Borrows from p. */
struct waker_table *waker_table_new(const struct profile *p, const struct selection *selection);
void waker_table_free(struct waker_table *t);

/*
 * The delay that this share of them does not exceed, from the histogram: linear within a power of two.
 * 0 of nothing.
 */
uint64_t waker_percentile_ns(const uint64_t *hist, double share);

#endif
