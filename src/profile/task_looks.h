/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef PROFILE_TASK_LOOKS_H
#define PROFILE_TASK_LOOKS_H

#include "profile/tasks.h"

/* Inside of tasks.c: the list of looks, by which a part of the window is told. */

/* A look of that period follows, and what it found. */
void task_looks_begin(struct tasks *t, uint64_t end_ns, uint64_t period_ns);
void task_looks_add(struct tasks *t, guint row, uint64_t seen, uint64_t task_ns);
/* Rows have been sorted: row->number is where each one was. */
void task_looks_renumber(struct tasks *t);
/* The last rows are gone. */
void task_looks_cut_rows(struct tasks *t);

/* In the order of time, with cells of rows that there are, and sums far below 64 bits. */
bool task_looks_check(const struct tasks *t);

static inline const struct task_look *task_looks_get(const struct tasks *t, guint i)
{
	return &g_array_index(t->when, struct task_look, i);
}
static inline const struct task_cell *task_looks_cell(const struct tasks *t, guint i)
{
	return &g_array_index(t->cells, struct task_cell, i);
}

#endif
