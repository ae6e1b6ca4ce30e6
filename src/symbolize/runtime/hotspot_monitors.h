/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef SYMBOLIZE_HOTSPOT_MONITORS_H
#define SYMBOLIZE_HOTSPOT_MONITORS_H

#include "symbolize/runtime/hotspot_code.h"

/* A thread of a JVM that waits for a monitor (synchronized), and who has that; thread numbers as the process has them. */
struct hotspot_monitor {
	uint32_t tid, holder_tid;
};

/*
 * Appends those that two looks at the process's memory agree on: HotSpot tells debuggers where each thread's pending
 * monitor and a monitor's owner are.  Nothing where this version does not tell.  The memory is not trusted: counts are bounded, and what makes no sense is left out.
 */
void hotspot_monitors(const struct hotspot *h, GArray *ret);

/* A monitor that somebody waits for, virtual threads among them, and who has it: since JDK 24. */
struct hotspot_contended {
	uint64_t object;	/* that is locked; 0: not known */
	uint64_t owner;		/* the number of a thread, virtual or not */
};

/* Appends them; false: this version does not tell, or there are more than are looked at. */
bool hotspot_contended(const struct hotspot *h, GArray *ret);

#endif
