/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Tasks of Tokio. */
#include "base/hash.h"
#include "base/module.h"
#include "features/tasks/look_parts.h"
#include "runtimes/tokio/program.h"

struct tokio_source {
	struct tokio_program program;
	GArray *seen;	/* struct tokio_task of the current look */
};

static void *open_tokio(uint32_t pid, const GArray *lines, struct tasks *t, GError **error)
{
	struct tokio_source *s = g_new0(struct tokio_source, 1);

	if (!tokio_program_open(&s->program, "/proc", pid, lines)) {
		tokio_program_close(&s->program);
		g_free(s);
		return NULL;
	}
	t->program = tasks_string(t, module_base_name(s->program.path));
	t->version = tasks_string(t, "Tokio");
	s->seen = g_array_new(FALSE, FALSE, sizeof(struct tokio_task));
	return s;
}

static bool is_tokio_ready(void *source, const GArray *lines, struct tasks *t, GError **error)
{
	(void)error;	/* a program may have no tasks yet, or never any */
	return tokio_program_is_ready(&((struct tokio_source *)source)->program, lines);
}

static void close_tokio(void *source)
{
	struct tokio_source *s = source;

	tokio_program_close(&s->program);
	g_array_unref(s->seen);
	g_free(s);
}

static uint64_t count_tokio(void *source)
{
	const struct tokio_source *s = source;

	return s->program.listed;
}

/* The spawned future: its name, and its line if certain; without a name, its code's position. */
static struct task_frame frame_of(struct tasks *t, const struct tokio_kind *kind)
{
	const char *name = kind->name;
	bool has_place = kind->file && !(name && kind->has_several_places);

	if (!name && has_place)
		name = kind->has_several_places ? "async code, of this and other lines" : "async fn or block";
	if (!name)
		name = "a future without a name (-C symbol-mangling-version=v0 gives it)";
	return (struct task_frame){ tasks_string(t, name), has_place ? tasks_string(t, kind->file) : NULL,
				    has_place ? kind->line : 0 };
}

static void see_task(struct tasks *t, const struct tokio_task *task, double weight)
{
	static const char *const states[] = { [TOKIO_WAITS] = "waiting", [TOKIO_READY] = "ready, no thread has polled it yet",
					      [TOKIO_RUNS] = "running", [TOKIO_DONE] = "done" };
	bool is_new;
	struct task_row *row = tasks_row(t, hash_more(task->kind->table, task->state) * HASH_MIX, &is_new);

	if (row && is_new) {
		struct task_frame frame = frame_of(t, task->kind);

		row->state = states[task->state];
		row->reason = task->state == TOKIO_WAITS ? "an await" : NULL;
		row->frames = g_memdup2(&frame, sizeof(frame));
		row->frame_cnt = 1;
		row->end = STACK_COMPLETE;
	}
	if (row)
		tasks_seen(t, row, weight);
}

static bool look_tokio(void *source, struct tasks *t, uint64_t first, uint64_t stride)
{
	struct tokio_source *s = source;
	bool is_cut, is_there = tokio_program_read(&s->program, s->seen, &is_cut);

	t->is_cut |= is_cut;
	for (uint64_t i = first; i < s->seen->len; i += stride)
		see_task(t, &g_array_index(s->seen, struct tokio_task, i), (double)stride);
	return is_there;
}

_Static_assert(TOKIO_TASKS_MAX == TASKS_MOST_TOKIO, "reports tell it");

const struct task_source tokio_task_source = {
	.kind = TASKS_TOKIO, .open = open_tokio, .is_ready = is_tokio_ready, .close = close_tokio,
	.count = count_tokio, .look = look_tokio,
};
