/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Tasks in a recording: their tables written and read. */
#include "profile/tasks_file.h"

#include <string.h>

#include "profile/profile_insert.h"
#include "profile/profile_reader.h"
#include "profile/profile_rows.h"
#include "profile/task_looks.h"

#define PPM 1000000
#define RATE_MAX_MILLI_HZ 1000000

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

/* Texts of a profile are the same pointer where they are equal. */
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

static int write_populations(sqlite3 *db, const struct profile *p)
{
	struct insert in = insert_into(db,
				       "INSERT INTO task_population VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");

	for (guint i = 0; i < p->tasks->len; i++) {
		const struct tasks *t = profile_tasks(p, i);

		insert_id(&in, i);
		insert_number(&in, t->pid);
		insert_text(&in, tasks_kind_name(t->kind));
		insert_text(&in, t->program);
		insert_text(&in, t->version);
		insert_number(&in, t->window_ns);
		insert_number(&in, t->looks);
		insert_number(&in, (uint64_t)(t->rate_hz * 1000));
		insert_number(&in, MAX((uint64_t)(t->looked_at_share * PPM), 1));
		insert_number(&in, t->cpu_ns);
		insert_number(&in, t->stale);
		insert_number(&in, t->unreadable);
		insert_number(&in, t->no_row);
		insert_number(&in, t->is_cut);
		if (!insert_row_done(&in))
			break;
	}
	return insert_end(&in);
}

static void put_or_null(struct insert *in, uint64_t value, uint64_t less)
{
	if (value)
		insert_number(in, value - less);
	else
		insert_null(in);
}

static void put_row(struct insert *in, guint population, const struct task_row *row)
{
	insert_number(in, population);
	insert_text(in, row->state);
	insert_text(in, row->reason);
	put_or_null(in, row->stack, 0);
	insert_number(in, row->end);
	put_or_null(in, row->creator_frame, 1);
	put_or_null(in, MIN(row->parent, INT64_MAX), 0);
	insert_text(in, row->name);
	insert_text(in, row->awaited_by);
	insert_number(in, row->seen);
	insert_number(in, MIN(row->task_ns, PROFILE_NS_MAX));
	insert_number(in, MIN(row->task_se_ns, PROFILE_NS_MAX));
}

static int write_rows(sqlite3 *db, const struct profile *p)
{
	struct insert in = insert_rows(db, "INSERT INTO task VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
				       rows_of_all(p));
	uint64_t id = 0;

	for (guint i = 0; i < p->tasks->len; i++) {
		const struct tasks *t = profile_tasks(p, i);

		for (guint k = 0; k < t->rows->len; k++) {
			insert_id(&in, id++);
			put_row(&in, i, tasks_get(t, k));
			if (!insert_row_done(&in))
				return insert_end(&in);
		}
	}
	return insert_end(&in);
}

int tasks_write(sqlite3 *db, const struct profile *p)
{
	int rc = write_populations(db, p);

	return rc == SQLITE_OK ? write_rows(db, p) : rc;
}

static enum tasks_kind kind_at(struct reader *r, int column)
{
	enum tasks_kind kind = TASKS_GO;

	if (!tasks_kind_parse(row_text(r, column), &kind))
		row_wrong(r, column);
	return kind;
}

static const char *text_or_null(struct reader *r, int column)
{
	return row_is_null(r, column) ? NULL : row_own_text(r, column);
}

static uint64_t positive(struct reader *r, int column, uint64_t max)
{
	uint64_t value = row_number(r, column, max);

	if (!value)
		row_wrong(r, column);
	return value;
}

void row_of_task_population(struct reader *r)
{
	struct tasks *t = tasks_new(kind_at(r, 2), row_u32(r, 1));

	t->program = row_own_text(r, 3);
	t->version = text_or_null(r, 4);
	t->window_ns = positive(r, 5, PROFILE_NS_MAX);
	t->looks = positive(r, 6, INT64_MAX);
	t->rate_hz = (double)row_number(r, 7, RATE_MAX_MILLI_HZ) / 1000;
	t->looked_at_share = (double)positive(r, 8, PPM) / PPM;
	t->cpu_ns = row_ns(r, 9);
	t->stale = row_number(r, 10, INT64_MAX);
	t->unreadable = row_number(r, 11, INT64_MAX);
	t->no_row = row_number(r, 12, INT64_MAX);
	t->is_cut = row_number(r, 13, 1) != 0;
	if (r->wrong)
		tasks_free(t);
	else
		g_ptr_array_add(r->p->tasks, t);
}

static struct task_frame frame_at(const struct profile *p, uint32_t id)
{
	const struct frame *f = profile_get_frame(p, id);

	return (struct task_frame){ f->name, f->file, f->line };
}

/* Innermost first, as a path goes from there to the root. */
void tasks_take_frames(const struct profile *p, struct task_row *row)
{
	struct task_frame *frames = g_new0(struct task_frame, (gsize)profile_get_node(p, row->stack)->depth + 1);

	for (uint32_t node = row->stack; node; node = profile_get_node(p, node)->parent)
		frames[row->frame_cnt++] = frame_at(p, profile_get_node(p, node)->frame);
	row->frames = frames;
}

/* Rows of one population follow one another. */
void row_of_task(struct reader *r)
{
	uint32_t population = row_u32(r, 1);
	struct task_row row = {
		.state = row_own_text(r, 2),
		.reason = text_or_null(r, 3),
		.stack = row_id(r, 4, r->nodes, true),
		.end = (enum stack_end)row_number(r, 5, STACK_END_COUNT - 1),
		.creator_frame = row_is_null(r, 6) ? 0 : row_id(r, 6, r->frames, false) + 1,
		.parent = row_is_null(r, 7) ? 0 : row_number(r, 7, INT64_MAX),
		.name = text_or_null(r, 8),
		.awaited_by = text_or_null(r, 9),
		.seen = row_number(r, 10, INT64_MAX),
		.task_ns = row_ns(r, 11),
		.task_se_ns = row_ns(r, 12),
	};
	struct tasks *t = population < r->p->tasks->len ? g_ptr_array_index(r->p->tasks, population) : NULL;

	if (!t || !*row.state)
		row_wrong(r, t ? 2 : 1);
	if (profile_get_node(r->p, row.stack)->depth > TASKS_DEPTH_MAX)
		row_wrong(r, 4);
	if (r->wrong)
		return;
	if (row.creator_frame)
		row.creator = frame_at(r->p, row.creator_frame - 1);
	row.tasks = (double)row.task_ns / (double)t->window_ns;
	t->tasks += row.tasks;
	tasks_take_frames(r->p, &row);
	g_array_append_val(t->rows, row);
}
