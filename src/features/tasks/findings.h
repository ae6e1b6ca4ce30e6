/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef FEATURES_TASKS_FINDINGS_H
#define FEATURES_TASKS_FINDINGS_H

#include <stdbool.h>

#include "analyse/query.h"
#include "explain/kinds/at_once.h"
#include "features/tasks/rows.h"
#include "profile/profile.h"

/*
 * What goroutines, asyncio tasks and virtual threads without a thread wait for, as findings beside those of threads.
 * Their time is task time and never added to that of threads.
 */

/* Mean number of asyncio tasks, runnable ones, or of those that only ask: fewer are no bottleneck. */
#define TASKS_MIN 0.5

struct finding;
struct findings;

struct task_wait {
	enum tasks_kind kind;
	uint32_t pid;
	const char *program;
	const char *state, *reason;	/* as in struct task_row; reason "": none */
	const char *call, *function, *file;	/* as in struct task_group; "": none */
	const char *lock;	/* from task_lock_function(); "": none */
	const char *path;	/* the program's own functions, innermost first, separated by " < " */
	const char *creator;	/* "": unknown */
	const char *idle;	/* why it is idle; "": it may not be */
	bool answers_request;	/* a client waits for it */
	bool writes;		/* Go: blocked by a full socket buffer */
	bool reads_request;	/* it waits for the rest of its client's request */
	bool reads_answer;	/* or for the rest of an answer */
	bool awaits_connection;	/* asyncio and Java: no connection of a pool is free */
	bool is_sleep;
	bool is_within;		/* it waits for others of its program, or for a thread */
	bool reads_socket, has_asked;	/* Java; has_asked: within a client call */
	uint32_t line;
	uint64_t looks, task_ns;
	double tasks;		/* mean number of tasks */
	/* filled in by task_findings_new() */
	uint64_t rank_ns;	/* 0: no finding */
	uint64_t dial_ns, handshake_ns;	/* of a wait for Go's HTTP client: time in which it dials, and does TLS */
	uint64_t busy_ns;	/* of all non-idle tasks of the process */
	/* the task that holds the lock, or should send or receive; NULL: unknown */
	const struct task_wait *meanwhile;
	const struct finding *behind;	/* of threads: what the lock's holder waits for meanwhile; NULL */
	const struct finding *under;	/* of threads: what is waited for under the lock; NULL */
	bool is_in_call;	/* that is in the call that takes the lock, else in the function that calls it */
	bool is_held_there;	/* looks with waiters show that it holds the lock there */
	const char *itself;	/* "127.0.0.1:8018 (itself)": whom it asks, or those do for which it waits; NULL */
	const char *peer;	/* who answers nearly all waits of the process: "127.0.0.1:6379 (redis-server)" */
	uint32_t server;	/* process of peer; 0: unknown */
	const struct waker *ended_by;	/* who ends most of the process's network waits; NULL: unknown, or `peer` */
	double ended_percent;	/* share of ended_by */
	/* waits of the process in epoll sets that are answered at once; none if answers take time */
	struct at_once at_once;
	const struct profile_limit *drops;	/* datagrams for its process that were dropped meanwhile; NULL: none */
	const char *meant;	/* advice, as it may well wait so on purpose: for events, work, its own limiter; NULL: no sign of that */
	const char *says, *advice;	/* "wait for a mutex", in the plural */
};

struct task_findings {
	GArray *rows;	/* struct task_wait, findings first, by rank */
	guint cnt;	/* number of findings */
	/* private */
	GStringChunk *strings;
};

/*
 * Tasks of processes with a thread in the selection; NULL: all tasks. Borrows p, and the findings of its threads, with
 * which they are told; NULL: those are not known.
 */
struct task_findings *task_findings_new(const struct profile *p, const struct selection *selection,
					const struct findings *findings);

/*
 * Is a finding of threads negligible beside those of the program's tasks? The threads only carry tasks, so their time
 * counts as the tasks that it may hold up, at most all of them. Threads held up for less than a twentieth of the
 * window hold up less than that of each task's time.
 */
bool task_findings_outweigh(const struct task_findings *f, const struct finding *row, uint64_t window_ns);

/*
 * Does the finding have most of the time of the process's tasks, while the loop's thread only waits for answers,
 * which only those few tasks have asked for?
 */
bool task_findings_precede(const struct findings *f, const struct task_wait *w, const struct finding *row);

/* What the task does that holds the lock w waits for, found by when it was present. NULL: unknown. */
const struct task_wait *task_holder(const struct profile *p, const struct task_findings *f, const struct task_wait *w);

void task_findings_free(struct task_findings *f);	/* NULL is fine */

#endif
