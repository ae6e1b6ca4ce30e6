/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef EXPLAIN_KINDS_AT_ONCE_H
#define EXPLAIN_KINDS_AT_ONCE_H

#include "explain/findings.h"

/*
 * Answers that come at once, or not at all.  Who asks and waits with a time limit in an event loop waits for no socket
 * that a recording could tell: a timer ends the wait, as one that is meant does.  What tells is how long the loop had
 * waited when others ended it.  An answer that takes its time ends a wait at any point of it, so half of the wait has
 * gone by on average; one that always comes right as the wait has begun was sent at once, and nothing that came ended
 * the others.
 */
struct at_once {
	uint64_t answers_cnt, answers_ns;	/* waits that others ended, other processes or the network */
	uint64_t timers_cnt, timers_ns;		/* that timers did */
	uint64_t most_cnt;			/* of the answers, of that waker */
	const struct waker *most;		/* NULL: none */
	bool serves;				/* clients connect to it, so these may be requests */
};

/* One kind of waker of a wait for sockets or timers. */
void at_once_add(struct at_once *a, const struct profile *p, const struct wake *wake);
bool at_once_is(const struct at_once *a);

/* "python3/19275 ended 16 waits for its sockets, after 266 us on average, and timers ended all others" */
void at_once_append(GString *s, const struct at_once *a);

#define AT_ONCE_ADVICE                                                                                               \
	"Answers come at once, or not at all: what waits until it times out takes the time. Questions or answers are lost, or " \
	"the peer leaves some out (nstat, its log); a shorter timeout bounds the wait."

/* Of the event loop that waits most for its timers, beside answers that come at once, or nothing. */
void at_once_append_most(GString *s, const struct findings *f);
/*
 * Of the one that waits so while its clients wait for answers, and has asked nobody: a long poll, or it holds them back.
 * False: there is none.
 */
bool at_once_append_held(GString *s, const struct findings *f);
/* Is the process such a one? */
bool at_once_holds_clients(const struct findings *f, uint32_t pid);

#endif
