/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "features/tasks/rows.h"

#include <math.h>
#include <string.h>

#include "base/each.h"
#include "base/hash.h"
#include "base/order.h"

struct tasks *tasks_new(enum tasks_kind kind, uint32_t pid)
{
	struct tasks *t = g_new0(struct tasks, 1);

	t->kind = kind;
	t->pid = pid;
	t->rows = g_array_new(FALSE, TRUE, sizeof(struct task_row));
	t->strings = g_string_chunk_new(4096);
	t->index = g_hash_table_new_full(hash_u64, g_int64_equal, g_free, NULL);
	t->when = g_array_new(FALSE, TRUE, sizeof(struct task_look));
	t->cells = g_array_new(FALSE, TRUE, sizeof(struct task_cell));
	t->now_weight = t->most_weight = 1;
	return t;
}

FREES(tasks_free, struct tasks, t,
      EACH_ROW(i, const struct task_row, row, t->rows) g_free((void *)(uintptr_t)row->frames);
      g_array_unref(t->rows); g_array_unref(t->when); g_array_unref(t->cells); g_string_chunk_free(t->strings);
      g_hash_table_unref(t->index))

GPtrArray *tasks_list_new(void)
{
	return g_ptr_array_new_with_free_func((GDestroyNotify)tasks_free);
}

static const char *const kinds[TASKS_KINDS] = { [TASKS_GO] = "goroutine", [TASKS_ASYNCIO] = "asyncio",
						[TASKS_TOKIO] = "tokio", [TASKS_JAVA] = "java",
						[TASKS_GREENLET] = "greenlet" };

const char *tasks_kind_name(enum tasks_kind kind)
{
	return kinds[kind];
}

bool tasks_kind_parse(const char *name, enum tasks_kind *ret)
{
	for (size_t i = 0; i < G_N_ELEMENTS(kinds); i++) {
		if (strcmp(name, kinds[i]) == 0) {
			*ret = (enum tasks_kind)i;
			return true;
		}
	}
	return false;
}

const char *tasks_string(struct tasks *t, const char *text)
{
	return text ? g_string_chunk_insert_const(t->strings, text) : NULL;
}

struct task_row *tasks_row(struct tasks *t, uint64_t key, bool *ret_is_new)
{
	guint at = GPOINTER_TO_UINT(g_hash_table_lookup(t->index, &key));

	*ret_is_new = !at;
	if (at)
		return &g_array_index(t->rows, struct task_row, at - 1);
	if (t->rows->len >= TASKS_ROWS_MAX) {
		t->no_row++;
		return NULL;
	}
	g_array_set_size(t->rows, t->rows->len + 1);
	g_hash_table_insert(t->index, g_memdup2(&key, sizeof(key)), GUINT_TO_POINTER(t->rows->len));
	return &g_array_index(t->rows, struct task_row, t->rows->len - 1);
}

void tasks_seen(struct tasks *t, struct task_row *row, double weight)
{
	row->now_seen++;
	row->now += weight;
	t->now_weight = MAX(t->now_weight, weight);
}

void tasks_look_done(struct tasks *t, uint64_t end_ns, uint64_t period_ns)
{
	task_looks_begin(t, end_ns, period_ns);
	EACH_ROW(i, struct task_row, row, t->rows) {
		const uint64_t task_ns = (uint64_t)llround(row->now * (double)period_ns);
		double step = row->now - row->before;

		if (row->now_seen)
			task_looks_add(t, i, row->now_seen, task_ns);
		row->seen += row->now_seen;
		row->task_ns += task_ns;
		row->tasks += row->now;
		if (t->looks)
			row->squares += step * (double)period_ns * step * (double)period_ns;
		row->before = row->now;
		row->before_seen = row->now_seen;
		row->now = 0;
		row->now_seen = 0;
	}
	t->looks++;
	t->window_ns += period_ns;
	t->most_weight = MAX(t->most_weight, t->now_weight);
	t->now_weight = 1;
}

void tasks_look_again(struct tasks *t, uint64_t end_ns, uint64_t period_ns)
{
	EACH_ROW(i, struct task_row, row, t->rows) {
		row->now = row->before;
		row->now_seen = row->before_seen;
	}
	tasks_look_done(t, end_ns, period_ns);
}

ORDER(by_tasks, struct task_row, ORDER_HIGH(tasks))

/*
 * Periods are strata with one random instant each. The variance of their sum is estimated from differences of
 * neighbours (Wolter, "Introduction to Variance Estimation", 8.2), which includes the sampling of tasks. A row that
 * never changed may have changed between looks, by at least one task and one period.
 */
void tasks_finish(struct tasks *t)
{
	const double looks = (double)MAX(t->looks, 1), period_ns = (double)t->window_ns / looks;

	EACH_ROW(i, struct task_row, row, t->rows) {
		if (!t->window_ns)
			row->tasks /= looks;
		if (t->looks > 1)
			row->task_se_ns = (uint64_t)MAX(sqrt(row->squares / 2 * looks / (looks - 1)),
							period_ns * t->most_weight);
	}
	tasks_set_means(t);
	g_hash_table_remove_all(t->index);
}

void tasks_set_means(struct tasks *t)
{
	t->tasks = 0;
	EACH_ROW(i, struct task_row, row, t->rows) {
		if (t->window_ns)
			row->tasks = (double)row->task_ns / (double)t->window_ns;
		t->tasks += row->tasks;
		row->number = i;
	}
	g_array_sort(t->rows, by_tasks);
	task_looks_renumber(t);
}

void tasks_cut_rows(struct tasks *t, guint max)
{
	for (guint i = max; i < t->rows->len; i++) {
		t->no_row += tasks_get(t, i)->seen;
		g_free((void *)(uintptr_t)tasks_get(t, i)->frames);
	}
	if (t->rows->len > max)
		g_array_set_size(t->rows, max);
	task_looks_cut_rows(t);
}
