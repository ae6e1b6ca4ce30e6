/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef ANALYSE_REASON_REASONS_H
#define ANALYSE_REASON_REASONS_H

#include "analyse/reason/reason.h"
#include "analyse/reason/rules.h"
#include "profile/profile.h"

/*
 * The reason of each wait of a profile, and whether it was idle time.  This is the header that the other analyses, the
 * renderers and the exporters use:
 *
 *	struct reasons *r = reasons_new(p, NULL);
 *	for (uint32_t i = 0; i < p->waits->len; i++)
 *		... reason_name(reasons_of(r, i)) ... reasons_is_idle(r, i) ... reasons_protocol(r, i)
 *	reasons_free(r);
 *
 * The reason is of a wait's blocked time.  Its runnable_ns and preempted_ns are REASON_CPU_QUEUE, whatever came
 * before them. Where a wait's state is R it has no blocked time.
 */

/* What idle time was for: docs/reasons.md, "Idle". */
enum idle_kind {
	IDLE_NOT = 0, /* somebody waits for what this thread waits for */
	IDLE_KERNEL, /* a kernel thread */
	IDLE_LOOP, /* an event loop with nothing due, a server without clients */
	IDLE_POOL, /* a worker without work */
	IDLE_CLIENT, /* a connection whose client asks for nothing */
	IDLE_TIMER, /* housekeeping between its turns */
	IDLE_JOIN, /* it waits for threads of its own, or children of a command, whose time is counted as theirs */
	IDLE_MACHINE, /* a shell, an agent or a daemon that slept all the time, in a recording of the whole machine */
	IDLE_KIND_COUNT
};
const char *idle_kind_name(enum idle_kind kind); /* "pool" */
const char *idle_kind_text(enum idle_kind kind); /* "workers without work" */

struct reasons;

/* rules NULL: rules_default().  Borrows from both. */
struct reasons *reasons_new(const struct profile *p, const struct rule_set *rules);
void reasons_free(struct reasons *r); /* NULL is fine */

/*
 * The same for several sets of rows that have stacks, objects and wakers in common (profile_new_rows()): what depends
 * on these alone is asked once.  They must not grow between the base and its last reasons, whose rows are asked about
 * before those of the next.
 */
struct reasons_base;
struct reasons_base *reasons_base_new(const struct profile *p, const struct rule_set *rules);
void reasons_base_free(struct reasons_base *b); /* NULL is fine */
struct reasons *reasons_new_on(struct reasons_base *base, const struct profile *p);

enum reason reasons_of(const struct reasons *r, uint32_t wait);
/* By the rules alone: of single waits, where nothing tells that a thread has no work but rows of sums would. */
enum reason reasons_by_rule(const struct reasons *r, uint32_t wait);
/* The rule that gave it; NULL: none agreed, which is REASON_OTHER. */
const struct rule *reasons_rule(const struct reasons *r, uint32_t wait);
/* The client library, protocol or runtime above the system call: "libpq", "GIL"; "" where none is known. */
const char *reasons_protocol(const struct reasons *r, uint32_t wait);
/* Of its blocked time; what a thread waits for a CPU is never idle. */
enum idle_kind reasons_idle(const struct reasons *r, uint32_t wait);
static inline bool reasons_is_idle(const struct reasons *r, uint32_t wait)
{
	return reasons_idle(r, wait) != IDLE_NOT;
}

/* Threads of its kind have what it waits for by turns, and each waits for its own client meanwhile. */
bool reasons_is_kept_for_client(const struct reasons *r, uint32_t wait);

/* The object that the wait is for, as in its row; 0: none is known. */
uint32_t reasons_object(const struct reasons *r, uint32_t wait);
/* What the program called is beside the point, as of a process that is frozen. */
bool reasons_is_anywhere(const struct reasons *r, uint32_t wait);

/*
 * The event loop that the wait holds up: the thread waits, or runs, within a callback or a task of it, and not for
 * events.  NULL: none. Such a wait is never idle.
 */
const struct rule *reasons_loop(const struct reasons *r, uint32_t wait);

/* The pool that the thread works for, whose queue holds work and no threads; NULL: none is known. */
const struct rule *reasons_pool(struct reasons *r, uint32_t wait);

/* What the thread waits for on CPU, as samples and preemptions tell; says is never NULL.  NULL: nothing is known. */
const struct rule *reasons_spin(const struct reasons *r, uint32_t wait);

/* No rule could know it: its stacks have no functions. */
bool reasons_is_unseen(const struct reasons *r, uint32_t wait);
/* What the wait does, and what can be done: the rule's own words, or the reason's. */
const char *reasons_says(const struct reasons *r, uint32_t wait);
const char *reasons_advice(const struct reasons *r, uint32_t wait);

/* The plumbing that was used, for others that name stacks of the same profile; lives as long as r. */
struct plumbing *reasons_plumbing(const struct reasons *r);

#endif
