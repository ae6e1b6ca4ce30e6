/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <math.h>

#include "analyse/diff/tasks.h"
#include "analyse/task_groups.h"
#include "render/text/diff.h"
#include "explain/text.h"

#define ROWS_MAX 4

/* "  shop: 12.0 -> 1,024.0 goroutines (+1,012.0 ±3.0): chan send at main.producer, created by main.start" */
static void append_row(GString *s, const struct diff_task *t)
{
	double before = t->tasks[DIFF_BEFORE], after = t->tasks[DIFF_AFTER];

	g_string_append(s, "  ");
	text_safe(s, t->program);
	g_string_append_printf(s, ": %.1f -> %.1f %s (%+.1f ±%.1f): ", before, after,
			       t->kind == TASKS_GO ? "goroutines" : "tasks", after - before,
			       2 * sqrt(t->variance[DIFF_BEFORE] + t->variance[DIFF_AFTER]));
	text_safe(s, t->call ? t->call : task_reason_text(t->state, t->reason));
	if (t->at) {
		g_string_append(s, t->kind == TASKS_GO ? " at " : " in ");
		text_safe(s, t->at);
	}
	if (t->creator) {
		g_string_append(s, ", created by ");
		text_safe(s, t->creator);
	}
	g_string_append_c(s, '\n');
}

void diff_text_tasks(GString *s, const struct diff *d)
{
	g_autoptr(GArray) rows = diff_tasks(d);
	guint real = 0;

	if (!rows)
		return;
	while (real < rows->len && g_array_index(rows, struct diff_task, real).is_real)
		real++;
	g_string_append(s, real ? "Tasks that hold no thread, on average:\n"
				: "Tasks that hold no thread: as many as before, within what looks miss.\n");
	for (guint i = 0; i < MIN(real, ROWS_MAX); i++)
		append_row(s, &g_array_index(rows, struct diff_task, i));
	if (real > ROWS_MAX)
		g_string_append_printf(s, "  and %u more kinds: --json has them\n", real - ROWS_MAX);
}
