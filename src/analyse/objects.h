/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef ANALYSE_OBJECTS_H
#define ANALYSE_OBJECTS_H

#include "analyse/query.h"
#include "profile/profile.h"

/*
 * What threads waited for: files, sockets with their peers, pipes, children, locks.  Of one wait it is
 * profile_wait_object(): NULL where it was not asked for, or is not known; its kind is a word by object_kind_text().
 */

/* All waits for objects of one kind and name, whoever held them or was at their other end. */
struct object_row {
	const struct object *object;	/* of the longest waits; NULL: waits for which none is known */
	const char *process;	/* of the waiters; "" when there are several */
	uint64_t blocked_ns;	/* until somebody or something made the waiter runnable */
	uint64_t runnable_ns;
	uint64_t count, max_ns;
	uint64_t hist[PROFILE_HIST_SLOTS];	/* of their off-CPU time */
	uint32_t threads_cnt;
	uint32_t peers_cnt;	/* different processes at the other end, as far as they are known */
};

struct object_table {
	GArray *rows;		/* struct object_row, the longest blocked first; ties by kind and name */
	uint64_t blocked_ns;	/* of all blocked waits, with and without an object: what shares are of */
};

/* selection NULL: everything.  Borrows from p. */
struct object_table *object_table_new(const struct profile *p, const struct selection *selection);
void object_table_free(struct object_table *t);	/* NULL is fine */

/* "socket 10.0.0.5:5432 (postgres)", "mutex queue_lock": in few words, not escaped. */
void object_append_label(GString *s, const struct object *o);

#endif
