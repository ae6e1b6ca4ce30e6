/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef PROFILE_UNKNOWN_H
#define PROFILE_UNKNOWN_H

#include <stdbool.h>
#include <stdint.h>

/*
 * What another tool's format does not tell, or looks do not.  Of a traced recording nothing is unknown in this sense.
 * What is unknown is 0, and nobody shows it: where the parts of a wait are unknown all of its time is in blocked_ns,
 * and its state is '?'.
 */
enum profile_unknown {
	UNKNOWN_STATES = 1 << 0,
	UNKNOWN_PARTS = 1 << 1,		/* of off-CPU time: blocked, runnable, preempted */
	UNKNOWN_COUNTS = 1 << 2,	/* of waits */
	UNKNOWN_DURATIONS = 1 << 3,	/* of single waits: maximum, histogram */
	UNKNOWN_ACCOUNTS = 1 << 4,	/* of threads: observed, on-CPU time, switches */
	UNKNOWN_IDS = 1 << 5,		/* of processes and threads */
	UNKNOWN_WINDOW = 1 << 6,	/* how long was observed */
	UNKNOWN_HOST = 1 << 7,		/* where: host, kernel, CPUs, the recorder */
	UNKNOWN_STACK_ENDS = 1 << 8,	/* whether stacks are complete */
};
#define UNKNOWN_ALL ((1 << 9) - 1)
/* what recordings of our own may lack, not those made of other tools' profiles */
#define UNKNOWN_RECORDED (UNKNOWN_STATES | UNKNOWN_PARTS | UNKNOWN_COUNTS | UNKNOWN_DURATIONS | UNKNOWN_ACCOUNTS)
/* "states, wakers, ..." for people: what of a profile is unknown; free with g_free(). */
char *profile_unknown_text(uint32_t unknown, bool has_wakers);

#endif
