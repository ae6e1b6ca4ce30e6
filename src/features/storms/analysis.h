/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef FEATURES_STORMS_ANALYSIS_H
#define FEATURES_STORMS_ANALYSIS_H

#include "analyse/query.h"
#include "profile/profile.h"

/* Wakeup storms: what woke many threads at once, what these waited for, and whether it was useful. */

/* What the woken threads waited for, according to their stacks and the waker's. */
enum storm_kind {
	STORM_OTHER = 0,
	STORM_UNKNOWN,		/* their stacks are unknown */
	STORM_CONDITION,	/* broadcast of a condition variable */
	STORM_FUTEX,		/* another futex: barrier, lock */
	STORM_EPOLL,		/* threads in epoll_wait on one file */
	STORM_EPOLL_ACCEPT,	/* the same on a listening socket */
	STORM_ACCEPT,		/* threads in accept, or polling a listening socket */
	STORM_POLL,		/* threads in poll or select on one file */
	STORM_TIMER,		/* timers that expire at the same time */
	STORM_SIGNAL,		/* a signal to, or the end of, a process with many threads */
	STORM_KIND_COUNT
};
const char *storm_kind_id(enum storm_kind kind);	/* "epoll_herd": id in JSON. */

enum storm_verdict {
	STORM_IN_VAIN,		/* most woken threads sleep again at once */
	STORM_PARTLY,		/* a considerable part does */
	STORM_WORK,		/* most have work to do */
	STORM_UNSEEN,		/* the end of most was not seen */
	/* many sleep again at once, but each was woken by a separate call, so it is not one event */
	STORM_ONE_BY_ONE,
};
const char *storm_verdict_id(enum storm_verdict verdict);

/* Threads of one name that the waker woke from the same place. */
struct storm_sleepers {
	uint32_t wait;		/* index of one of their waits */
	uint32_t threads;
	uint64_t count;		/* sleeps ended */
};

/* The storms of wakers with the same name at the same place. */
struct storm_row {
	struct storm storm;	/* their sum; the waker is one of theirs */
	uint32_t wakers;
	enum storm_kind kind;
	enum storm_verdict verdict;
	bool one_by_one;	/* each waking is a separate call */
	GArray *sleepers;	/* struct storm_sleepers, most frequent first */
};

struct storm_table {
	GArray *rows;		/* struct storm_row, worst verdict first, then by useless wakings */
};

/* selection: storms that woke a selected thread; NULL: all.  Borrows from p. */
struct storm_table *storm_table_new(const struct profile *p, const struct selection *selection);
void storm_table_free(struct storm_table *t);	/* NULL is fine */

/* Title for people: "epoll herd on a listening socket". */
const char *storm_title(const struct storm_row *r);
/* Advice; NULL: none. */
const char *storm_advice(const struct storm_row *r);

#endif
