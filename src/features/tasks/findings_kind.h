/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef FEATURES_TASKS_FINDINGS_KIND_H
#define FEATURES_TASKS_FINDINGS_KIND_H

#include <string.h>

#include "features/tasks/findings.h"

/* What a task waits for. */
enum awaited {
	OTHER,
	MUTEX,
	RWLOCK,
	RECEIVE,
	POOL,
	SEND,
	PLACE,
	PEERS,
	GROUP,
	CONDITION,
	SLEEP,
	LIMITER,	/* a library's limit of its own rate */
	NETWORK,
	FULL,
	REQUEST,
	SELECT,
	LIBRARY,
	CONNECTIONS,
	RUNNABLE,
	NOTHING,
	SEMAPHORE,
	LOCK,
	ACQUIRE,
	PUT,
	CONNECT,
	HANDSHAKE,
	POOLED, /* asyncio */
	LIMITED, /* asyncio: a wait with a time limit, for anything */
	SYSTEM_CALL, /* it is on a thread and covered by the findings of threads */
	MONITOR,
	JAVA_LOCK,
	TAKE,
	RESULT,
	JAVA_POOLED,
	CARRIERLESS, /* Java */
	PINNED, /* likewise covered by findings of threads */
};

#define HELD_UP_PART 20	/* 1/n of the window: less is negligible beside the tasks' waits */

enum awaited awaited_of(const struct task_wait *w);
/* What is said of tasks that wait so, and what to do; where they have no advice of their own, that of threads. */
const char *awaited_says(enum awaited k);
const char *awaited_advice(enum awaited k);

/* Of a process that asks several servers, the one that the task's call is for; NULL: not known. */
const char *task_peer_of_call(const struct profile *p, const struct task_wait *w);

/*
 * Ranks tasks of clients behind those, or on a whole machine behind the threads (NULL: not known), of whom they ask; of
 * rows that are ranked by themselves.
 */
void task_clients_rank(const struct profile *p, struct task_findings *f, const struct findings *findings);

/* Sets `itself`, with words and advice, of tasks that ask their own service, and of those that are behind such ones. */
void task_itself_find(const struct profile *p, const struct task_findings *f, struct task_wait *w);

/* Is the function on the path "f < g < h", as a whole name? */
bool task_passes(const char *path, const char *function);
bool task_is_at_lock(const struct task_wait *w);

/*
 * Sets `behind` of those that wait for a lock whose holder is in a system call, for which a finding of threads tells.
 * Sets `under` of others to what threads wait for in the function that takes the lock.
 */
void task_threads_find(struct task_findings *f, const struct findings *findings);

static inline bool mentions(const char *text, const char *part)
{
	return strstr(text, part) != NULL;
}

static inline bool ends_with_function(const char *name, const char *function)
{
	const char *point = strrchr(name, '.');

	return strcmp(point ? point + 1 : name, function) == 0;
}

#endif
