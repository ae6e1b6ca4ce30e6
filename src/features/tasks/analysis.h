/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef FEATURES_TASKS_ANALYSIS_H
#define FEATURES_TASKS_ANALYSIS_H

#include "features/tasks/rows.h"
#include "profile/profile.h"

/* What is to be said of a population of tasks: who waits where for what, and who merely has nothing to do. */

/* "goroutine", "virtual thread", "greenlet", "task" */
const char *task_noun(enum tasks_kind kind);

static inline bool task_is_of_python(enum tasks_kind kind)
{
	return kind == TASKS_ASYNCIO || kind == TASKS_GREENLET;
}

/* Why a task has nothing to do: "waits for connections", "background work of the runtime"; NULL: it may have. */
const char *task_idle(enum tasks_kind kind, const struct task_row *row);

/*
 * The innermost function of the program itself or of what it uses, not of the language's own library; NULL: there is
 * none.
 */
const struct task_frame *task_own_frame(enum tasks_kind kind, const struct task_row *row);

/*
 * The function of the library that the program's own awaits or calls, "Lock.acquire", "sync.(*Mutex).Lock"; NULL:
 * none.
 */
const char *task_call(enum tasks_kind kind, const struct task_row *row);

/* Does a goroutine wait in that function until a connection of a pool is free, or made? */
bool task_is_pool_call(const char *call);

/*
 * The function of package sync that a goroutine waits in, whatever function of a library called that:
 * "sync.(*Mutex).Lock"; NULL: none.
 */
const char *task_lock_function(const struct task_row *row);

/* A handler of a server of Go's or Java's runs below it: somebody waits for its answer. */
bool task_answers_request(const struct task_row *row);
/* Does it wait, as it waits for the network, for more of its client's request? */
bool task_reads_request(const struct task_row *row);

/* Tasks that are told by one sentence. */
struct task_group {
	const char *state, *reason;
	const struct task_frame *at;	/* NULL: nothing of the program's own */
	const char *creator;		/* function, NULL: not known */
	const char *call;		/* as task_call() has it */
	uint64_t parent;		/* as in a row */
	const struct task_row *example;	/* one of its rows */
	double tasks;
	uint64_t task_ns;
	double variance;		/* of task_ns */
};

struct task_groups {
	GArray *groups;		/* struct task_group: not idle, most tasks first */
	GArray *reasons;	/* the same by state and reason alone, idle ones too */
	GArray *idle;		/* struct task_group: why is in `reason` */
	double idle_tasks;
	uint64_t idle_ns;
};

void task_groups_make(struct task_groups *g, const struct tasks *t);
void task_groups_clear(struct task_groups *g);

/* What a state and a reason are called together: "chan send", "runnable", "a system call". */
const char *task_reason_text(const char *state, const char *reason);

/*
 * The tasks of a recording as rows of a profile of their own, so that pictures and other programs' formats show them:
 * task time in place of off-CPU time, a process for each population, the mean number of tasks as count.  What they wait
 * for is the innermost frame, in brackets; those that have nothing to do stand below a frame "[idle]".  Threads' time
 * is no part of it.  NULL: there are none.  Free with profile_free().
 */
struct profile *task_profile_new(const struct profile *p);
/* Of such a row: do its tasks have nothing to do? */
bool task_profile_is_idle(const struct profile *tasks, const struct wait *w);

/* Is the function Java's own? */
bool task_java_is_library(const char *name);
/* As task_idle() has it, of one that waits. */
const char *task_java_idle(const struct task_row *row);
bool task_java_answers_request(const struct task_row *row);
bool task_java_reads_socket(const struct task_row *row);
/* It waits within a client's call, HTTP or a database. */
bool task_java_has_asked(const struct task_row *row);
/* A pool has no connection to give it. */
bool task_java_awaits_connection(const struct task_row *row);

#endif
