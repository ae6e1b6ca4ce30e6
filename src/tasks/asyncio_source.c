/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* asyncio's tasks. */
#include <string.h>

#include "base/hash.h"
#include "symbolize/runtime/python_tasks.h"
#include "tasks/source.h"

#define SEVERAL "several tasks"

struct asyncio_source {
	struct python_program program;
	/* struct python_task: of one look, which has to be whole before it is known who waits for whom */
	GArray *seen;
};

static void *open_asyncio(uint32_t pid, struct tasks *t, GError **error)
{
	struct asyncio_source *s = g_new0(struct asyncio_source, 1);
	enum python_tasks_state state = python_tasks_open(&s->program, "/proc", pid);
	g_autofree char *path = g_strdup_printf("/proc/%u/comm", pid), *comm = NULL, *version = NULL;

	if (state == PYTHON_TASKS_READABLE && g_file_get_contents(path, &comm, NULL, NULL)) {
		version = g_strdup_printf("CPython 3.%u, asyncio", s->program.minor);
		t->program = tasks_string(t, g_strchomp(comm));
		t->version = tasks_string(t, version);
		s->seen = g_array_new(FALSE, FALSE, sizeof(struct python_task));
		return s;
	}
	if (state == PYTHON_TASKS_OTHER_VERSION)
		g_set_error(error, CENSUS_ERROR, CENSUS_FAILED,
			    "process %u is CPython 3.%u: tasks of asyncio are read of 3.8 to 3.14 "
			    "whose program exports its types",
			    pid, s->program.minor);
	else if (state == PYTHON_TASKS_NO_ASYNCIO)
		g_set_error(error, CENSUS_ERROR, CENSUS_FAILED,
			    "process %u is CPython 3.%u and has not imported asyncio, or may not be read", pid,
			    s->program.minor);
	python_tasks_close(&s->program);
	g_free(s);
	return NULL;
}

static void close_asyncio(void *source)
{
	struct asyncio_source *s = source;

	python_tasks_close(&s->program);
	g_array_unref(s->seen);
	g_free(s);
}

static uint64_t count_asyncio(void *source)
{
	const struct asyncio_source *s = source;

	return s->program.listed;
}

static void on_task(void *ctx, const struct python_task *task)
{
	g_array_append_vals(ctx, task, 1);
}

static const char *state_of(const struct python_task *task)
{
	static const char *const names[] = { [PYTHON_TASK_WAITS] = "waiting",
					     [PYTHON_TASK_READY] = "ready, its loop has not run it yet",
					     [PYTHON_TASK_RUNS] = "running" };

	return task->is_stale ? "changed while it was read" : names[task->state];
}

static uint64_t key_of(const struct python_task *task, const char *state, const char *reason)
{
	uint64_t key = hash_more(hash_pointer(state), hash_pointer(reason));

	for (unsigned i = 0; i < task->frame_cnt; i++)
		key = hash_more(hash_more(key, hash_pointer(task->frames[i].name)), task->frames[i].line);
	return key * HASH_MIX;
}

/* Innermost first. */
static void fill_in(struct tasks *t, const struct python_task *task, struct task_row *row)
{
	struct task_frame *frames = g_new0(struct task_frame, MAX(task->frame_cnt, 1));

	for (unsigned i = 0; i < task->frame_cnt; i++) {
		const struct language_frame *f = &task->frames[task->frame_cnt - 1 - i];

		frames[i] = (struct task_frame){ tasks_string(t, f->name), tasks_string(t, f->file), f->line };
	}
	row->frames = frames;
	row->frame_cnt = task->frame_cnt;
	row->end = task->is_cut ? STACK_TRUNCATED : task->frame_cnt ? STACK_COMPLETE : STACK_NONE;
}

/* One name for all tasks of a row, or none. */
static const char *merge(struct tasks *t, const char *have, const char *more, bool is_new)
{
	if (is_new || !g_strcmp0(have, more))
		return tasks_string(t, more);
	return have && more ? SEVERAL : have ? have : tasks_string(t, more);
}

static void add(struct tasks *t, const struct python_task *task, const char *awaited_by, bool awaits_task,
		double weight)
{
	const char *state = state_of(task), *reason = task->is_stale || task->state != PYTHON_TASK_WAITS ? NULL
						      : awaits_task ? "another task"
								    : "a future";
	bool is_new;
	struct task_row *row = tasks_row(t, key_of(task, state, reason), &is_new);

	t->stale += task->is_stale;
	if (!row)
		return;
	if (is_new) {
		fill_in(t, task, row);
		row->state = state;
		row->reason = reason;
	}
	row->name = merge(t, row->name, task->name, is_new);
	row->awaited_by = merge(t, row->awaited_by, awaited_by, is_new);
	tasks_seen(t, row, weight);
}

/* As those say that wait, or as the task itself knows, also of gather(). */
static const char *awaited_by(const struct python_task *task, GHashTable *awaited, GHashTable *by_address)
{
	const char *name = g_hash_table_lookup(awaited, &task->address);

	if (task->is_awaited_by_several)
		return SEVERAL;
	return name ? name : g_hash_table_lookup(by_address, &task->awaited_by);
}

static bool look_asyncio(void *source, struct tasks *t, uint64_t first, uint64_t stride)
{
	/* by address: the name of who waits for that, and of the tasks there are */
	g_autoptr(GHashTable) awaited = g_hash_table_new(hash_u64, g_int64_equal),
			      by_address = g_hash_table_new(hash_u64, g_int64_equal);
	struct asyncio_source *s = source;
	struct python_tasks_census census;

	g_array_set_size(s->seen, 0);
	if (!python_tasks_read(&s->program, first, stride, on_task, s->seen, &census))
		return false;
	for (guint i = 0; i < s->seen->len; i++) {
		struct python_task *task = &g_array_index(s->seen, struct python_task, i);

		g_hash_table_insert(by_address, &task->address, task->name);
		if (task->awaits)
			g_hash_table_insert(awaited, &task->awaits, task->name);
	}
	for (guint i = 0; i < s->seen->len; i++) {
		const struct python_task *task = &g_array_index(s->seen, struct python_task, i);

		add(t, task, awaited_by(task, awaited, by_address), g_hash_table_contains(by_address, &task->awaits),
		    (double)stride);
	}
	t->unreadable += census.unreadable;
	t->is_cut |= census.is_cut;
	return true;
}

const struct task_source asyncio_task_source = {
	.kind = TASKS_ASYNCIO,
	.open = open_asyncio,
	.close = close_asyncio,
	.count = count_asyncio,
	.look = look_asyncio,
};
