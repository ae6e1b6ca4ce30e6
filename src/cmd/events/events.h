/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CMD_EVENTS_EVENTS_H
#define CMD_EVENTS_EVENTS_H

#include "cmd/cmd.h"
#include "cmd/run.h"
#include "exchange/wait_event.h"
#include "features/blame/fold.h"

/* Facts about single waits: where, why, for what, worded as in reports, and who ended them. */
struct event_facts;

/* The session functions that provide them; named as in session/session.h. */
struct event_source {
	bool (*wait)(const struct offcpu_rec_event *event, struct wait *ret_wait, void *data);
	uint32_t (*waker)(uint64_t id, void *data);
	const struct profile *(*profile)(void *data);
	void *data;
};

struct event_facts *event_facts_new(const struct event_source *source);
void event_facts_free(struct event_facts *n);	/* NULL is fine */

/* Sets all of *ret_event except stacks, which are 0.  Texts are valid until the next call with n or its source. */
void event_facts_find(struct event_facts *n, const struct offcpu_rec_event *e, struct wait_event *ret_event);
/* The waker with that id; NULL: unknown. */
const struct waker *event_facts_waker(struct event_facts *n, uint64_t id);

/* Internal to `offcpu events`: shared by its formats. */

struct event_format;

#define EVENTS_LEFT_OUT "left_out"	/* name of the loss in a file */

struct events {
	struct run *run;
	const struct event_format *format;
	gboolean who_preempted, stacks, wakers;
	gboolean by_delay;		/* -m and -M apply to the delay */
	uint64_t delay_min_ns, delay_max_ns;	/* range of delays to print, if by_delay */
	struct wait_blame *blame;	/* NULL: not requested */
	struct event_facts *facts;
	const char *command_line;
	char *path;		/* NULL or "-": stdout */
	struct output *out;
	GString *text;		/* buffer of text and JSON */
	uint64_t printed, left_out;	/* waits; left_out: of printed, those beyond a file's limit */
	void *state;		/* owned by the format */
	GError *error;		/* the first error: then nothing more is written */
};

struct event_format {
	const char *name;
	bool is_file;	/* for a program: with wakers and objects, without what only lines show */
	bool has_switches;
	void (*begin)(struct events *ev);	/* called before the session exists; the others may also be NULL */
	void (*wait)(struct events *ev, const struct offcpu_rec_event *e);
	void (*on_switch)(struct events *ev, const struct offcpu_rec_switch *sw);
	void (*tick)(struct events *ev);
	void (*end)(struct events *ev, struct profile *p);	/* the window has ended, and p is complete */
	void (*stopped)(struct events *ev);	/* called before `end`, while the session's ids are valid */
	void (*free)(struct events *ev);
};

extern const struct event_format event_text, event_json, event_perfetto, event_firefox;

/* Writes to the output; keeps the error. */
void events_put(struct events *ev, const void *bytes, gsize len);
/* A sink that calls it. */
struct sink events_sink(struct events *ev);

#endif
