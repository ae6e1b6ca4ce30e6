/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef ANALYSE_LOCKS_H
#define ANALYSE_LOCKS_H

#include "analyse/query.h"
#include "profile/profile.h"

/* Who waited for which lock, and because of whom. */

/* Who kept a lock for the time that others waited for it. */
struct lock_holder {
	const char *comm;	/* "" when the thread is not in the recording; of an interrupt its name */
	uint32_t pid, tid;	/* 0: an interrupt; pid alone 0: not known; tid of the first met */
	uint32_t threads_cnt;	/* with this name and place */
	uint32_t user, kernel;	/* where it let the lock go; 0: none, of those who only held it */
	uint64_t blocked_ns, count;	/* of the waits */
};

/* Where in the program threads waited for it. */
struct lock_place {
	const char *function;	/* of the program */
	uint32_t frame;		/* one of those of that name */
	uint64_t blocked_ns, count;
};

/* All waits for one lock. */
struct lock_row {
	const struct object *object;	/* that tells most of it; the others are waits for the same word or place */
	const char *process;	/* of the waiters; "" when there are several */
	uint64_t blocked_ns;	/* contended: until somebody made the waiter runnable */
	uint64_t runnable_ns;
	uint64_t count, max_ns;
	uint32_t threads_cnt;
	/* struct lock_place, the longest first; waits without a function of the program are in none */
	GArray *places;
	GArray *holders;	/* struct lock_holder: had it when the wait began; the longest first */
	GArray *releasers;	/* the same of those who woke the waiters, by where they did it, with --wakers */
};

struct lock_table {
	GArray *rows;		/* struct lock_row, the longest blocked first; ties by name */
	uint64_t blocked_ns;	/* of all rows */
	uint64_t asleep_ns;	/* of all sleeps in the state that waits for locks have: what the share is of */
};

/* selection NULL: everything.  Borrows from p. */
struct lock_table *lock_table_new(const struct profile *p, const struct selection *selection);
void lock_table_free(struct lock_table *t);	/* NULL is fine */

/*
 * For index + 1 of each object, and 0, that of the object which tells most of the same lock, the first of
 * several: a word of a process is one lock, whatever its waits' stacks say of its kind.  Free with g_free().
 */
uint32_t *lock_ids_new(const struct profile *p);

/* Is it a lock that somebody holds against others?  Conditions, semaphores, threads that end are merely waited for. */
bool lock_is_held(const struct object *o);

/* Is its name an address on a heap or stack?  That says nothing to people, and nothing of another run. */
bool lock_is_nameless(const struct object *o);

/* "mutex queue_lock": a wait's lock in few words. */
void lock_append_name(GString *s, const struct object *o);

/*
 * What threads waited for: files, sockets with their peers, pipes, children, locks.  Of one wait it is
 * profile_wait_object(): NULL where it was not asked for, or is not known; its kind is a word by object_kind_text().
 */

/* "socket 10.0.0.5:5432 (postgres)", "mutex queue_lock", "file /var/lib/x": in few words, not escaped. */
void object_append_label(GString *s, const struct object *o);
/* The same, without the kind where paths, addresses and pipes say themselves what they are. */
void object_append_short(GString *s, const struct object *o);

/* The same of a wait without one: "not known", of one that only queued for a CPU "run queue". */
void object_append_wait_label(GString *s, const struct profile *p, const struct wait *w);

/*
 * Puts a frame "-> 10.0.0.5:5432 (postgres)" at the leaf of each wait's stack whose object is known, of a profile with
 * objects: so pictures and other programs' formats show it.  It is a kernel frame without a module.
 */
void objects_as_frames(struct profile *p);
/* Is it such a frame?  To rules it says nothing: a stack that was lost is lost with it, too. */
bool object_is_frame(const struct frame *f);

#endif
