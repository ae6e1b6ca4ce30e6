/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef FEATURES_TASKS_LOOK_H
#define FEATURES_TASKS_LOOK_H

#include "features/tasks/rows.h"
#include "profile/profile.h"

/*
 * Looks at the tasks of several processes in a thread, while something else is recorded. All are looked at at the
 * same random instant of each period. New processes and runtimes are found within a second, those of given processes
 * within a period, later less often.
 */

#define TASK_SAMPLER_HZ 5
#define TASK_SAMPLER_PROCESSES_MAX 64

struct task_sampler_options {
	GArray *pids;		/* uint32_t; NULL: all processes */
	bool follow;		/* also their descendants */
	bool only_running;	/* looks for a runtime only in processes that run while they are watched, within the budget */
	/* Is this process meant? Asked once, from the sampler's thread. NULL: all are. */
	bool (*wants)(uint32_t pid, void *data);
	void *data;
	uint32_t budget_ppm;	/* of one CPU, for all processes together */
};

/* Half of the recording's budget, which is of all CPUs. 0: no budget. */
uint32_t task_sampler_budget(uint32_t of_all_cpus_ppm);

struct task_sampler;
struct task_sampler *task_sampler_start(const struct task_sampler_options *options);

/* What was seen since the last call, as below. Sampling continues. */
GPtrArray *task_sampler_take(struct task_sampler *s);

/* Ends sampling. Returns a struct tasks for each process with tasks; free with g_ptr_array_unref(). */
GPtrArray *task_sampler_stop(struct task_sampler *s);
void task_sampler_free(struct task_sampler *s);	/* likewise, without a result; NULL is fine */

/*
 * Adds the tasks of recorded processes to p, largest first, and frees `tasks`. Filters select threads, so a process
 * without a thread in the recording was not selected.
 */
void tasks_put(struct profile *p, GPtrArray *tasks);

#endif
