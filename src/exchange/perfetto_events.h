/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef EXCHANGE_PERFETTO_EVENTS_H
#define EXCHANGE_PERFETTO_EVENTS_H

#include <glib.h>

#include "exchange/sink.h"
#include "exchange/wait_event.h"

/*
 * A Perfetto trace of single waits and switches, written as they come: memory does not grow with its length.
 */
struct perfetto_events;

/* Read at one instant, in nanoseconds. */
struct perfetto_clocks {
	uint64_t monotonic_ns, boot_ns, real_ns;
};

struct perfetto_host {
	const char *kernel_release, *kernel_version, *machine;	/* as uname() says */
};

/* The command line of a process; NULL: none, or not known any more, and its thread's name stands in its place. */
typedef char **(*perfetto_process_fn)(uint32_t pid);

struct perfetto_events *perfetto_events_new(struct writer *writer, const struct perfetto_clocks *clocks,
					    const struct perfetto_host *host, perfetto_process_fn process_arguments);
void perfetto_events_switch(struct perfetto_events *w, const struct offcpu_rec_switch *sw, const struct waker *waker);
void perfetto_events_wait(struct perfetto_events *w, const struct wait_event *e);
/*
 * Hands on what came so far.  Now and then.  lost_switches: there were some since the last time, so what a CPU did in
 * between is not known.
 */
void perfetto_events_flush(struct perfetto_events *w, bool lost_switches);
/* Something was lost, so often: stands at that time. */
void perfetto_events_lost(struct perfetto_events *w, uint64_t at_ns, const char *reason, uint64_t cnt);
void perfetto_events_free(struct perfetto_events *w);	/* after a flush; NULL is fine */

/* Stacks of single waits as Perfetto's interned data: each is told once, and its number after that. */
struct perfetto_stacks;

struct perfetto_stacks *perfetto_stacks_new(void);
void perfetto_stacks_free(struct perfetto_stacks *s);	/* NULL is fine */
/* All is to be told anew: the reader has forgotten it. */
void perfetto_stacks_clear(struct perfetto_stacks *s);
/* It is time for that: what is kept is bounded. */
bool perfetto_stacks_are_full(const struct perfetto_stacks *s);
/*
 * The number of the wait's stack; 0: it has none.  *ret_interned: a message InternedData of what is new of it, for the
 * packet that uses it first; valid until the next call.
 */
guint perfetto_stacks_find(struct perfetto_stacks *s, const struct wait_event *e, const GString **ret_interned);

#endif
