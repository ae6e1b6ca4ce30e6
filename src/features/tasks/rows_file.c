/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Tasks in a recording: the parts of their tables that are not covered by the description. */
#include "features/tasks/rows.h"

#include "profile/profile_reader.h"
#include "profile/profile_rows.h"

static guint rows_of_all(const struct profile *p)
{
	guint cnt = 0;

	for (guint i = 0; i < p->tasks->len; i++)
		cnt += profile_tasks(p, i)->rows->len;
	return cnt;
}

static uint32_t frame_of(struct profile *p, const struct task_frame *f)
{
	const struct frame frame = {
		.name = f->name,
		.file = f->file,
		.line = f->line,
		.kind = FRAME_USER,
		.why = f->name ? FRAME_NAMED : FRAME_NO_SYMBOLS,
	};

	return profile_frame(p, &frame);
}

uint32_t tasks_creator_frame(struct profile *p, const struct task_frame *creator)
{
	return creator->name ? frame_of(p, creator) + 1 : 0;
}

/* The profile interns texts, so equal ones have the same pointer. */
static void own_frame(struct profile *p, struct task_frame *f)
{
	f->name = profile_string(p, f->name);
	f->file = profile_string(p, f->file);
}

static void own_row(struct profile *p, struct task_row *row)
{
	struct task_frame *frames = (struct task_frame *)(uintptr_t)row->frames;

	row->state = profile_string(p, row->state);
	row->reason = profile_string(p, row->reason);
	row->name = profile_string(p, row->name);
	row->awaited_by = profile_string(p, row->awaited_by);
	own_frame(p, &row->creator);
	row->creator_frame = tasks_creator_frame(p, &row->creator);
	row->stack = 0;
	if (row->frame_cnt > TASKS_DEPTH_MAX) {
		row->frame_cnt = TASKS_DEPTH_MAX;
		row->end = STACK_TRUNCATED;
	}
	for (unsigned i = row->frame_cnt; i-- > 0;) {
		own_frame(p, &frames[i]);
		row->stack = profile_node(p, row->stack, frame_of(p, &frames[i]));
	}
	if (row->stack)
		profile_stack_end(p, row->stack, row->end);
}

void profile_add_tasks(struct profile *p, struct tasks *t)
{
	tasks_cut_rows(t, TASKS_RECORDED_MAX - rows_of_all(p));
	t->program = profile_string(p, t->program ? t->program : "");
	t->version = profile_string(p, t->version);
	for (guint i = 0; i < t->rows->len; i++)
		own_row(p, &g_array_index(t->rows, struct task_row, i));
	g_ptr_array_add(p->tasks, t);
}

void profile_bound_tasks(struct profile *p)
{
	guint left = TASKS_RECORDED_MAX;

	for (guint i = 0; i < p->tasks->len; i++) {
		tasks_cut_rows(g_ptr_array_index(p->tasks, i), left);
		left -= profile_tasks(p, i)->rows->len;
	}
}

bool tasks_check(const struct profile *p, GError **error)
{
	if (p->tasks->len > TASKS_POPULATIONS_MAX || rows_of_all(p) > TASKS_RECORDED_MAX)
		return profile_damaged(error, "it has too many tasks");
	for (guint i = 0; i < p->tasks->len; i++) {
		const struct tasks *t = profile_tasks(p, i);

		if (!t->program || !t->window_ns || t->window_ns > PROFILE_NS_MAX || !t->looks ||
		    !(t->looked_at_share > 0) || t->looked_at_share > 1)
			return profile_damaged(error, "task population %u has no program, window or looks", i);
		for (guint k = 0; k < t->rows->len; k++) {
			const struct task_row *row = tasks_get(t, k);

			if (!row->state || row->stack >= p->nodes->len || row->creator_frame > p->frames->len ||
			    row->end >= STACK_END_COUNT)
				return profile_damaged(error,
						       "task %u of population %u has no valid state, stack or creator",
						       k, i);
			if (row->task_ns > PROFILE_NS_MAX || row->task_se_ns > PROFILE_NS_MAX)
				return profile_damaged(error, "a time of task %u of population %u is out of range", k,
						       i);
		}
		if (!task_looks_check(t)) 
			return profile_damaged(error, "the looks at task population %u are out of order or range", i);
	}
	return true;
}

bool next_population(const struct profile *p, struct table_at *at, void *ret_row)
{
	if (at->i >= p->tasks->len)
		return false;
	const struct tasks *t = profile_tasks(p, at->i++);

	*(struct population_row *)ret_row = (struct population_row){
		.pid = t->pid,
		.kind = tasks_kind_name(t->kind),
		.program = t->program,
		.version = t->version,
		.window_ns = t->window_ns,
		.looks = t->looks,
		.rate_milli_hz = (uint32_t)(t->rate_hz * 1000),
		.looked_at_ppm = MAX((uint32_t)(t->looked_at_share * TASKS_PPM), 1),
		.cpu_ns = t->cpu_ns,
		.stale = t->stale,
		.unreadable = t->unreadable,
		.no_row = t->no_row,
		.is_cut = t->is_cut,
	};
	return true;
}

bool next_task(const struct profile *p, struct table_at *at, void *ret_row)
{
	for (; at->i < p->tasks->len; at->i++, at->k = 0) {
		const struct tasks *t = profile_tasks(p, at->i);

		if (at->k < t->rows->len) {
			*(struct recorded_task *)ret_row = (struct recorded_task){ at->i, *tasks_get(t, at->k++) };
			return true;
		}
	}
	return false;
}

uint32_t add_population(struct reader *r, const void *row)
{
	const struct population_row *from = row;
	enum tasks_kind kind = TASKS_GO;

	if (!tasks_kind_parse(from->kind, &kind))
		reader_wrong(r, "kind");
	if (!from->window_ns)
		reader_wrong(r, "window_ns");
	if (!from->looks)
		reader_wrong(r, "looks");
	if (!from->looked_at_ppm)
		reader_wrong(r, "looked_at_ppm");
	if (r->wrong)
		return 0;
	struct tasks *t = tasks_new(kind, from->pid);

	t->program = from->program;
	t->version = from->version;
	t->window_ns = from->window_ns;
	t->looks = from->looks;
	t->rate_hz = (double)from->rate_milli_hz / 1000;
	t->looked_at_share = (double)from->looked_at_ppm / TASKS_PPM;
	t->cpu_ns = from->cpu_ns;
	t->stale = from->stale;
	t->unreadable = from->unreadable;
	t->no_row = from->no_row;
	t->is_cut = from->is_cut;
	g_ptr_array_add(r->p->tasks, t);
	return r->p->tasks->len - 1;
}

static struct task_frame frame_at(const struct profile *p, uint32_t id)
{
	const struct frame *f = profile_get_frame(p, id);

	return (struct task_frame){ f->name, f->file, f->line };
}

/* Innermost first, like the path from a node to the root. */
void tasks_take_frames(const struct profile *p, struct task_row *row)
{
	struct task_frame *frames = g_new0(struct task_frame, (gsize)profile_get_node(p, row->stack)->depth + 1);

	for (uint32_t node = row->stack; node; node = profile_get_node(p, node)->parent)
		frames[row->frame_cnt++] = frame_at(p, profile_get_node(p, node)->frame);
	row->frames = frames;
}

/* Rows of a population are contiguous. */
uint32_t add_task(struct reader *r, const void *from)
{
	const struct recorded_task *read = from;
	struct tasks *t = g_ptr_array_index(r->p->tasks, read->population);
	struct task_row row = read->row;

	if (!*row.state)
		reader_wrong(r, "state");
	if (profile_get_node(r->p, row.stack)->depth > TASKS_DEPTH_MAX)
		reader_wrong(r, "stack_id");
	if (r->wrong)
		return 0;
	if (row.creator_frame)
		row.creator = frame_at(r->p, row.creator_frame - 1);
	row.tasks = (double)row.task_ns / (double)t->window_ns;
	t->tasks += row.tasks;
	tasks_take_frames(r->p, &row);
	g_array_append_val(t->rows, row);
	return t->rows->len - 1;
}
