/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef ANALYSE_LOCKS_H
#define ANALYSE_LOCKS_H

#include "analyse/query.h"
#include "profile/profile.h"

/* Who waited for which lock, and who held it. */

/* A thread that held or released a lock while others waited for it. */
struct lock_holder {
	const char *comm;	/* "" if the thread was not recorded; for an interrupt its name */
	uint32_t pid, tid;	/* tid 0: an interrupt; only pid 0: unknown; tid of the first thread found */
	uint32_t threads_cnt;	/* number of threads with this name and place */
	uint32_t user, kernel;	/* where it released the lock; 0: unknown */
	uint64_t blocked_ns, count;	/* of the waits */
};

/* Where in the program threads waited for it. */
struct lock_place {
	const char *function;	/* of the program */
	uint32_t frame;		/* a frame with that name */
	uint64_t blocked_ns, count;
};

/* All waits for one lock. */
struct lock_row {
	/* its most informative object; its waits may have other objects with the same word or place */
	const struct object *object;
	const char *process;	/* of the waiters; "" if there are several */
	uint64_t blocked_ns;	/* contended: until the waiter was made runnable */
	uint64_t runnable_ns;
	uint64_t count, max_ns;
	uint32_t threads_cnt;
	/* struct lock_place, longest first; waits without a function of the program are in none */
	GArray *places;
	GArray *holders;	/* struct lock_holder that had it when a wait began; longest first */
	GArray *releasers;	/* the same for those who woke waiters, by place; needs --wakers */
};

struct lock_table {
	GArray *rows;		/* struct lock_row, longest blocked first, then by name */
	uint64_t blocked_ns;	/* of all rows */
	uint64_t asleep_ns;	/* of all sleeps in states in which threads wait for locks: the base of shares */
};

/* selection NULL: everything.  Borrows from p. */
struct lock_table *lock_table_new(const struct profile *p, const struct selection *selection);
void lock_table_free(struct lock_table *t);	/* NULL is fine */

/*
 * By object's index + 1, and 0: the most informative object for the same lock, the first of several.  A word of a
 * process is one lock, whatever its waits' stacks say about its kind.  Free with g_free().
 */
uint32_t *lock_ids_new(const struct profile *p);

/* Whether it is a lock with a holder.  Conditions, semaphores and thread exits only are waited for. */
bool lock_is_held(const struct object *o);

/* Whether its name is an address on heap or stack, which means nothing to people or in another run. */
bool lock_is_nameless(const struct object *o);

/* "mutex queue_lock": a short name for the lock. */
void lock_append_name(GString *s, const struct object *o);

/*
 * What threads waited for: files, sockets with their peers, pipes, children, locks.  profile_wait_object() returns it
 * for a wait, NULL if not recorded or unknown.  object_kind_text() names its kind.
 */

/* "socket 10.0.0.5:5432 (postgres)", "mutex queue_lock", "file /var/lib/x": short, not escaped. */
void object_append_label(GString *s, const struct object *o);
/* The same without the kind if the name implies it, as with paths, addresses and pipes. */
void object_append_short(GString *s, const struct object *o);

/* The same for a wait; "not known" without an object, "run queue" if it only queued for a CPU. */
void object_append_wait_label(GString *s, const struct profile *p, const struct wait *w);

/*
 * Adds a frame "-> 10.0.0.5:5432 (postgres)" as leaf of each stack whose wait has a known object, so that pictures and
 * other formats show it.  It is a kernel frame without a module.
 */
void objects_as_frames(struct profile *p);
/* Whether it is such a frame.  Rules ignore these; if the stack was lost, the object is lost too. */
bool object_is_frame(const struct frame *f);

#endif
