/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef FEATURES_STORMS_ANALYSIS_H
#define FEATURES_STORMS_ANALYSIS_H

#include "analyse/query.h"
#include "profile/profile.h"

/* Wakeup storms: what woke many threads at once, what those waited for, whether it was worth it. */

/* What the woken threads waited for, by their stacks and the waker's. */
enum storm_kind {
	STORM_OTHER = 0,
	STORM_UNKNOWN,		/* no stack of theirs is known */
	STORM_CONDITION,	/* a condition variable is broadcast */
	STORM_FUTEX,		/* another futex: a barrier, a lock */
	STORM_EPOLL,		/* threads in epoll_wait, one file */
	STORM_EPOLL_ACCEPT,	/* the same, the file being a listening socket */
	STORM_ACCEPT,		/* threads in accept, or that poll a listening socket */
	STORM_POLL,		/* threads that poll or select one file */
	STORM_TIMER,		/* timers due at the same time */
	STORM_SIGNAL,		/* a signal, or the end, of a process with many threads */
	STORM_KIND_COUNT
};
const char *storm_kind_id(enum storm_kind kind);	/* "epoll_herd", for programs */

enum storm_verdict {
	STORM_IN_VAIN,		/* most of the woken sleep again at once */
	STORM_PARTLY,		/* a good part of them */
	STORM_WORK,		/* most have something to do */
	STORM_UNSEEN,		/* most were not seen to their end */
	STORM_ONE_BY_ONE,	/* many sleep again at once, but each was woken by a call of its own: no one event */
};
const char *storm_verdict_id(enum storm_verdict verdict);

/* Threads of one name that the waker found asleep in one place. */
struct storm_sleepers {
	uint32_t wait;		/* index, of one of them */
	uint32_t threads;
	uint64_t count;		/* sleeps ended */
};

/* The storms of wakers of one name at one place. */
struct storm_row {
	struct storm storm;	/* their sum; the waker is one of them */
	uint32_t wakers;
	enum storm_kind kind;
	enum storm_verdict verdict;
	bool one_by_one;	/* each waking is a call of its own */
	GArray *sleepers;	/* struct storm_sleepers, the most frequent first */
};

struct storm_table {
	GArray *rows;		/* struct storm_row, the worst verdicts first, then by wakings in vain */
};

/* selection: those that woke a thread of it; NULL: all.  Borrows from p. */
struct storm_table *storm_table_new(const struct profile *p, const struct selection *selection);
void storm_table_free(struct storm_table *t);	/* NULL is fine */

/* What it was, for people: "epoll herd on a listening socket". */
const char *storm_title(const struct storm_row *r);
/* What can be done about it; NULL where there is nothing to say. */
const char *storm_advice(const struct storm_row *r);

#endif
