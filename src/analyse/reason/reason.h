/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef ANALYSE_REASON_REASON_H
#define ANALYSE_REASON_REASON_H

#include <stdbool.h>

/* What a thread waits for, from a closed set: docs/reasons.md.  Found by rules, not stored in recordings. */

enum reason {
	REASON_OTHER = 0,
	REASON_NETWORK_RECEIVE,
	REASON_NETWORK_SEND,
	REASON_NETWORK_CONNECT,
	REASON_NETWORK_ACCEPT,
	REASON_DISK_READ,
	REASON_DISK_WRITE,
	REASON_DISK_SYNC,
	REASON_DISK_METADATA,
	REASON_LOCK_MUTEX,
	REASON_LOCK_RWLOCK,
	REASON_LOCK_CONDITION,
	REASON_LOCK_SEMAPHORE,
	REASON_LOCK_GIL, /* an interpreter's global lock */
	REASON_LOCK_OTHER, /* another futex, or a lock implemented by the application */
	REASON_LOCK_KERNEL, /* also file locks */
	REASON_LOCK_PINNED, /* a virtual thread of Java that keeps its carrier while waiting */
	REASON_EVENT_LOOP,
	REASON_POOL_IDLE, /* a worker waiting for work */
	REASON_SLEEP, /* a timer */
	REASON_CHILD_EXIT, /* of a process, or of a thread being joined */
	REASON_PIPE, /* also message queues */
	REASON_TERMINAL,
	REASON_MEMORY_FILE, /* page fault: from a file */
	REASON_MEMORY_SWAP, /* page fault: from swap */
	REASON_MEMORY_RECLAIM,
	REASON_CPU_THROTTLED, /* by its cgroup's CPU quota */
	REASON_CPU_QUEUE, /* runnable: it waits for a CPU */
	REASON_STOPPED, /* by a signal or debugger */
	REASON_DEVICE,
	REASON_DECISION, /* the kernel waits for another program's decision */
	REASON_ON_CPU, /* not a wait: for rows of samples */
	REASON_COUNT
};

/* "network.receive": a stable id for programs and rule files; the part before the dot is the family. */
const char *reason_name(enum reason reason);
/* "network receive": for people. */
const char *reason_text(enum reason reason);
/* "waits for data from the network": what the thread does meanwhile, for people. */
const char *reason_says(enum reason reason);
/* Advice in one sentence, for rules that have none. */
const char *reason_advice(enum reason reason);
bool reason_parse(const char *name, enum reason *ret_reason);
/* Names separated by commas, for messages. */
const char *reason_names(void);

/* Coarse groups for bars and thresholds. */
enum reason_family {
	FAMILY_OTHER = 0,
	FAMILY_NETWORK,
	FAMILY_DISK,
	FAMILY_LOCK,
	FAMILY_EVENT_LOOP,
	FAMILY_POOL_IDLE,
	FAMILY_SLEEP,
	FAMILY_CHILD_EXIT,
	FAMILY_PIPE,
	FAMILY_TERMINAL,
	FAMILY_MEMORY,
	FAMILY_CPU,
	FAMILY_STOPPED,
	FAMILY_DEVICE,
	FAMILY_DECISION,
	FAMILY_ON_CPU,
	FAMILY_COUNT
};
enum reason_family reason_family(enum reason reason);
const char *reason_family_name(enum reason_family family); /* "network" */
/* A wait until somebody signals: at a condition, a semaphore, or a futex that may be either. */
static inline bool reason_is_signalled(enum reason reason)
{
	return reason == REASON_LOCK_CONDITION || reason == REASON_LOCK_SEMAPHORE || reason == REASON_LOCK_OTHER;
}
/* The same, also if it is known to be for work. */
static inline bool reason_is_parked(enum reason reason)
{
	return reason_is_signalled(reason) || reason == REASON_POOL_IDLE;
}
/* Whether `reason` has that name or is of that family: both "lock" and "lock.mutex" match a mutex. */
bool reason_is_named(enum reason reason, const char *name);

#endif
