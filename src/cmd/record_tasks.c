/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "cmd/record_tasks.h"

#include "cmd/cmd.h"
#include "tasks/sampler.h"

struct record_tasks {
	struct task_sampler *sampler;
	GPtrArray *done;	/* struct tasks; NULL: it goes on */
	bool is_asked;
};

bool record_tasks_may(const struct target *target)
{
	if (!target->collect.tids)
		return true;
	cmd_error("record",
		  "--tasks and -t: tasks are of whole processes, and move from thread to thread: -p is wanted");
	return false;
}

struct record_tasks *record_tasks_begin(const struct target *target, bool is_asked)
{
	const struct collect_options *collect = &target->collect;
	g_autoptr(GArray) command = g_array_new(FALSE, FALSE, sizeof(uint32_t));
	struct task_sampler_options options = {
		.pids = target->collect.pids,
		.follow = target->collect.follow,
		.budget_ppm = task_sampler_budget(target->collect.budget_ppm),
	};
	struct record_tasks *r;

	if (!is_asked && (collect->tids || (!collect->pids && !collect->command_pid)))
		return NULL;
	r = g_new0(struct record_tasks, 1);
	r->is_asked = is_asked;
	if (target->collect.command_pid) {
		g_array_append_val(command, target->collect.command_pid);
		options.pids = command;
		options.follow = true;
	}
	r->sampler = task_sampler_start(&options);
	return r;
}

void record_tasks_end(struct record_tasks *r)
{
	if (r->sampler)
		r->done = task_sampler_stop(r->sampler);
	r->sampler = NULL;
}

void record_tasks_free(struct record_tasks *r)
{
	if (!r)
		return;
	record_tasks_end(r);
	g_clear_pointer(&r->done, g_ptr_array_unref);
	g_free(r);
}

void record_tasks_put(struct record_tasks *r, struct profile *p)
{
	record_tasks_end(r);
	tasks_put(p, g_steal_pointer(&r->done));
	p->info.has_tasks = r->is_asked || p->tasks->len;
	record_tasks_free(r);
}
