/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef STORE_CELLS_H
#define STORE_CELLS_H

#include "analyse/query.h"
#include "analyse/reason/reasons.h"
#include "profile/profile.h"

/*
 * The time of a window by process, service and reason: small enough to be kept with each window, so that a time line of
 * one service unpacks no rows.  Sums of cells are exact; how long waits were is told in proportions of three bits.
 */

#define CELLS_GROUPS_MAX 4096	/* of a window; with more its rows are unpacked */
#define CELLS_NAME_MAX_BYTES 128	/* a process or service with a longer name: the same */

/* Waits of one reason. */
struct cell {
	uint64_t blocked_ns, idle_ns;	/* idle_ns is not in blocked_ns */
	uint64_t runnable_ns, preempted_ns;
	uint64_t by_slot[PROFILE_HIST_SLOTS];	/* of waits that are not idle, by how long each was */
};

struct cell_group {
	const char *process, *service;
	/* accounts of whole threads */
	uint64_t on_cpu_ns, runnable_ns, preempted_ns, unlisted_ns;
	struct cell *of[REASON_COUNT];	/* NULL: none */
};

/* What stands for the name of a thread's process, and of its service. */
const char *cells_process(const struct thread *t);
const char *cells_service(const struct thread *t);

struct cells;

struct cells *cells_new(void);
void cells_free(struct cells *c);	/* NULL is fine */
/* reasons: of p.  selection NULL: everything. */
void cells_add_profile(struct cells *c, const struct profile *p, const struct reasons *reasons,
		       const struct selection *selection);
/* In no order. */
typedef void (*cells_fn)(void *ctx, const struct cell_group *g);
void cells_visit(const struct cells *c, cells_fn fn, void *ctx);

/* Adds a group, whose names are copied. */
void cells_add_group(struct cells *c, const struct cell_group *g);
/* number_of: of a text, as the file has it, from 1 on; 0: it takes no more.  False: they are not to be kept. */
typedef uint64_t (*cells_number_of)(void *ctx, const char *name);
bool cells_encode(const struct cells *c, cells_number_of number_of, void *ctx, GByteArray *into);
/*
 * Of each group of the bytes that `wants` has (NULL: all).  names: char *, by number - 1.  False: they are none, and
 * what was told is of no use.
 */
typedef bool (*cells_wants)(void *ctx, uint64_t process, uint64_t service);
bool cells_decode(const void *bytes, size_t len_bytes, const GPtrArray *names, cells_wants wants, cells_fn fn,
		  void *ctx);

#endif
