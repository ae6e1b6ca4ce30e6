/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "render/text/text.h"

#include <math.h>
#include <string.h>

#include "base/module.h"
#include "explain/text.h"
#include "features/tasks/analysis.h"

#define FINDINGS 3
#define SHARE_MIN 0.05	/* minimum share of the non-idle tasks for a second finding */
#define STACK_FRAMES 24
#define TASKS_NONE 0.05	/* a mean up to this is written as 0 */
#define FIRST_POPULATIONS 2

/* "1,024"; means between 0 and 10 with one decimal. */
static void append_tasks(GString *s, double tasks)
{
	if (tasks < 10 && fabs(tasks - round(tasks)) > 0.05)
		g_string_append_printf(s, "%.1f", tasks);
	else
		text_thousands(s, (uint64_t)(tasks + 0.5));
}

static void append_place(GString *s, const struct task_frame *f)
{
	text_safe(s, f->name ? f->name : "[unknown]");
	if (!f->file)
		return;
	g_string_append(s, " (");
	text_safe(s, module_base_name(f->file));
	if (f->line)
		g_string_append_printf(s, ":%u", f->line);
	g_string_append_c(s, ')');
}

static void append_head(GString *s, const struct tasks *t)
{
	text_safe(s, t->program);
	g_string_append_printf(s, " (%u), ", t->pid);
	if (t->version)
		text_safe(s, t->version);
	g_string_append_printf(s, "%s%s %s%s", t->version ? ": " : "", TEXT_COUNT((uint64_t)(t->tasks + 0.5)),
			       task_noun(t->kind), t->tasks == 1 ? "" : "s");
	if (t->window_ns) {
		g_string_append_printf(s, " on average, %s of task time in %s",
				       TEXT_NS((uint64_t)(t->tasks * (double)t->window_ns)), TEXT_NS(t->window_ns));
		g_string_append_printf(s, ", %" G_GUINT64_FORMAT " look%s", t->looks, t->looks == 1 ? "" : "s");
	} else {
		g_string_append(s, ", one look");
	}
	if (t->looked_at_share < 1)
		g_string_append_printf(s, ", each at one of %.0f tasks", 1 / t->looked_at_share);
	g_string_append_c(s, '\n');
}

/* "1,024 goroutines wait in chan send at main.producer (main.go:31)" */
static void append_finding(GString *s, enum tasks_kind kind, const struct task_group *g)
{
	bool is_one = fabs(g->tasks - 1) < 0.05;

	append_tasks(s, g->tasks);
	g_string_append_printf(s, " %s%s", task_noun(kind), is_one ? "" : "s");
	if (kind == TASKS_ASYNCIO && !strcmp(g->state, "waiting") && (g->call || g->at))
		g_string_append_printf(s, " %s ", is_one ? "awaits" : "await");
	else if (!strcmp(g->state, "waiting"))
		g_string_append_printf(s, " %s in ", is_one ? "waits" : "wait");
	else if (!strcmp(g->state, "syscall"))
		g_string_append_printf(s, " %s in ", is_one ? "is" : "are");
	else
		g_string_append_printf(s, " %s ", is_one ? "is" : "are");
	text_safe(s, g->call ? g->call : task_reason_text(g->state, g->reason));
	if (g->call && g->reason && (kind == TASKS_GO || kind == TASKS_JAVA)) {
		g_string_append(s, " (");
		text_safe(s, task_reason_text(g->state, g->reason));
		g_string_append_c(s, ')');
	}
	if (g->at) {
		g_string_append(s, kind == TASKS_ASYNCIO ? " in " : " at ");
		append_place(s, g->at);
	}
	if (g->creator) {
		g_string_append(s, ": created by ");
		text_safe(s, g->creator);
		if (g->parent)
			g_string_append_printf(s, " in %s %" G_GUINT64_FORMAT, task_noun(kind), g->parent);
	}
}

static void append_findings(GString *s, const struct tasks *t, const struct task_groups *g,
			    const struct text_options *o)
{
	double busy = t->tasks - g->idle_tasks;

	for (guint i = 0; i < g->groups->len && i < FINDINGS; i++) {
		const struct task_group *group = &g_array_index(g->groups, struct task_group, i);

		if (i && group->tasks < busy * SHARE_MIN)
			break;
		g_autoptr(GString) line = g_string_new(NULL);

		g_string_append_printf(line, "%u. %.0f%%: ", i + 1, busy > 0 ? 100 * group->tasks / busy : 0);
		append_finding(line, t->kind, group);
		g_string_append(s, text_bold(o));
		text_wrap(s, line->str, "   ", text_screen_width(o));
		g_string_append(s, text_plain(o));
	}
}

static void append_numbers(GString *s, const struct tasks *t, double tasks, uint64_t task_ns, double se_ns)
{
	g_autoptr(GString) cell = g_string_new(NULL);

	append_tasks(cell, tasks);
	text_right(s, cell->str, 9);
	if (!t->window_ns)
		return;
	g_string_truncate(cell, 0);
	text_duration(cell, task_ns);
	text_right(s, cell->str, 12);
	g_string_truncate(cell, 0);
	text_relative_error(cell, se_ns, task_ns);
	text_left(s, cell->str, 8);
}

static void append_reasons(GString *s, const struct tasks *t, const struct task_groups *g, const struct text_options *o)
{
	text_section(s, o, "%s",
		     t->window_ns ? "    tasks   task time          state or wait reason"
				  : "    tasks  state or wait reason");
	for (guint i = 0; i < g->reasons->len && (!o->top || i < o->top); i++) {
		const struct task_group *r = &g_array_index(g->reasons, struct task_group, i);

		append_numbers(s, t, r->tasks, r->task_ns, sqrt(r->variance));
		g_string_append(s, "  ");
		text_safe(s, task_reason_text(r->state, r->reason));
		g_string_append_c(s, '\n');
	}
}

static void append_idle(GString *s, const struct task_groups *g, const struct text_options *o)
{
	g_autoptr(GString) line = g_string_new(NULL);

	if (!g->idle->len)
		return;
	g_string_append(line, "Idle, folded: ");
	append_tasks(line, g->idle_tasks);
	EACH_ROW(i, const struct task_group, why, g->idle) {
		g_string_append(line, i ? "; " : " (");
		g_string_append_printf(line, "%s: ", why->reason);
		append_tasks(line, why->tasks);
	}
	g_string_append_c(line, ')');
	g_string_append_c(s, '\n');
	text_wrap(s, line->str, "  ", text_screen_width(o));
}

/* Appends ", [http.route] /order/{id}" and returns how many frames are no labels. */
static unsigned append_labels(GString *s, const struct task_row *row)
{
	unsigned cnt = row->frame_cnt;

	for (; cnt && task_frame_is_label(&row->frames[cnt - 1]); cnt--) {
		g_string_append(s, ", ");
		text_safe(s, row->frames[cnt - 1].file);
		g_string_append_c(s, ' ');
		text_safe(s, row->frames[cnt - 1].name);
	}
	return cnt;
}

static void append_stack(GString *s, const struct tasks *t, const struct task_row *row, const struct text_options *o)
{
	append_numbers(s, t, row->tasks, row->task_ns, (double)row->task_se_ns);
	g_string_append_printf(s, "  %s", text_bold(o));
	text_safe(s, task_reason_text(row->state, row->reason));
	unsigned functions = append_labels(s, row);

	g_string_append_printf(s, "%s\n", text_plain(o));
	for (unsigned i = 0; i < functions && i < STACK_FRAMES; i++) {
		g_string_append(s, "             ");
		append_place(s, &row->frames[i]);
		g_string_append_c(s, '\n');
	}
	if (functions > STACK_FRAMES)
		g_string_append_printf(s, "             ... %u more\n", functions - STACK_FRAMES);
	if (row->frame_cnt && row->end != STACK_COMPLETE && row->end != STACK_NONE)
		g_string_append_printf(s, "             [%s]\n", stack_end_text(row->end));
	if (row->creator.name) {
		g_string_append(s, "           created by ");
		append_place(s, &row->creator);
		g_string_append_c(s, '\n');
	}
	if (row->name) {
		g_string_append(s, "           named ");
		text_safe(s, row->name);
		g_string_append_c(s, '\n');
	}
	if (row->awaited_by) {
		g_string_append(s, "           awaited by ");
		text_safe(s, row->awaited_by);
		g_string_append_c(s, '\n');
	}
}

static void append_stacks(GString *s, const struct tasks *t, const struct text_options *o)
{
	guint shown = 0, left = 0;

	text_section(s, o, "Stacks, most tasks first");
	EACH_ROW(i, const struct task_row, row, t->rows) {
		if (task_idle(t->kind, row))
			continue;
		if (o->top && shown >= o->top) {
			left++;
			continue;
		}
		append_stack(s, t, row, o);
		shown++;
	}
	if (left)
		g_string_append_printf(s, "%u more: --top 0\n", left);
}

static void append_lacks(GString *s, const struct tasks *t)
{
	const struct { uint64_t cnt; const char *text; } lacks[] = {
		{ t->stale, "looks at a task that changed while it was read: it has no stack" },
		{ t->unreadable, "looks at memory that could not be read" },
		{ t->no_row, "looks at tasks are in no row: there were more than 65,536 different stacks" },
	};

	for (size_t i = 0; i < G_N_ELEMENTS(lacks); i++)
		if (lacks[i].cnt)
			g_string_append_printf(s, "lacks: %" G_GUINT64_FORMAT " %s\n", lacks[i].cnt, lacks[i].text);
	if (!t->is_cut)
		return;
	if (t->kind == TASKS_JAVA) {
		g_string_append(s, "lacks: virtual threads that none of the JDK's own lists has: those of -Djdk.trackAllThreads=false, and "
				   "beyond the first ");
		text_thousands(s, tasks_most(t->kind));
		g_string_append_c(s, '\n');
		return;
	}
	g_string_append(s, "lacks: tasks beyond the first ");
	text_thousands(s, tasks_most(t->kind));
	g_string_append(s, ", or the list of tasks could not be read to its end\n");
}

void text_tasks(GString *s, const struct tasks *t, const struct text_options *o)
{
	struct task_groups g;

	task_groups_make(&g, t);
	append_head(s, t);
	append_findings(s, t, &g, o);
	append_reasons(s, t, &g, o);
	append_idle(s, &g, o);
	append_stacks(s, t, o);
	append_lacks(s, t);
	task_groups_clear(&g);
}

void text_tasks_of(GString *s, const struct profile *p, const struct selection *selection, const struct text_options *o)
{
	bool is_any = false;

	for (guint i = 0; i < p->tasks->len; i++) {
		if (!selection_has_process(selection, p, profile_tasks(p, i)->pid))
			continue;
		g_string_append(s, is_any ? "\n" : "");
		text_tasks(s, profile_tasks(p, i), o);
		is_any = true;
	}
	if (!is_any)
		g_string_append(
			s,
			"No process here had tasks that could be seen: goroutines (Go), tasks of asyncio (CPython) or Tokio, greenlets (CPython), or virtual threads (Java).\n");
}

static void append_first(GString *s, const struct tasks *t, const struct text_options *o)
{
	g_autoptr(GString) line = g_string_new(NULL);
	struct task_groups g;
	double busy;

	task_groups_make(&g, t);
	busy = t->tasks - g.idle_tasks;
	g_string_append(line, "Tasks of ");
	text_safe(line, t->program);
	g_string_append_printf(line, " (%u), apart from its threads: ", t->pid);
	append_tasks(line, t->tasks);
	g_string_append_printf(line, " %s%s", task_noun(t->kind), fabs(t->tasks - 1) < 0.05 ? "" : "s");
	/* for goroutines findings.c says it */
	if (t->kind != TASKS_GO && t->kind != TASKS_JAVA && g.groups->len && busy > 0) {
		const struct task_group *first = &g_array_index(g.groups, struct task_group, 0);

		g_string_append(line, "; of these ");	/* these are probably idle */
		append_finding(line, t->kind, first);
	}
	g_string_append_c(line, '.');
	text_wrap(s, line->str, "   ", text_screen_width(o));
	task_groups_clear(&g);
}

void text_tasks_first(GString *s, const struct profile *p, const struct selection *selection,
		      const struct text_options *o)
{
	guint shown = 0, left = 0;

	for (guint i = 0; i < p->tasks->len; i++) {
		if (!selection_has_process(selection, p, profile_tasks(p, i)->pid) ||
		    profile_tasks(p, i)->tasks < TASKS_NONE)
			continue;
		if (shown < FIRST_POPULATIONS)
			append_first(s, profile_tasks(p, i), o);
		else
			left++;
		shown++;
	}
	if (left)
		g_string_append_printf(s, "Tasks of %u more process%s: --by task\n", left, left == 1 ? "" : "es");
}
