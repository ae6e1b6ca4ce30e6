/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef ANALYSE_ACTORS_H
#define ANALYSE_ACTORS_H

#include "profile/profile.h"

/* Who waits and who wakes: threads, alone or together, and interrupts. */

enum actor_by {
	ACTOR_BY_ROLE = 0,	/* roles.h */
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
	ACTOR_UNKNOWN,		/* a waker that could not be recorded; there is one, the last */
};
const char *actor_kind_text(enum actor_kind kind);	/* "threads", ... */

struct actor {
	const char *name;	/* not escaped; a thread may have called itself like an interrupt */
	const char *comm, *process;	/* of the first thread; "" where unknown */
	enum actor_kind kind;
	bool is_kernel;		/* a kernel thread */
	uint32_t threads_cnt;	/* of those that were recorded; 0: it is only known as a waker */
	uint32_t pid, tid;	/* where all threads are of one process; where it is one thread; else 0 */
	/* the sum of the threads' accounts */
	uint64_t observed_ns, on_cpu_ns, blocked_ns, runnable_ns, preempted_ns;
};

struct actors {
	enum actor_by by;
	GArray *rows;		/* struct actor */
	uint32_t *of_thread;	/* index in rows, of each thread of the profile */
	uint32_t *of_waker;	/* of each waker */
	uint32_t unknown;
	/* private */
	struct strset *names;
};

struct plumbing;

/* Borrows from p, which must outlive the result.  plumbing: of p; NULL: its own. */
struct actors *actors_new(const struct profile *p, struct plumbing *plumbing, enum actor_by by);
void actors_free(struct actors *a);	/* NULL is fine */

static inline const struct actor *actors_get(const struct actors *a, uint32_t i)
{
	return &g_array_index(a->rows, struct actor, i);
}

/*
 * For each waker the thread of the profile that it is, UINT32_MAX: none.  Where a thread went on as another program
 * there are several, and the name decides.  Free with g_free().
 */
uint32_t *actors_threads_of_wakers(const struct profile *p);

/* Bytes of a thread's name without the number at its end. */
size_t actors_kind_bytes(const char *comm);
/* Are these names of one kind of thread: equal but for a number at the end, as "worker-3" and "worker-12"? */
bool actors_same_kind(const char *comm, const char *other);

/*
 * Of each thread its name, or that of its kind, "worker-*", where a process has several that differ by their number
 * only.  Free with g_free(); the texts live as long as p and `strings`.
 */
const char **actors_kind_names(const struct profile *p, GStringChunk *strings);

/*
 * Of each thread its process's name, or that of its kind, "worker-*", where processes have names that differ by numbers
 * only, at the end or between other signs: "shard 1/4", "billing:2".  Equal ones are one pointer.  As above.
 */
const char **actors_programs(const struct profile *p, GStringChunk *strings);

#endif
