/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Tasks: a population for each process, which the server sums over windows. */
#include "push/fleet_rows.h"

#include "features/tasks/rows.h"

#define MILLI 1000
#define PPM 1000000

/* The owner of a row's tasks as f->key; f->a is the host, f->b the process. False: an unknown kind. */
static bool take_whose(struct fleet *f, struct cursor *c, enum tasks_kind *ret_kind, uint32_t *ret_pid)
{
	fleet_text(c, f->a);
	fleet_text(c, f->b);
	*ret_pid = cursor_u32(c);
	fleet_text(c, f->c);
	g_string_printf(f->key, "%u %" G_GSIZE_FORMAT " %s %s %s", *ret_pid, f->a->len, f->a->str, f->b->str, f->c->str);
	return tasks_kind_parse(f->c->str, ret_kind) && !c->bad;
}

static uint64_t take_number(struct cursor *c)
{
	uint64_t value = cursor_u64(c);

	return MIN(value, PROFILE_NS_MAX);
}

bool fleet_population_row(struct fleet *f, struct cursor *c, GError **error)
{
	enum tasks_kind kind;
	uint32_t pid;
	uint64_t n[8];
	bool ok = take_whose(f, c, &kind, &pid);

	fleet_text(c, f->d);
	for (size_t i = 0; i < G_N_ELEMENTS(n); i++)
		n[i] = take_number(c);
	bool is_cut = cursor_u8(c) != 0;

	if (c->bad || !ok || !n[0] || !n[1] || !n[3] || n[3] > PPM)
		return fleet_bad(error, "the tasks of a process are damaged");
	if (f->p->tasks->len >= TASKS_POPULATIONS_MAX) {
		f->lost_populations++;
		return true;
	}
	struct tasks *t = tasks_new(kind, pid);

	if (f->hosts->len > 1)
		g_string_append_printf(f->b, "@%s", f->a->str);
	t->program = profile_string(f->p, f->b->str);
	t->version = f->d->len ? profile_string(f->p, f->d->str) : NULL;
	t->window_ns = n[0];
	t->looks = n[1];
	t->rate_hz = (double)n[2] / MILLI;
	t->looked_at_share = (double)n[3] / PPM;
	t->cpu_ns = n[4];
	t->stale = n[5];
	t->unreadable = n[6];
	t->no_row = n[7];
	t->is_cut = is_cut;
	g_ptr_array_add(f->p->tasks, t);
	g_hash_table_insert(f->populations, g_strdup(f->key->str), t);
	return true;
}

static const char *text_or_null(struct fleet *f, struct cursor *c)
{
	fleet_text(c, f->d);
	return f->d->len ? profile_string(f->p, f->d->str) : NULL;
}

static void take_row(struct fleet *f, struct cursor *c, struct task_row *ret, uint64_t *ret_stack, uint8_t *ret_end)
{
	ret->state = text_or_null(f, c);
	ret->reason = text_or_null(f, c);
	*ret_stack = cursor_u64(c);
	*ret_end = cursor_u8(c);
	ret->creator.name = text_or_null(f, c);
	ret->creator.file = text_or_null(f, c);
	ret->creator.line = cursor_u32(c);
	ret->parent = cursor_u64(c);
	ret->name = text_or_null(f, c);
	ret->awaited_by = text_or_null(f, c);
	ret->seen = take_number(c);
	ret->task_ns = cursor_u64(c);
	ret->task_se_ns = cursor_u64(c);
}

bool fleet_task_row(struct fleet *f, struct cursor *c, GError **error)
{
	struct task_row row = { 0 };
	enum tasks_kind kind;
	uint32_t pid;
	uint64_t stack;
	uint8_t end;
	bool ok = take_whose(f, c, &kind, &pid);

	take_row(f, c, &row, &stack, &end);
	if (c->bad || !ok || !row.state || end >= STACK_END_COUNT || row.task_ns > PROFILE_NS_MAX ||
	    row.task_se_ns > PROFILE_NS_MAX)
		return fleet_bad(error, "a task is damaged");
	struct tasks *t = g_hash_table_lookup(f->populations, f->key->str);

	if (!t)
		return f->lost_populations || fleet_bad(error, "a task's process is not there");
	fleet_content(f, f->stacks, stack, &row.stack);
	if (!fleet_room(f, error))
		return false;
	if (profile_get_node(f->p, row.stack)->depth > TASKS_DEPTH_MAX)
		return fleet_bad(error, "a task's stack is too deep");
	if (t->rows->len >= TASKS_ROWS_MAX) {
		t->no_row = MIN(t->no_row + row.seen, PROFILE_NS_MAX);
		return true;
	}
	row.end = (enum stack_end)end;
	row.creator_frame = tasks_creator_frame(f->p, &row.creator);
	tasks_take_frames(f->p, &row);
	g_array_append_val(t->rows, row);
	return true;
}

void fleet_end_tasks(struct fleet *f)
{
	for (guint i = 0; i < f->p->tasks->len; i++)
		tasks_set_means(g_ptr_array_index(f->p->tasks, i));
	profile_bound_tasks(f->p);
	profile_add_loss(f->p, "task_populations", "processes with tasks beyond the first ones of that time",
			 f->lost_populations, 0);
}
