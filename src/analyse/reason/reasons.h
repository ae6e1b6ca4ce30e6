/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef ANALYSE_REASON_REASONS_H
#define ANALYSE_REASON_REASONS_H

#include "analyse/reason/reason.h"
#include "analyse/reason/rules.h"
#include "profile/profile.h"

/*
 * The reason of each wait of a profile, and whether it was idle time.  Other analyses, renderers and exporters use it
 * like this:
 *
 *	struct reasons *r = reasons_new(p, NULL);
 *	for (uint32_t i = 0; i < p->waits->len; i++)
 *		... reason_name(reasons_of(r, i)) ... reasons_is_idle(r, i) ... reasons_protocol(r, i)
 *	reasons_free(r);
 *
 * The reason applies to a wait's blocked time.  Its runnable_ns and preempted_ns are REASON_CPU_QUEUE, whatever came
 * before them.  A wait in state R has no blocked time.
 */

/* Kinds of idle time: docs/reasons.md, "Idle". */
enum idle_kind {
	IDLE_NOT = 0, /* somebody depends on what this thread waits for */
	IDLE_KERNEL, /* a kernel thread */
	IDLE_LOOP, /* an event loop without events, a server without clients */
	IDLE_POOL, /* a worker without work */
	IDLE_CLIENT, /* a connection whose client sends nothing */
	IDLE_TIMER, /* housekeeping between its ticks */
	IDLE_JOIN, /* waits for its own threads, or for children of a command, whose time is counted as theirs */
	IDLE_MACHINE, /* a shell, agent or daemon that slept all the time, in a recording of the whole machine */
	IDLE_KIND_COUNT
};
/* Without work: nothing has come for an event loop, a worker or a connection. */
static inline bool idle_kind_is_rest(enum idle_kind kind)
{
	return kind == IDLE_LOOP || kind == IDLE_POOL || kind == IDLE_CLIENT;
}
const char *idle_kind_name(enum idle_kind kind); /* "pool" */
const char *idle_kind_text(enum idle_kind kind); /* "workers without work" */

struct reasons;
struct profile_limit;

/* rules NULL: rules_default().  Borrows both. */
struct reasons *reasons_new(const struct profile *p, const struct rule_set *rules);
void reasons_free(struct reasons *r); /* NULL is fine */

/*
 * The same for several sets of rows that share stacks, objects and wakers (profile_new_rows()): results that depend
 * only on these are computed once.  They must not grow until the last use.  Query one set of rows completely before
 * the next.
 */
struct reasons_base;
struct reasons_base *reasons_base_new(const struct profile *p, const struct rule_set *rules);
void reasons_base_free(struct reasons_base *b); /* NULL is fine */
struct reasons *reasons_new_on(struct reasons_base *base, const struct profile *p);

enum reason reasons_of(const struct reasons *r, uint32_t wait);
/* Uses only the rules: for single waits, since only sums of waits show that a thread has no work. */
enum reason reasons_by_rule(const struct reasons *r, uint32_t wait);
/* The rule that matched; NULL: none, so the reason is REASON_OTHER. */
const struct rule *reasons_rule(const struct reasons *r, uint32_t wait);
/* The client library, protocol or runtime above the system call: "libpq", "GIL"; "" if unknown. */
const char *reasons_protocol(const struct reasons *r, uint32_t wait);
/* Applies to blocked time; run-queue time is never idle. */
enum idle_kind reasons_idle(const struct reasons *r, uint32_t wait);
static inline bool reasons_is_idle(const struct reasons *r, uint32_t wait)
{
	return reasons_idle(r, wait) != IDLE_NOT;
}

/* Threads of its kind hold what it waits for in turn, and each waits for its own client while it holds it. */
bool reasons_is_kept_for_client(const struct reasons *r, uint32_t wait);

/* As the window ends all threads that accept there are in waits for what clients send.  backlog: a LIMIT_BACKLOG. */
bool reasons_are_taken(const struct reasons *r, const struct profile_limit *backlog);

/* The object that the wait is for, as in its row; 0: none is known. */
uint32_t reasons_object(const struct reasons *r, uint32_t wait);
/* Whether the program's function is irrelevant, as for a frozen process. */
bool reasons_is_anywhere(const struct reasons *r, uint32_t wait);

/*
 * The event loop that is held up: the thread waits or runs within one of its callbacks or tasks, not for events.
 * NULL: none. Such a wait is never idle.
 */
const struct rule *reasons_loop(const struct reasons *r, uint32_t wait);

/* The pool that the thread works for, whose queue contains work, not threads; NULL: unknown. */
const struct rule *reasons_pool(struct reasons *r, uint32_t wait);

/* What the thread busy-waits for, from samples and preemptions; its `says` is never NULL.  NULL: unknown. */
const struct rule *reasons_spin(const struct reasons *r, uint32_t wait);

/* No rule could match: its stacks have no functions. */
bool reasons_is_unseen(const struct reasons *r, uint32_t wait);
/* What the wait is, and advice: the rule's own words, or the reason's. */
const char *reasons_says(const struct reasons *r, uint32_t wait);
const char *reasons_advice(const struct reasons *r, uint32_t wait);

/* The plumbing used, to name stacks of the same profile; valid as long as r. */
struct plumbing *reasons_plumbing(const struct reasons *r);

#endif
