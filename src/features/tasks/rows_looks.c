/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "base/each.h"
#include "features/tasks/rows.h"
#include "base/order.h"

#include <math.h>
#include <stdlib.h>

static struct task_look *last_look(struct tasks *t)
{
	return t->when->len ? &g_array_index(t->when, struct task_look, t->when->len - 1) : NULL;
}

static struct task_row *row_at(struct tasks *t, guint i)
{
	return &g_array_index(t->rows, struct task_row, i);
}

void task_looks_add(struct tasks *t, guint row, uint64_t seen, uint64_t task_ns)
{
	const struct task_cell cell = { row, seen, task_ns };
	struct task_look *look = last_look(t);
	guint *at = &row_at(t, row)->cell;
	bool is_there = *at >= look->first_cell && *at < t->cells->len && task_looks_cell(t, *at)->row == row;

	if (!is_there) {
		*at = t->cells->len;
		look->cell_cnt++;
		g_array_append_val(t->cells, cell);
		return;
	}
	g_array_index(t->cells, struct task_cell, *at).seen += seen;
	g_array_index(t->cells, struct task_cell, *at).task_ns += task_ns;
}

/* Losses of past looks are known only as a total. */
static void note_missing(struct tasks *t)
{
	struct task_look *last = last_look(t);
	struct task_look before = { 0 };

	for (guint i = 0; i + 1 < t->when->len; i++) {
		before.stale += task_looks_get(t, i)->stale;
		before.unreadable += task_looks_get(t, i)->unreadable;
		before.no_row += task_looks_get(t, i)->no_row;
	}
	if (!last)
		return;
	last->stale = t->stale - before.stale;
	last->unreadable = t->unreadable - before.unreadable;
	last->no_row = t->no_row - before.no_row;
}

static void join_look(struct task_look *to, const struct task_look *from)
{
	to->period_ns = from->start_ns + from->period_ns - to->start_ns;
	ADD_MEMBERS(to, from, looks, stale, unreadable, no_row);
	to->weight = MAX(to->weight, from->weight);
}

/* Merges pairs of neighbours. */
static void join_pairs(struct tasks *t)
{
	GArray *when = t->when, *cells = t->cells;

	t->joined *= 2;
	t->when = g_array_new(FALSE, TRUE, sizeof(struct task_look));
	t->cells = g_array_new(FALSE, TRUE, sizeof(struct task_cell));
	for (guint i = 0; i < when->len; i++) {
		struct task_look look = g_array_index(when, struct task_look, i);
		const struct task_cell *cell = &g_array_index(cells, struct task_cell, look.first_cell);
		const guint cnt = look.cell_cnt;

		look.first_cell = t->cells->len;
		look.cell_cnt = 0;
		if (i % 2)
			join_look(last_look(t), &look);
		else
			g_array_append_val(t->when, look);
		for (guint k = 0; k < cnt; k++)
			task_looks_add(t, cell[k].row, cell[k].seen, cell[k].task_ns);
	}
	g_array_unref(when);
	g_array_unref(cells);
}

void task_looks_begin(struct tasks *t, uint64_t end_ns, uint64_t period_ns)
{
	struct task_look look = {
		.start_ns = end_ns - period_ns, .period_ns = period_ns, .looks = 1, .weight = t->now_weight,
	};
	struct task_look *last;

	t->joined = MAX(t->joined, 1);
	while (t->when->len > 1 && (t->when->len >= TASK_LOOKS_MAX || t->cells->len > TASK_CELLS_MAX))
		join_pairs(t);
	look.first_cell = t->cells->len;
	last = last_look(t);
	if (last && last->looks < t->joined)
		join_look(last, &look);
	else
		g_array_append_val(t->when, look);
	note_missing(t);
}

ORDER(by_row, struct task_cell, ORDER_LOW(row))

void task_looks_renumber(struct tasks *t)
{
	g_autofree guint *now = g_new(guint, (gsize)t->rows->len + 1);

	for (guint i = 0; i < t->rows->len; i++)
		now[tasks_get(t, i)->number] = i;
	EACH_ROW(i, struct task_cell, cell, t->cells)
		cell->row = now[cell->row];
	for (guint i = 0; i < t->when->len; i++) {
		const struct task_look *look = task_looks_get(t, i);

		if (look->cell_cnt)
			qsort(&g_array_index(t->cells, struct task_cell, look->first_cell), look->cell_cnt,
			      sizeof(struct task_cell), by_row);
	}
}

void task_looks_cut_rows(struct tasks *t)
{
	guint kept = 0;

	EACH_ROW(i, struct task_look, look, t->when) {
		const guint first = look->first_cell, cnt = look->cell_cnt;

		look->first_cell = kept;
		for (guint k = first; k < first + cnt; k++) {
			const struct task_cell cell = *task_looks_cell(t, k);

			if (cell.row < t->rows->len)
				g_array_index(t->cells, struct task_cell, kept++) = cell;
			else
				look->no_row += cell.seen;
		}
		look->cell_cnt = kept - look->first_cell;
	}
	g_array_set_size(t->cells, kept);
}

static uint64_t part_of(uint64_t value, double part)
{
	return part < 1 ? (uint64_t)llround((double)value * part) : value;
}

/* Adds a look's part in [from_ns, to_ns) to the empty rows again. */
static void tell_again(struct tasks *t, const struct task_look *look, const GArray *cells, uint64_t from_ns,
		       uint64_t to_ns)
{
	const uint64_t start_ns = MAX(look->start_ns, from_ns), end_ns = MIN(look->start_ns + look->period_ns, to_ns);
	const double part = (double)(end_ns - start_ns) / (double)look->period_ns;

	t->stale += part_of(look->stale, part);
	t->unreadable += part_of(look->unreadable, part);
	t->no_row += part_of(look->no_row, part);
	t->now_weight = look->weight;
	for (guint i = 0; i < look->cell_cnt; i++) {
		const struct task_cell *cell = &g_array_index(cells, struct task_cell, look->first_cell + i);
		struct task_row *row = row_at(t, cell->row);

		row->now = (double)cell->task_ns / (double)look->period_ns;
		row->now_seen = MAX(part_of(cell->seen, part), 1);
	}
	tasks_look_done(t, end_ns, end_ns - start_ns);
	t->looks += look->looks - 1;
	last_look(t)->looks = look->looks;
}

static void empty_rows(struct tasks *t)
{
	for (guint i = 0; i < t->rows->len; i++) {
		struct task_row *row = row_at(t, i);

		row->seen = row->task_ns = row->task_se_ns = row->now_seen = 0;
		row->tasks = row->now = row->before = row->squares = 0;
		row->cell = 0;
	}
	t->looks = t->window_ns = 0;
	t->stale = t->unreadable = t->no_row = 0;
	t->tasks = 0;
	t->now_weight = t->most_weight = 1;
}

static void drop_empty_rows(struct tasks *t)
{
	guint cnt = 0;

	while (cnt < t->rows->len && tasks_get(t, cnt)->tasks > 0)
		cnt++;
	tasks_cut_rows(t, cnt);
}

bool tasks_cut_range(struct tasks *t, uint64_t from_ns, uint64_t to_ns)
{
	g_autoptr(GArray) when = t->when, cells = t->cells;
	const double cpu_ns = t->looks ? (double)t->cpu_ns / (double)t->looks : 0;

	t->when = g_array_new(FALSE, TRUE, sizeof(struct task_look));
	t->cells = g_array_new(FALSE, TRUE, sizeof(struct task_cell));
	t->joined = 1;
	empty_rows(t);
	EACH_ROW(i, const struct task_look, look, when)
		if (look->start_ns < to_ns && look->start_ns + look->period_ns > from_ns)
			tell_again(t, look, cells, from_ns, to_ns);
	t->cpu_ns = (uint64_t)(cpu_ns * (double)t->looks);
	tasks_finish(t);
	drop_empty_rows(t);
	return t->looks && t->window_ns;
}

static bool cells_fit(const struct tasks *t, const struct task_look *look)
{
	for (guint i = 0; i < look->cell_cnt; i++) {
		const struct task_cell *cell = task_looks_cell(t, look->first_cell + i);

		if (cell->row >= t->rows->len || !cell->seen || cell->seen > UINT32_MAX ||
		    cell->task_ns > (UINT64_C(1) << 62) / TASK_LOOKS_MAX)
			return false;
		if (i && cell->row <= cell[-1].row)
			return false;
	}
	return true;
}

bool task_looks_check(const struct tasks *t)
{
	uint64_t end_ns = 0;

	if (t->when->len > TASK_LOOKS_MAX)
		return false;
	for (guint i = 0; i < t->when->len; i++) {
		const struct task_look *look = task_looks_get(t, i);

		if (!look->period_ns || !look->looks || look->looks > t->looks || !(look->weight >= 1) ||
		    look->start_ns < end_ns || !cells_fit(t, look))
			return false;
		end_ns = look->start_ns + look->period_ns;
	}
	return true;
}
