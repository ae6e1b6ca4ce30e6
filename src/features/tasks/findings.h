/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef FEATURES_TASKS_FINDINGS_H
#define FEATURES_TASKS_FINDINGS_H

#include <stdbool.h>

#include "analyse/query.h"
#include "explain/kinds/at_once.h"
#include "features/tasks/rows.h"
#include "profile/profile.h"

/*
 * What goroutines, tasks of asyncio and virtual threads of Java wait for that hold no thread, as findings of a recording beside those of its
 * threads.  Their time is that of tasks, and is in no sum of threads.
 */

struct task_wait {
	enum tasks_kind kind;
	uint32_t pid;
	const char *program;
	const char *state, *reason;	/* as in a task_row; reason "": none */
	const char *call, *function, *file;	/* as in a task_group; "": none */
	const char *lock;	/* as task_lock_function() has it; "": none */
	const char *path;	/* the program's own functions, innermost first: " < " between them */
	const char *creator;	/* "": not known */
	const char *idle;	/* why it has nothing to do; "": it may have */
	bool answers_request;	/* somebody waits for it */
	bool writes;		/* of Go: to a socket that has no room */
	bool reads_request;	/* more of it is awaited from its client */
	bool awaits_connection;	/* of asyncio and Java: a pool has none to give it */
	bool is_sleep;
	bool reads_socket, has_asked;	/* of Java; the second: within a client's call */
	uint32_t line;
	uint64_t looks, task_ns;
	double tasks;		/* mean number */
	/* worked out by task_findings_new() */
	uint64_t rank_ns;	/* 0: no finding */
	uint64_t busy_ns;	/* of all tasks of the process that are not idle */
	/* what one does that holds the lock, or is to send or receive; NULL: not known */
	const struct task_wait *meanwhile;
	bool is_held_there;	/* by it, as the looks tell at which others wait */
	const char *peer;	/* who answers nearly all of what its process waits for, "127.0.0.1:6379 (redis-server)"; NULL */
	const struct waker *ended_by;	/* who ends most of the process's waits for the network; NULL: nobody, or it is the peer */
	double ended_percent;	/* of that */
	/* of all that its process waits for in epoll sets; nothing where answers take their time */
	struct at_once at_once;
	const char *says, *advice;	/* "wait for a mutex", of several */
};

struct task_findings {
	GArray *rows;	/* struct task_wait, findings first, by rank */
	guint cnt;	/* of the findings */
	/* inside */
	GStringChunk *strings;
};

/* Of the tasks of processes with a thread in the selection; NULL: of all.  p stays in use. */
struct task_findings *task_findings_new(const struct profile *p, const struct selection *selection);

struct finding;

/*
 * Is that finding of threads nothing beside those of its program's tasks?  Threads only carry tasks there, so their time
 * counts by the tasks that it may hold up.  Those are at most all of them at a time: threads that were held up for less
 * than a twentieth of the window hold up less than that of any task's time.
 */
bool task_findings_outweigh(const struct task_findings *f, const struct finding *row, uint64_t window_ns);

/*
 * Most of the time of the process's tasks is that finding's, and its loop's thread only waits for answers: to those few
 * tasks that have asked.
 */
struct findings;
bool task_findings_precede(const struct findings *f, const struct task_wait *w, const struct finding *row);

/* What one does that has the lock for which w waits, by when it was there; NULL: not known. */
const struct task_wait *task_holder(const struct profile *p, const struct task_findings *f, const struct task_wait *w);

void task_findings_free(struct task_findings *f);	/* NULL is fine */

#endif
