/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef EXCHANGE_PERFETTO_EVENTS_H
#define EXCHANGE_PERFETTO_EVENTS_H

#include <glib.h>

#include "exchange/sink.h"
#include "exchange/wait_event.h"

/* A Perfetto trace of single waits and switches, written as they arrive: memory does not grow with its length. */
struct perfetto_events;

/* Clocks read at one instant, in nanoseconds. */
struct perfetto_clocks {
	uint64_t monotonic_ns, boot_ns, real_ns;
};

struct perfetto_host {
	const char *kernel_release, *kernel_version, *machine;	/* from uname() */
};

/* Command line of a process; NULL: none, or already gone; its thread's name is used instead. */
typedef char **(*perfetto_process_fn)(uint32_t pid);

struct perfetto_events *perfetto_events_new(struct writer *writer, const struct perfetto_clocks *clocks,
					    const struct perfetto_host *host, perfetto_process_fn process_arguments);
void perfetto_events_switch(struct perfetto_events *w, const struct offcpu_rec_switch *sw, const struct waker *waker);
void perfetto_events_wait(struct perfetto_events *w, const struct wait_event *e);
/*
 * Writes buffered events; call it regularly.  lost_switches: some were lost since the last call, so what CPUs did in
 * between is unknown.
 */
void perfetto_events_flush(struct perfetto_events *w, bool lost_switches);
/* Records that `cnt` events were lost at that time. */
void perfetto_events_lost(struct perfetto_events *w, uint64_t at_ns, const char *reason, uint64_t cnt);
void perfetto_events_free(struct perfetto_events *w);	/* call it after a flush; NULL is fine */

/* Stacks of single waits as Perfetto's interned data: each is written once and then referred to by number. */
struct perfetto_stacks;

struct perfetto_stacks *perfetto_stacks_new(void);
void perfetto_stacks_free(struct perfetto_stacks *s);	/* NULL is fine */
/* Forgets what was written: the reader's interned state was reset. */
void perfetto_stacks_clear(struct perfetto_stacks *s);
/* Whether to reset: what is kept is bounded. */
bool perfetto_stacks_are_full(const struct perfetto_stacks *s);
/*
 * Number of the wait's stack; 0: it has none.  *ret_interned: an InternedData message with what is new, for the first
 * packet that uses it; valid until the next call.
 */
guint perfetto_stacks_find(struct perfetto_stacks *s, const struct wait_event *e, const GString **ret_interned);

#endif
