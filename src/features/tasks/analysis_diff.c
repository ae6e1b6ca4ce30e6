/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "analyse/diff/diff.h"

#include <math.h>

#include "base/hash.h"
#include "base/order.h"
#include "features/tasks/analysis.h"

#define ERRORS 3	/* minimum change in standard errors */

static guint key_hash(gconstpointer key)
{
	const struct diff_task *t = key;
	const char *const texts[] = { t->program, t->state, t->reason, t->at, t->call, t->creator };
	uint64_t hash = t->kind;

	for (size_t i = 0; i < G_N_ELEMENTS(texts); i++)
		hash = hash_more(hash, texts[i] ? g_str_hash(texts[i]) : 0);
	return (guint)(hash >> 32 ^ hash);
}

static gboolean key_equal(gconstpointer a, gconstpointer b)
{
	const struct diff_task *x = a, *y = b;

	return x->kind == y->kind && !g_strcmp0(x->program, y->program) && !g_strcmp0(x->state, y->state) &&
	       !g_strcmp0(x->reason, y->reason) && !g_strcmp0(x->at, y->at) && !g_strcmp0(x->call, y->call) &&
	       !g_strcmp0(x->creator, y->creator);
}

static void add_population(GHashTable *rows, const struct tasks *t, enum diff_side side)
{
	struct task_groups g;

	task_groups_make(&g, t);
	EACH_ROW(i, const struct task_group, group, g.groups) {
		const struct diff_task key = {
			.program = t->program, .kind = t->kind, .state = group->state, .reason = group->reason,
			.at = group->at ? group->at->name : NULL, .call = group->call, .creator = group->creator,
		};
		struct diff_task *row = g_hash_table_lookup(rows, &key);

		if (!row) {
			row = g_memdup2(&key, sizeof(key));
			g_hash_table_add(rows, row);
		}
		row->tasks[side] += group->tasks;
		row->variance[side] += group->variance / ((double)t->window_ns * (double)t->window_ns);
	}
	task_groups_clear(&g);
}

static double change_of(const struct diff_task *t)
{
	return fabs(t->tasks[DIFF_AFTER] - t->tasks[DIFF_BEFORE]);
}

ORDER(by_change, struct diff_task, ORDER_HIGH(is_real) ORDER_HIGH_OF(change_of) ORDER_TEXT(at))

GArray *diff_tasks(const struct diff *d)
{
	g_autoptr(GHashTable) found = g_hash_table_new_full(key_hash, key_equal, g_free, NULL);
	GArray *rows;

	for (unsigned side = 0; side < DIFF_SIDES; side++) {
		const struct profile *p = d->in[side].profile;

		if (!p->info.has_tasks)
			return NULL;
		for (guint i = 0; i < p->tasks->len; i++)
			if (selection_has_process(d->in[side].selection, p, profile_tasks(p, i)->pid))
				add_population(found, profile_tasks(p, i), side);
	}
	rows = g_array_new(FALSE, FALSE, sizeof(struct diff_task));
	EACH_KEY(void, key, found) {
		struct diff_task row = *(const struct diff_task *)key;

		row.is_real = change_of(&row) > ERRORS * sqrt(row.variance[DIFF_BEFORE] + row.variance[DIFF_AFTER]);
		g_array_append_val(rows, row);
	}
	g_array_sort(rows, by_change);
	return rows;
}
