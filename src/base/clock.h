/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H

#include <stdint.h>
#include <sys/types.h>
#include <time.h>

static inline uint64_t clock_ns(clockid_t clock)
{
	struct timespec ts = { 0 };

	clock_gettime(clock, &ts);
	return (uint64_t)ts.tv_sec * 1000000000ULL + (uint64_t)ts.tv_nsec;
}

/*
 * CPU time of a process and of its threads, also those that have ended. Anybody may ask, and it never waits. A process
 * for which it is what it was has not run since. 0: it has ended.
 */
static inline uint64_t clock_of_process_ns(pid_t pid)
{
	clockid_t clock;

	return pid > 0 && !clock_getcpuclockid(pid, &clock) ? clock_ns(clock) : 0;
}

#endif
