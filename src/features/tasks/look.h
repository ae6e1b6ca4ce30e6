/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef FEATURES_TASKS_LOOK_H
#define FEATURES_TASKS_LOOK_H

#include "features/tasks/rows.h"
#include "profile/profile.h"

/*
 * Looks at the tasks of several processes while something else is recorded, in a thread of its own.  All are looked at
 * at one random instant of each period.  Processes that begin meanwhile, or whose runtime does, are found within a
 * second, of given ones within a period, later ones less often.
 */

#define TASK_SAMPLER_HZ 5
#define TASK_SAMPLER_PROCESSES_MAX 64

struct task_sampler_options {
	GArray *pids;		/* uint32_t; NULL: all processes */
	bool follow;		/* and what these have forked */
	uint32_t budget_ppm;	/* of one CPU, for all of them */
};

/* Half of what a recording may take of all CPUs; 0: there is no such budget. */
uint32_t task_sampler_budget(uint32_t of_all_cpus_ppm);

struct task_sampler;
struct task_sampler *task_sampler_start(const struct task_sampler_options *options);

/* What was seen since it began or this was asked for, as below; the looks go on. */
GPtrArray *task_sampler_take(struct task_sampler *s);

/*
 * Ends it: struct tasks, the caller's, one for each process that had a runtime whose tasks were seen; free with
 * g_ptr_array_unref().
 */
GPtrArray *task_sampler_stop(struct task_sampler *s);
void task_sampler_free(struct task_sampler *s);	/* NULL is fine: the same, for nobody */

/*
 * Gives p the struct tasks of those of its processes, largest first; `tasks` is freed.  Filters are of threads: a process
 * without one in the recording is none that was asked for.
 */
void tasks_put(struct profile *p, GPtrArray *tasks);

#endif
