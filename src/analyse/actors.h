/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef ANALYSE_ACTORS_H
#define ANALYSE_ACTORS_H

#include "profile/profile.h"

/* Who waits and who wakes: single threads, groups of threads, interrupts. */

enum actor_by {
	ACTOR_BY_ROLE = 0,	/* by roles.h */
	ACTOR_BY_THREAD,
	ACTOR_BY_COMM,
	ACTOR_BY_PROCESS,
	ACTOR_BY_COUNT
};
const char *actor_by_name(enum actor_by by);
const char *actor_by_names(void);	/* "role, thread, ..." for messages */
bool actor_by_parse(const char *name, enum actor_by *ret_by);

enum actor_kind {
	ACTOR_THREADS,
	ACTOR_INTERRUPT,	/* or a timer */
	ACTOR_UNKNOWN,		/* a waker that could not be recorded; there is exactly one, the last actor */
};
const char *actor_kind_text(enum actor_kind kind);	/* "threads", ... */

struct actor {
	const char *name;	/* not escaped; a thread may have the name of an interrupt */
	const char *comm, *process;	/* of the first thread; "" if unknown */
	enum actor_kind kind;
	bool is_kernel;		/* a kernel thread */
	uint32_t threads_cnt;	/* recorded threads; 0: known only as a waker */
	uint32_t pid, tid;	/* pid if all threads are of one process, tid if it is a single thread; else 0 */
	/* sums of the threads' accounts */
	uint64_t observed_ns, on_cpu_ns, blocked_ns, runnable_ns, preempted_ns;
};

struct actors {
	enum actor_by by;
	GArray *rows;		/* struct actor */
	uint32_t *of_thread;	/* by thread of the profile: index in rows */
	uint32_t *of_waker;	/* the same by waker */
	uint32_t unknown;
	/* private */
	struct strset *names;
};

struct plumbing;

/* Borrows p, which must outlive the result.  plumbing: of p; NULL: makes its own. */
struct actors *actors_new(const struct profile *p, struct plumbing *plumbing, enum actor_by by);
void actors_free(struct actors *a);	/* NULL is fine */

static inline const struct actor *actors_get(const struct actors *a, uint32_t i)
{
	return &g_array_index(a->rows, struct actor, i);
}

/*
 * For each waker its thread in the profile; UINT32_MAX: none.  If a thread has several rows due to an exec, the name
 * decides.  Free with g_free().
 */
uint32_t *actors_threads_of_wakers(const struct profile *p);

/* Length of a thread's name without a trailing number. */
size_t actors_kind_bytes(const char *comm);
/* The same text for threads of one process whose names differ by a number, or that have none; for g_free(). */
char *actors_kind_key(const struct thread *t);
/* Whether names differ only by a trailing number, like "worker-3" and "worker-12". */
bool actors_same_kind(const char *comm, const char *other);

/*
 * For each thread its name, or its kind "worker-*" if a process has several that differ only by number.  Free with
 * g_free(); texts are valid as long as p and `strings`.
 */
const char **actors_kind_names(const struct profile *p, GStringChunk *strings);

/*
 * For each thread its process's name, or the kind "worker-*" if processes have names that differ only by numbers, at
 * the end or between other characters: "shard 1/4", "billing:2".  Equal texts share a pointer.  Lifetime as above.
 */
const char **actors_programs(const struct profile *p, GStringChunk *strings);

#endif
