/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CMD_EVENTS_EVENTS_H
#define CMD_EVENTS_EVENTS_H

#include "cmd/cmd.h"
#include "cmd/run.h"
#include "exchange/wait_event.h"
#include "features/blame/fold.h"

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

/* Inside of `offcpu events`: what its formats share. */

struct event_format;

#define EVENTS_LEFT_OUT "left_out"	/* as a loss in a file */

struct events {
	struct run *run;
	const struct event_format *format;
	gboolean who_preempted, stacks, wakers;
	gboolean by_delay;		/* -m and -M are of it */
	uint64_t delay_min_ns, delay_max_ns;	/* then: what is told */
	struct wait_blame *blame;	/* NULL: not asked for */
	struct event_facts *facts;
	const char *command_line;
	char *path;		/* NULL or "-": stdout */
	struct output *out;
	GString *text;		/* of text and JSON, on its way there */
	uint64_t printed, left_out;	/* waits; left_out: of printed, those that no file has room for */
	void *state;		/* the format's */
	GError *error;		/* the first one: nothing is written any more */
};

struct event_format {
	const char *name;
	bool is_file;	/* for a program: with wakers and objects, and without what only lines have room for */
	bool has_switches;
	void (*begin)(struct events *ev);	/* before there is a session; the rest may be NULL, too */
	void (*wait)(struct events *ev, const struct offcpu_rec_event *e);
	void (*on_switch)(struct events *ev, const struct offcpu_rec_switch *sw);
	void (*tick)(struct events *ev);
	void (*end)(struct events *ev, struct profile *p);	/* the window is over, and p complete */
	void (*stopped)(struct events *ev);	/* before that, while the session's ids are known */
	void (*free)(struct events *ev);
};

extern const struct event_format event_text, event_json, event_perfetto, event_firefox;

/* To the output; a failure is kept. */
void events_put(struct events *ev, const void *bytes, gsize len);
/* A sink of the same. */
struct sink events_sink(struct events *ev);

#endif
