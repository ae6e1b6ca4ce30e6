/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef BASE_WATCHDOG_H
#define BASE_WATCHDOG_H

#include <stddef.h>

/*
 * Says where each thread of this process stands, once nobody has fed it for so long, and goes on: whoever waits for the
 * process, or sends a report of that, has what it takes then.  Once until it is fed again.
 */
struct watchdog_options {
	unsigned after_ms;
	const char *why;	/* the first line */
	void (*say)(const char *line, void *data);	/* from a thread of its own */
	void *data;
};

#define WATCHDOG_AFTER_MS 10000

/* One at a time; until the end of the process, or watchdog_end(). */
void watchdog_begin(const struct watchdog_options *options);
void watchdog_feed(void);	/* nothing where there is none */
void watchdog_end(void);

#endif
