/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef SUPPLY_MMAP_EVENTS_H
#define SUPPLY_MMAP_EVENTS_H

#include <glib.h>
#include <stdint.h>

#include "symbolize/symbolize.h"

/*
 * What happens to the address spaces of all processes: executable mappings, execs, forks and exits, from perf's
 * software events, one ring buffer for each online CPU. Nothing wakes the reader: drain it on a timer, and before
 * using the symbolizer.
 *
 * Needs CAP_PERFMON (or CAP_SYS_ADMIN), or kernel.perf_event_paranoid at 0 or below.
 */
struct mmap_events;

/* Starts listening; NULL with error when the kernel or our rights do not allow it. */
struct mmap_events *mmap_events_open(GError **error);
void mmap_events_free(struct mmap_events *me);	/* NULL is fine */

/* Called in order of time; pids are in our pid namespace, times CLOCK_MONOTONIC. */
struct mmap_events_sink {
	void (*mmap)(void *data, uint32_t pid, uint64_t ts_ns, const struct symbolizer_mapping *m);
	void (*exec)(void *data, uint32_t pid, uint64_t ts_ns, const char *name);	/* name: the new one */
	void (*fork)(void *data, uint32_t parent, uint32_t pid, uint64_t ts_ns);	/* of processes, not threads */
	void (*exit)(void *data, uint32_t pid, uint64_t ts_ns);	/* of a process's first thread */
	void *data;
};

/* Passes on all events until now; returns their number. */
unsigned mmap_events_drain(struct mmap_events *me, const struct mmap_events_sink *sink);

/*
 * Records lost so far because a ring was full, plus one for each CPU that came online meanwhile; up to a second late.
 */
uint64_t mmap_events_lost_cnt(const struct mmap_events *me);
/* Open events: one for each CPU that is known to be online. */
unsigned mmap_events_fd_count(const struct mmap_events *me);

#endif
