/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Tasks of asyncio. */
#include <string.h>

#include "base/hash.h"
#include "base/opener/opener.h"
#include "base/refuse.h"
#include "features/tasks/look_parts.h"
#include "runtimes/python/tasks.h"

#define SEVERAL "several tasks"

struct asyncio_source {
	struct python_program program;
	/* struct python_task of the current look: relations are known only when it is complete */
	GArray *seen;
	GArray *children;	/* uint64_t: children of the current gather() */
};

static bool is_asyncio_ready(void *source, const GArray *lines, struct tasks *t, GError **error)
{
	struct asyncio_source *s = source;
	g_autofree char *comm = NULL, *version = g_strdup_printf("CPython 3.%u, asyncio", s->program.minor);

	if (!python_tasks_are_ready(&s->program, "/proc", lines) ||
	    !(comm = opener_process_text("/proc", t->pid, "comm")))
		return refuse(error, CENSUS_ERROR, CENSUS_FAILED,
			      "process %u is CPython 3.%u and has not imported asyncio, or may not be read", t->pid,
			      s->program.minor);
	t->program = tasks_string(t, g_strchomp(comm));
	t->version = tasks_string(t, version);
	return true;
}

static void *open_asyncio(uint32_t pid, const GArray *lines, struct tasks *t, GError **error)
{
	struct asyncio_source *s = g_new0(struct asyncio_source, 1);
	enum python_tasks_state state = python_program_open(&s->program, "/proc", pid, lines);

	if (state == PYTHON_TASKS_READABLE) {
		s->seen = g_array_new(FALSE, FALSE, sizeof(struct python_task));
		s->children = g_array_new(FALSE, FALSE, sizeof(uint64_t));
		return s;
	}
	if (state == PYTHON_TASKS_OTHER_VERSION)
		g_set_error(error, CENSUS_ERROR, CENSUS_FAILED,
			    "process %u is CPython 3.%u: tasks of asyncio are read of 3.8 to 3.15 with a GIL, "
			    "whose program exports its types",
			    pid, s->program.minor);
	python_tasks_close(&s->program);
	g_free(s);
	return NULL;
}

static void close_asyncio(void *source)
{
	struct asyncio_source *s = source;

	python_tasks_close(&s->program);
	g_array_unref(s->seen);
	g_array_unref(s->children);
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

/* The common name of all tasks of a row, or none. */
static const char *merge_names(struct tasks *t, const char *have, const char *more, bool is_new)
{
	if (is_new || !g_strcmp0(have, more))
		return tasks_string(t, more);
	return have && more ? SEVERAL : have ? have : tasks_string(t, more);
}

static void add_task(struct tasks *t, const struct python_task *task, const char *awaited_by, const char *awaits,
		     double weight)
{
	const char *state = state_of(task),
		   *reason = task->is_stale || task->state != PYTHON_TASK_WAITS ? NULL : awaits;
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
	row->name = merge_names(t, row->name, task->name, is_new);
	row->awaited_by = merge_names(t, row->awaited_by, awaited_by, is_new);
	tasks_seen(t, row, weight);
}

/* Known from the waiting tasks, or from the task itself, also through gather(). */
static const char *awaited_by(const struct python_task *task, GHashTable *awaited, GHashTable *by_address)
{
	const char *name = g_hash_table_lookup(awaited, &task->address);

	if (task->is_awaited_by_several)
		return SEVERAL;
	return name ? name : g_hash_table_lookup(by_address, &task->awaited_by);
}

/* Relations in one look, by address. */
struct relations {
	GHashTable *tasks;	/* names of existing tasks */
	GHashTable *awaited;	/* name of the task that waits for it */
	GHashTable *gathered;	/* awaited futures that stand for others, as of gather() -> name of the waiting task */
};

static void note_awaited(struct relations *r, uint64_t *future, const char *by)
{
	const char *known = g_hash_table_lookup(r->awaited, future);

	g_hash_table_insert(r->awaited, future, (gpointer)(known && strcmp(known, by) ? SEVERAL : by));
}

/* Gathered tasks are awaited by whoever awaits the gather(), which may itself be gathered. */
static void note_gathered(struct asyncio_source *s, struct relations *r, uint64_t *future, const char *by)
{
	g_array_set_size(s->children, 0);
	python_tasks_gathered(&s->program, *future, s->children);
	if (!s->children->len)
		return;
	g_hash_table_insert(r->gathered, future, (gpointer) "a gather() of others");
	for (guint i = 0; i < s->children->len; i++) {
		uint64_t child = g_array_index(s->children, uint64_t, i);
		gpointer task;

		if (g_hash_table_lookup_extended(r->tasks, &child, &task, NULL))
			note_awaited(r, task, by);
		else
			python_tasks_gathered(&s->program, child, s->children);
	}
}

/* For a task in a coroutine of asyncio, by the objects that it holds. */
static void note_held(struct asyncio_source *s, struct relations *r, struct python_task *by)
{
	static const char *const names[] = { [PYTHON_TASK_IN_WAIT] = "a wait() for others",
					     [PYTHON_TASK_IN_WAIT_FOR] = "another task",
					     [PYTHON_TASK_IN_GROUP] = "the tasks of its group" };

	g_array_set_size(s->children, 0);
	python_tasks_held(&s->program, by, s->children);
	for (guint i = 0; i < s->children->len; i++) {
		gpointer task;

		if (!g_hash_table_lookup_extended(r->tasks, &g_array_index(s->children, uint64_t, i), &task, NULL))
			continue;
		note_awaited(r, task, by->name);
		g_hash_table_insert(r->gathered, &by->awaits, (gpointer)names[by->in]);
	}
}

static void relate_tasks(struct asyncio_source *s, struct relations *r)
{
	EACH_ROW(i, struct python_task, task, s->seen)
		g_hash_table_insert(r->tasks, &task->address, task->name);
	EACH_ROW(i, struct python_task, task, s->seen) {
		if (g_hash_table_contains(r->tasks, &task->awaits))
			note_awaited(r, &task->awaits, task->name);
		else if (task->in)
			note_held(s, r, task);
		else if (task->awaits && !g_hash_table_contains(r->gathered, &task->awaits))
			note_gathered(s, r, &task->awaits, task->name);
	}
}

static bool look_asyncio(void *source, struct tasks *t, uint64_t first, uint64_t stride)
{
	g_autoptr(GHashTable) tasks = g_hash_table_new(hash_u64, g_int64_equal),
			      awaited = g_hash_table_new(hash_u64, g_int64_equal),
			      gathered = g_hash_table_new(hash_u64, g_int64_equal);
	struct relations r = { tasks, awaited, gathered };
	struct asyncio_source *s = source;
	struct python_tasks_census census;

	g_array_set_size(s->seen, 0);
	if (!python_tasks_read(&s->program, first, stride, on_task, s->seen, &census))
		return false;
	relate_tasks(s, &r);
	EACH_ROW(i, const struct python_task, task, s->seen) {
		const char *stands_for = g_hash_table_lookup(gathered, &task->awaits);
		const char *awaits = g_hash_table_contains(tasks, &task->awaits) ? "another task"
				     : stands_for				 ? stands_for
										 : "a future";

		add_task(t, task, awaited_by(task, awaited, tasks), awaits, (double)stride);
	}
	t->unreadable += census.unreadable;
	t->is_cut |= census.is_cut;
	return true;
}

_Static_assert(PYTHON_TASKS_MAX == TASKS_MOST_ASYNCIO, "reports tell it");

const struct task_source asyncio_task_source = {
	.kind = TASKS_ASYNCIO, .open = open_asyncio, .is_ready = is_asyncio_ready, .close = close_asyncio,
	.count = count_asyncio, .look = look_asyncio,
};
