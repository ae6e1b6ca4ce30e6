/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CMD_EVENT_FACTS_H
#define CMD_EVENT_FACTS_H

#include "exchange/wait_event.h"

/* What is to be said of single waits: where, why and for what, in the words of a report, and who ended them. */
struct event_facts;

/* Where that comes from: the session.  As the functions of session/session.h of those names. */
struct event_source {
	bool (*wait)(const struct offcpu_rec_event *event, struct wait *ret_wait, void *data);
	uint32_t (*waker)(uint64_t id, void *data);
	const struct profile *(*profile)(void *data);
	void *data;
};

struct event_facts *event_facts_new(const struct event_source *source);
void event_facts_free(struct event_facts *n);	/* NULL is fine */

/* All of *ret_event but stacks, which are 0.  Its texts are valid until the next call that takes n or its source. */
void event_facts_find(struct event_facts *n, const struct offcpu_rec_event *e, struct wait_event *ret_event);
/* The waker of an id; NULL: not known. */
const struct waker *event_facts_waker(struct event_facts *n, uint64_t id);

#endif
