/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "analyse/task_profile.h"

#include "analyse/task_groups.h"
#include "profile/tasks_file.h"

static uint32_t push(struct profile *p, uint32_t node, const struct task_frame *f, const char *module)
{
	const struct frame frame = {
		.name = f->name, .module = module, .file = f->file, .line = f->line, .kind = FRAME_USER,
		.why = f->name ? FRAME_NAMED : FRAME_NO_SYMBOLS,
	};

	return profile_node(p, node, profile_frame(p, &frame));
}

static uint32_t push_word(struct profile *p, uint32_t node, const char *word)
{
	g_autofree char *name = g_strdup_printf("[%s]", word);

	return push(p, node, &(struct task_frame){ .name = name }, NULL);
}

static uint32_t stack_of(struct profile *p, const struct tasks *t, const struct task_row *row)
{
	const char *idle = task_idle(t->kind, row);
	uint32_t node = idle ? push_word(p, push_word(p, 0, "idle"), idle) : 0;

	for (unsigned i = row->frame_cnt; i-- > 0;)
		node = push(p, node, &row->frames[i], t->kind == TASKS_ASYNCIO ? "[python]" : NULL);
	node = push_word(p, node, task_reason_text(row->state, row->reason));
	profile_stack_end(p, node, row->end == STACK_NONE ? STACK_COMPLETE : row->end);
	return node;
}

static void add_population(struct profile *p, const struct tasks *t)
{
	const struct thread thread = {
		.pid = t->pid, .tid = t->pid, .comm = profile_string(p, t->program), .process = profile_string(p, t->program),
		.from_ns = p->info.start_ns, .to_ns = p->info.start_ns + p->info.duration_ns,
	};
	uint32_t number = profile_add_thread(p, &thread);

	for (guint i = 0; i < t->rows->len; i++) {
		const struct task_row *row = tasks_get(t, i);
		const struct wait wait = {
			.thread = number, .user = stack_of(p, t, row), .state = '?', .blocked_ns = row->task_ns,
			.count = MAX((uint64_t)(row->tasks + 0.5), 1), .off_cpu_se_ns = row->task_se_ns,
		};

		if (row->task_ns)
			profile_add_wait(p, &wait);
	}
}

struct profile *task_profile_new(const struct profile *p)
{
	struct profile *ret;

	if (!p->tasks->len)
		return NULL;
	ret = profile_new();
	ret->info = (struct profile_info){
		.start_unix_ns = p->info.start_unix_ns, .start_ns = p->info.start_ns, .duration_ns = p->info.duration_ns,
		.host = profile_string(ret, p->info.host), .kernel = profile_string(ret, p->info.kernel), .cpus = p->info.cpus,
		.command_line = profile_string(ret, p->info.command_line), .filters = profile_string(ret, p->info.filters),
		.version = profile_string(ret, p->info.version), .imported = profile_string(ret, "tasks of a recording"),
		.rows_are = profile_rows_known("tasks"),
		.unknown = UNKNOWN_STATES | UNKNOWN_PARTS | UNKNOWN_DURATIONS | UNKNOWN_ACCOUNTS,
	};
	for (guint i = 0; i < p->tasks->len; i++)
		add_population(ret, profile_tasks(p, i));
	return ret;
}
