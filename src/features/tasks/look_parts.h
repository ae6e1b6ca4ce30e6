/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef FEATURES_TASKS_LOOK_PARTS_H
#define FEATURES_TASKS_LOOK_PARTS_H

#include <glib.h>
#include <stdint.h>

#include "features/tasks/look_list.h"

/* A runtime that has tasks. */
struct task_source {
	enum tasks_kind kind;
	/* NULL: the process has no such runtime, or with *error: it has, but its tasks cannot be seen. */
	void *(*open)(uint32_t pid, struct tasks *t, GError **error);
	void (*close)(void *source);
	/* About how many tasks there are, to choose how many to look at. */
	uint64_t (*count)(void *source);
	/* One look at every stride-th task from `first` on, told to tasks_seen().  False: the process is gone. */
	bool (*look)(void *source, struct tasks *t, uint64_t first, uint64_t stride);
	/* What the last look cost that it would have cost with any stride; NULL: nothing. */
	uint64_t (*fixed_cost_ns)(void *source);
};

extern const struct task_source go_task_source, greenlet_task_source, asyncio_task_source, tokio_task_source,
	java_task_source;

/* A process whose tasks are looked at, again and again. */
struct watched;

/*
 * Its first look can follow.  NULL with a sentence; of CENSUS_NO_RUNTIME where there is nothing to be seen, as far as
 * is known.
 */
struct watched *watched_open(uint32_t pid, GError **error);

/*
 * One look, which stands for the period_ns that end at end_ns (CLOCK_MONOTONIC).  It takes about room_ns of CPU time: of more tasks than that
 * suffices for it sees every n-th of them, from a random one on.  0: all.  False: the process is gone.
 */
bool watched_look(struct watched *w, uint64_t end_ns, uint64_t period_ns, uint64_t room_ns);

/* What the looks have found since it was opened or this was asked for, the caller's; NULL: there was none. */
struct tasks *watched_take(struct watched *w);
/* The same, and it ends. */
struct tasks *watched_close(struct watched *w);

/*
 * A window is cut into periods, and each stands as it is at a random instant of it.  A look that comes late, on a busy
 * machine, stands for the periods that were missed, too.
 */
struct periods {
	uint64_t start_ns, length_ns;
};

/* In which one is that? */
static inline uint64_t periods_number(const struct periods *p, uint64_t ns)
{
	return (ns - p->start_ns) / p->length_ns;
}

static inline uint64_t periods_end(const struct periods *p, uint64_t number)
{
	return p->start_ns + (number + 1) * p->length_ns;
}

static inline uint64_t periods_instant(const struct periods *p, uint64_t number)
{
	return p->start_ns + number * p->length_ns + (uint64_t)(g_random_double() * (double)p->length_ns);
}

#endif
