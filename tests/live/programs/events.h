/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef LIVE_EVENTS_H
#define LIVE_EVENTS_H

/*
 * What a thread of a test program did, each with the readings before and after it: its sleeps, and its wakings of
 * others.  A sleep and the waking that ends it have one channel and one serial; so ../stories.py can tell who waited
 * for whom, and for how long, from the program's own clock and nothing else.
 */

#include <stdint.h>

#define EVENT_SLEEP 's'
#define EVENT_NAP 'n'	/* ended by a timer; the serial is the absolute time when it is due, or 0 */
#define EVENT_WAKE 'w'

struct event_reading {
	uint64_t wall_ns, cpu_ns;	/* CLOCK_MONOTONIC, and the thread's CPU time */
	uint64_t slept, yielded;	/* its switches so far: voluntary, involuntary */
	int64_t delay_ns;		/* its time in run queues so far; -1: this kernel does not say */
};

struct event {
	char what;
	uint64_t channel, serial;
	struct event_reading before, after;
};

/* In memory that children share. */
struct event_log {
	int pid, tid, delay_fd;
	uint64_t cnt, capacity;
	struct event events[];
};

struct event_log *events_new(uint64_t capacity);
/* The calling thread is whose events these are. */
void events_mine(struct event_log *log);
/* The event begins now; event_end() completes it, and takes its serial, which may be known only then. */
struct event *event_begin(struct event_log *log, char what, uint64_t channel);
void event_end(struct event_log *log, struct event *event, uint64_t serial);
/* Appends a line of truth; sites: functions whose frames the event kinds have, NULL for none. */
void events_write(const struct event_log *log, const char *comm, const char *sleep_site, const char *nap_site,
		  const char *wake_site);

#endif
