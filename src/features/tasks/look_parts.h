/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef FEATURES_TASKS_LOOK_PARTS_H
#define FEATURES_TASKS_LOOK_PARTS_H

#include <glib.h>
#include <stdint.h>

#include "features/tasks/look_list.h"

/* A runtime with tasks. */
struct task_source {
	enum tasks_kind kind;
	/*
	 * lines: the process's mappings (struct maps_line). NULL: it does not have this runtime, as long as it maps
	 * the same files. NULL with *error: it has, but its tasks cannot be seen.
	 */
	void *(*open)(uint32_t pid, const GArray *lines, struct tasks *t, GError **error);
	/*
	 * Are there tasks by now? Asked again until there are, so what does not change is not read again. False, with
	 * *error or without: not yet. NULL: there are once it is open.
	 */
	bool (*is_ready)(void *source, const GArray *lines, struct tasks *t, GError **error);
	void (*close)(void *source);
	/* Approximate number of tasks, to choose how many to look at. */
	uint64_t (*count)(void *source);
	/* Passes every stride-th task from `first` on to tasks_seen(). False: the process is gone. */
	bool (*look)(void *source, struct tasks *t, uint64_t first, uint64_t stride);
	/* The part of the last look's cost that does not depend on stride. NULL: none. */
	uint64_t (*fixed_cost_ns)(void *source);
};

extern const struct task_source go_task_source, greenlet_task_source, asyncio_task_source, tokio_task_source,
	java_task_source;

/* A process whose tasks are looked at repeatedly. */
struct watched;

struct watched *watched_new(uint32_t pid);
/* Nothing is found in it before it runs again. */
void watched_note_run(struct watched *w);
/*
 * Has it tasks to be looked at? False with an error; CENSUS_NO_RUNTIME if there are none, as far as is known. Then it
 * may be asked again, which costs little as long as the process maps the same files, and next to nothing if it has not
 * run since. *error is unset in the latter case.
 */
bool watched_find(struct watched *w, GError **error);

/*
 * Looks once, for the period_ns that end at end_ns (CLOCK_MONOTONIC). Limits CPU time to about room_ns: with too many
 * tasks it sees every n-th one, from a random one on. 0: all. False: the process is gone.
 */
bool watched_look(struct watched *w, uint64_t end_ns, uint64_t period_ns, uint64_t room_ns);
/* Since it was last looked at; if not, a look costs next to nothing. */
bool watched_has_run(const struct watched *w);
uint64_t watched_run_ns(const struct watched *w);	/* CPU time since then */
uint64_t watched_cost_ns(const struct watched *w);	/* what a look costs otherwise; 0: unknown */

/* What looks found since the last call, owned by the caller. NULL: there was none. */
struct tasks *watched_take(struct watched *w);
/* Likewise, and closes it. */
struct tasks *watched_close(struct watched *w);

/*
 * A window is cut into periods, and the state at a random instant stands for each. A look that is late, on a busy
 * machine, stands for the missed periods, too.
 */
struct periods {
	uint64_t start_ns, length_ns;
};

/* The number of the period that contains ns. */
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
