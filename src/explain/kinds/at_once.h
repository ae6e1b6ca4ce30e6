/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef EXPLAIN_KINDS_AT_ONCE_H
#define EXPLAIN_KINDS_AT_ONCE_H

#include "explain/findings.h"

/*
 * Answers that come at once, or not at all.  A client that waits with a time limit in an event loop does not wait for
 * a visible socket: a timer ends the wait, like an intended one.  The difference is how long the loop had waited when
 * others ended it.  Slow answers end a wait at any point, on average in its middle; answers that always come right
 * after the wait began were sent at once, and the other waits got no answer.
 */
struct at_once {
	uint64_t answers_cnt, answers_ns;	/* waits ended by others: processes or the network */
	uint64_t timers_cnt, timers_ns;		/* waits ended by timers */
	uint64_t most_cnt;			/* answers of the most frequent waker */
	const struct waker *most;		/* NULL: none */
	bool serves;				/* clients connect to it, so these may be requests */
};

/* Adds a kind of waker of a wait for sockets or timers. */
void at_once_add(struct at_once *a, const struct profile *p, const struct wake *wake);
bool at_once_is(const struct at_once *a);

/* "python3/19275 ended 16 waits for its sockets, after 266 us on average, and timers ended all others" */
void at_once_append(GString *s, const struct at_once *a);

#define AT_ONCE_ADVICE                                                                                               \
	"Answers come at once, or not at all: what waits until it times out takes the time. Questions or answers are lost, or " \
	"the peer leaves some out (nstat, its log); a shorter timeout bounds the wait."

/* For the event loop that waits most for its timers, beside answers that come at once or never. */
void at_once_append_most(GString *s, const struct findings *f);
/*
 * For a loop that waits like that while its clients wait for answers, and has asked nobody: a long poll, or it holds
 * them back; has_unseen: others than threads wait in such programs. False: none.
 */
bool at_once_append_held(GString *s, const struct findings *f, bool has_unseen);
/* Whether the process is such a loop. */
bool at_once_holds_clients(const struct findings *f, uint32_t pid);

#endif
