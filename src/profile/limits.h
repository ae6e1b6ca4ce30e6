/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef PROFILE_LIMITS_H
#define PROFILE_LIMITS_H

#include "profile/profile.h"

/*
 * What held a process or thread up from outside, as it was when the recording ended: no wait tells it.  At most
 * PROFILE_LIMITS_MAX.
 */
#define PROFILE_LIMITS_MAX 256

enum profile_limit_kind {
	LIMIT_STOPPED,	/* a process at the other end of somebody's wait is stopped; its text is its name */
	LIMIT_CPUS,	/* the thread may run on fewer CPUs than there are; the text lists them: "0-1" */
	LIMIT_QUOTA,	/* of its control group: "cpu.max is 0.20 CPUs" */
	LIMIT_DISK,	/* "io.max limits reads of vda to 1.00 MiB/s" */
	LIMIT_MEMORY,	/* it is reached: "memory.high is 40.0 MiB, of which 39.9 MiB are in use" */
	LIMIT_FROZEN,	/* the control group that froze its process, if it still is frozen, else that of the process: "/shop/pay" */
	LIMIT_POLICY,	/* the thread was throttled by it: "SCHED_DEADLINE: 3.00 ms of each 30.0 ms" */
	LIMIT_KIND_COUNT
};

struct profile_limit {
	uint8_t kind;	/* enum profile_limit_kind */
	uint32_t pid, tid;	/* tid 0: of the process */
	const char *text;	/* the profile's; not escaped */
};

/* Does nothing where there are too many already, or the kind is none. */
void profile_add_limit(struct profile *p, enum profile_limit_kind kind, uint32_t pid, uint32_t tid, const char *text);
/* Of the process, or, tid not 0, of that thread; NULL: none is known. */
const struct profile_limit *profile_find_limit(const struct profile *p, enum profile_limit_kind kind, uint32_t pid,
					       uint32_t tid);

/* As a recording keeps them, "KIND PID TID TEXT" a line; the caller's.  One with a newline is left out. */
char *profile_limits_text(const struct profile *p);
/* Lines that are no limits are passed over. */
void profile_read_limits(struct profile *p, const char *text);

#endif
