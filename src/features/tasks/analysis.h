/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef FEATURES_TASKS_ANALYSIS_H
#define FEATURES_TASKS_ANALYSIS_H

#include "features/tasks/rows.h"
#include "profile/profile.h"

/* Summarizes a population of tasks: who waits where for what, and who has nothing to do. */

/* "goroutine", "virtual thread", "greenlet", "task" */
const char *task_noun(enum tasks_kind kind);

static inline bool task_is_of_python(enum tasks_kind kind)
{
	return kind == TASKS_ASYNCIO || kind == TASKS_GREENLET;
}

/* Why a task has nothing to do: "waits for connections", "background work of the runtime". NULL: it may have work. */
const char *task_idle(enum tasks_kind kind, const struct task_row *row);

/*
 * The innermost function that belongs to the program or its dependencies, not to the language's own library. NULL:
 * none.
 */
const struct task_frame *task_own_frame(enum tasks_kind kind, const struct task_row *row);

/*
 * The library function that the program's function awaits or calls, "Lock.acquire", "sync.(*Mutex).Lock". NULL: none.
 */
const char *task_call(enum tasks_kind kind, const struct task_row *row);

/* A goroutine in a pool's function that hands out a connection (redigo, go-redis, pgx), before it has one. */
bool task_go_awaits_connection(const struct task_row *row);

/* Does the function wait for a connection of a pool to be free or made? */
bool task_is_pool_call(const char *call);

/*
 * The function of package sync in which a goroutine waits, also when called by a library: "sync.(*Mutex).Lock". NULL:
 * none.
 */
const char *task_lock_function(const struct task_row *row);

/* Does it run below a handler of a Go or Java server, so that a client waits for its answer? */
bool task_answers_request(const struct task_row *row);
/* If it waits for the network: is it for the rest of its client's request? */
bool task_reads_request(const struct task_row *row);
bool task_reads_answer(const struct task_row *row);	/* of a server that it has asked */

/* Tasks that are described by one sentence. */
struct task_group {
	const char *state, *reason;
	const struct task_frame *at;	/* NULL: no function of the program */
	const char *creator;		/* function; NULL: unknown */
	const char *call;		/* from task_call() */
	uint64_t parent;		/* as in struct task_row */
	const struct task_row *example;	/* one of its rows */
	double tasks;
	uint64_t task_ns;
	double variance;		/* of task_ns */
};

struct task_groups {
	GArray *groups;		/* struct task_group: not idle, most tasks first */
	GArray *reasons;	/* grouped by state and reason only, including idle ones */
	GArray *idle;		/* struct task_group; `reason` says why they are idle */
	double idle_tasks;
	uint64_t idle_ns;
};

void task_groups_make(struct task_groups *g, const struct tasks *t);
void task_groups_clear(struct task_groups *g);

/* State and reason in words: "chan send", "runnable", "a system call". */
const char *task_reason_text(const char *state, const char *reason);

/*
 * The tasks of a recording as the rows of a separate profile, so that pictures and export formats can show them: task
 * time instead of off-CPU time, one process per population, the mean number of tasks as count. What they wait for is
 * the innermost frame, in brackets; idle tasks are below a frame "[idle]". It contains no time of threads. NULL:
 * there are no tasks. Free with profile_free().
 */
struct profile *task_profile_new(const struct profile *p);
/* Are the tasks of such a row idle? */
bool task_profile_is_idle(const struct profile *tasks, const struct wait *w);

/* Does the function belong to the Java platform? */
bool task_java_is_library(const char *name);
/* Like task_idle(), for waiting tasks. */
const char *task_java_idle(const struct task_row *row);
bool task_java_answers_request(const struct task_row *row);
bool task_java_reads_socket(const struct task_row *row);
/* Does it wait within a client call, of HTTP or a database? */
bool task_java_has_asked(const struct task_row *row);
/* Does it wait for a connection of a pool? */
bool task_java_awaits_connection(const struct task_row *row);

#endif
