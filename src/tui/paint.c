/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "explain/text.h"
#include "tui/view.h"

#include <string.h>

#define HEAD_LINES 4	/* above the rows */
#define FOOT_LINES 1
#define NAME_COLUMNS 14
#define LONG_NAME_COLUMNS 28	/* for names of rows without ids */
#define BAR_COLUMNS 8
#define NARROW 100	/* columns; a narrower screen omits some columns of the table */

guint view_table_rows(const struct view *v)
{
	return v->rows > HEAD_LINES + FOOT_LINES ? v->rows - HEAD_LINES - FOOT_LINES : 1;
}

/* Cuts the text to `width` columns and resets the style. On a terminal without UTF-8, other letters become "?". */
static char *fit_text(const struct view *v, const char *text, unsigned width)
{
	GString *line = g_string_new(NULL);
	unsigned at = 0;

	for (; *text; text = g_utf8_next_char(text)) {
		gunichar c = g_utf8_get_char(text);
		unsigned columns = c < 32 || g_unichar_iszerowidth(c) ? 0 : g_unichar_iswide(c) ? 2 : 1;

		if (c < 32 && v->is_plain)
			continue;
		if (width && at + columns > width)
			break;
		at += columns;
		if (c < 128 || v->has_utf8)
			g_string_append_unichar(line, c);
		else if (columns)
			g_string_append(line, columns == 2 ? "??" : "?");
	}
	return g_string_free(line, FALSE);
}

void view_add_line(const struct view *v, GPtrArray *lines, const char *text)
{
	g_ptr_array_add(lines, fit_text(v, text, v->columns));
}

static double percent_of(uint64_t ns, uint64_t length_ns)
{
	return length_ns ? 100.0 * (double)ns / (double)length_ns : 0;
}

/* A percentage of the interval: two decimals below 100, none above. With a baseline: the difference. */
static void append_percent(GString *s, double now, double before, bool is_difference, unsigned width)
{
	g_autofree char *cell = NULL;
	double value = is_difference ? now - before : now;
	const char *sign = is_difference && value > 0.05 ? "+" : "";

	cell = value > 999.95 || value < -999.95 ? g_strdup_printf("%s%.0f", sign, value)
						 : g_strdup_printf("%s%.1f", sign, value);
	text_right(s, value < 0.05 && value > -0.05 ? (is_difference ? "=" : "0") : cell, width);
	g_string_append_c(s, ' ');
}

static void append_rate(GString *s, double now, double before, bool is_difference)
{
	double value = is_difference ? now - before : now;
	const char *sign = is_difference && value >= 0.05 ? "+" : "";
	double size = value < 0 ? -value : value;
	g_autofree char *cell = size >= 99999.5 ? g_strdup_printf("%s%.0fk", sign, value / 1000) :
				size >= 9.95 || size == 0 ? g_strdup_printf("%s%.0f", sign, value) :
							    g_strdup_printf("%s%.1f", sign, value);

	text_right(s, is_difference && size < 0.05 ? "=" : cell, 7);
	g_string_append_c(s, ' ');
}

static void append_time(GString *s, uint64_t ns)
{
	g_autoptr(GString) cell = g_string_new(NULL);

	if (ns)
		text_duration(cell, ns);
	text_right(s, ns ? cell->str : "-", 7);
	g_string_append_c(s, ' ');
}

static void append_cells(GString *s, const struct view *v, enum view_style style, char ascii, const char *utf8,
			 unsigned cnt)
{
	if (!cnt)
		return;
	g_string_append_c(s, (char)style);
	for (unsigned i = 0; i < cnt; i++) {
		if (v->has_utf8)
			g_string_append(s, utf8);
		else
			g_string_append_c(s, ascii);
	}
	g_string_append_c(s, STYLE_PLAIN);
}

/* A full-width bar of the row's time by class. Each part ends at the rounded sum up to it. */
static void append_bar(GString *s, const struct view *v, const struct activity_row *r)
{
	const uint64_t parts[] = { r->on_cpu_ns, r->blocked_ns, activity_queue_ns(r), r->idle_ns };
	static const char *const utf8[] = { "█", "▓", "▒", "░" };
	static const char ascii[] = "#=+.";
	static const enum view_style styles[] = { STYLE_ON_CPU, STYLE_BLOCKED, STYLE_QUEUE, STYLE_IDLE };
	uint64_t all = 0, sum = 0;
	unsigned at = 0;

	for (unsigned i = 0; i < 4; i++)
		all += parts[i];
	for (unsigned i = 0; i < 4 && all; i++) {
		sum += parts[i];
		unsigned until = (unsigned)((double)sum / (double)all * BAR_COLUMNS + 0.5);

		append_cells(s, v, styles[i], ascii[i], utf8[i], until - at);
		at = until;
	}
	g_string_append_printf(s, "%*s", (int)(BAR_COLUMNS - at) + 1, "");
}

static void append_what(GString *s, const struct view *v, const struct activity_row *r)
{
	g_autoptr(GString) text = g_string_new(NULL);

	if (!r->reason_ns)
		return;
	if (r->wait && v->by != ACTIVITY_BY_STACK)
		explanation_wait(text, v->shown->explanation, r->wait - 1);
	else
		g_string_append(text, reason_text(r->reason));
	text_safe(s, text->str);
}

static bool has_ids(const struct view *v)
{
	return v->by == ACTIVITY_BY_PROCESS || v->by == ACTIVITY_BY_THREAD;
}

static bool is_wide(const struct view *v)
{
	return v->is_plain || v->columns >= NARROW;
}

static unsigned name_columns(const struct view *v)
{
	if (has_ids(v))
		return is_wide(v) ? NAME_COLUMNS + 2 : NAME_COLUMNS;
	return is_wide(v) ? LONG_NAME_COLUMNS + 12 : LONG_NAME_COLUMNS;
}

static void append_numbers(GString *s, const struct view *v, const struct activity_row *r)
{
	static const struct activity_row none;
	const struct activity_row *old = v->base ? view_base_row(v->base, &r->key) : NULL;
	uint64_t length_ns = v->shown->profile->info.duration_ns, old_ns = v->base ? view_base_length_ns(v->base) : 0;
	bool is_difference = v->base != NULL;

	old = old ? old : &none;
	if (has_ids(v))
		append_percent(s, percent_of(r->on_cpu_ns, length_ns), percent_of(old->on_cpu_ns, old_ns),
			       is_difference, 5);
	append_percent(s, percent_of(r->blocked_ns, length_ns), percent_of(old->blocked_ns, old_ns), is_difference, 5);
	append_percent(s, percent_of(activity_queue_ns(r), length_ns), percent_of(activity_queue_ns(old), old_ns),
		       is_difference, 5);
	if (v->is_plain)
		append_percent(s, percent_of(r->idle_ns, length_ns), percent_of(old->idle_ns, old_ns), is_difference,
			       5);
	append_rate(s, (double)r->waits * 1e9 / (double)MAX(length_ns, 1),
		    (double)old->waits * 1e9 / (double)MAX(old_ns, 1), is_difference);
	if (is_wide(v))
		append_time(s, activity_percentile_ns(r, 0.5));
	append_time(s, activity_percentile_ns(r, 0.99));
}

/* In "futex_wait (PyThread_acquire_lock_timed <- Shop.pay)" the caller says most, so it is kept when cutting. */
static void append_name(GString *s, const char *name, unsigned columns)
{
	const char *api = *name ? strchr(name + 1, '(') : NULL, *caller = api ? strstr(api, " <- ") : NULL;
	g_autofree char *shorter = NULL;

	if (strlen(name) > columns && caller)
		shorter = g_strdup_printf("%.*s(..%s", (int)(api - name), name, caller);
	text_safe_cell(s, shorter ? shorter : name, columns);
}

static void add_row(const struct view *v, GPtrArray *lines, const struct activity_row *r, bool is_selected)
{
	g_autoptr(GString) s = g_string_new(NULL);

	if (is_selected)
		g_string_append_c(s, STYLE_SELECTED);
	if (has_ids(v))
		g_string_append_printf(s, "%7u ", r->tid ? r->tid : r->pid);
	if (v->by == ACTIVITY_BY_STACK)
		append_name(s, r->name, name_columns(v));
	else
		text_safe_cell(s, r->name, name_columns(v));
	g_string_append_c(s, ' ');
	if (v->by != ACTIVITY_BY_THREAD && is_wide(v))
		g_string_append_printf(s, "%5u ", r->threads_cnt);
	if (!v->is_plain)
		append_bar(s, v, r);
	append_numbers(s, v, r);
	append_what(s, v, r);
	view_add_line(v, lines, s->str);
}

static void add_columns(const struct view *v, GPtrArray *lines)
{
	static const char *const names[ACTIVITY_BY_COUNT] = { "PROCESS", "THREAD", "REASON",
							      "OBJECT",	 "STACK",  "ROUTE" };
	g_autoptr(GString) s = g_string_new(NULL);

	g_string_append_c(s, STYLE_BOLD);
	if (has_ids(v))
		g_string_append_printf(s, "%7s ", v->by == ACTIVITY_BY_THREAD ? "TID" : "PID");
	g_string_append_printf(s, "%-*s ", (int)name_columns(v), names[v->by]);
	if (v->by != ACTIVITY_BY_THREAD && is_wide(v))
		g_string_append(s, "  THR ");
	if (!v->is_plain)
		g_string_append_printf(s, "%-*s ", BAR_COLUMNS, "TIME");
	if (has_ids(v))
		g_string_append(s, "  CPU ");
	g_string_append_printf(s, "BLOCK QUEUE %sWAITS/S ", v->is_plain ? " IDLE " : "");
	if (is_wide(v))
		g_string_append(s, " MEDIAN ");
	g_string_append(s, "    P99 WAITS FOR");
	g_string_append_c(s, STYLE_PLAIN);
	view_add_line(v, lines, s->str);
}

static void append_class(GString *s, const char *name, enum view_style style, uint64_t ns, uint64_t whole_ns)
{
	g_string_append_printf(s, "%s ", name);
	g_string_append_c(s, (char)style);
	g_string_append_printf(s, "%.1f%%", text_percent(ns, whole_ns));
	g_string_append_c(s, STYLE_PLAIN);
	g_string_append_c(s, ' ');
}

static uint64_t lost_cnt(const struct profile *p)
{
	uint64_t cnt = 0;

	for (guint i = 0; i < p->losses->len; i++)
		cnt += g_array_index(p->losses, struct profile_loss, i).count;
	return cnt;
}

static void add_title(const struct view *v, GPtrArray *lines)
{
	const struct profile *p = v->shown->profile;
	g_autoptr(GDateTime) time = g_date_time_new_from_unix_local(
		(gint64)((p->info.start_unix_ns + p->info.duration_ns) / 1000000000));
	g_autofree char *clock = time ? g_date_time_format(time, "%H:%M:%S") : g_strdup("");
	g_autoptr(GString) s = g_string_new(NULL);

	g_string_append_c(s, STYLE_BOLD);
	g_string_append_printf(s, "offcpu top %s  ", clock);
	text_safe(s, *v->target ? v->target : "whole system");
	g_string_append_printf(s, ", %u thread%s, %s%s", p->threads->len, p->threads->len == 1 ? "" : "s",
			       TEXT_NS(p->info.duration_ns), profile_is_sampled(p) ? ", sampled" : ", exact");
	g_string_append_c(s, STYLE_PLAIN);
	if (v->is_since_start)
		g_string_append(s, "  [since the start]");
	if (v->is_frozen)
		g_string_append(s, "  [frozen]");
	if (v->is_following && !v->has_detail)
		g_string_append(s, "  [following]");
	if (v->base)
		g_string_append(s, "  [baseline]");
	view_add_line(v, lines, s->str);
}

/* The total time by class, and what the interval was observed with. */
static void add_totals(const struct view *v, GPtrArray *lines)
{
	const struct profile *p = v->shown->profile;
	const struct activity_row *t = &v->activity->total;
	g_autoptr(GString) s = g_string_new(NULL);
	uint64_t cost_ns = profile_running_cpu_ns(&p->info) + (p->info.has_bpf_ns ? p->info.tracer_bpf_ns : 0);

	append_class(s, "on-CPU", STYLE_ON_CPU, t->on_cpu_ns, t->observed_ns);
	append_class(s, "blocked", STYLE_BLOCKED, t->blocked_ns, t->observed_ns);
	append_class(s, "queue", STYLE_QUEUE, activity_queue_ns(t), t->observed_ns);
	append_class(s, "idle", STYLE_IDLE, t->idle_ns, t->observed_ns);
	g_string_append_printf(s, " %.0f sw/s", (double)t->switches * 1e9 / (double)MAX(p->info.duration_ns, 1));
	if (p->info.cpus)
		g_string_append_printf(s, ", tracer %.1f%%", percent_of(cost_ns, p->info.duration_ns * p->info.cpus));
	if (lost_cnt(p))
		g_string_append_printf(s, ", lost %" G_GUINT64_FORMAT, lost_cnt(p));
	view_add_line(v, lines, s->str);
}

static void add_path(const struct view *v, GPtrArray *lines)
{
	g_autoptr(GString) s = g_string_new("by ");

	g_string_append(s, activity_by_name(v->by));
	for (guint i = 0; i < v->levels->len; i++) {
		g_string_append(s, i ? " > " : " of ");
		text_safe(s, g_array_index(v->levels, struct view_level, i).title);
	}
	g_string_append_printf(s, ", sorted by %s%s", view_sort_name(v->sort), v->is_reversed ? ", the other way" : "");
	if (v->filter->len) {
		g_string_append(s, ", only with \"");
		text_safe(s, v->filter->str);
		g_string_append_c(s, '"');
	}
	if (v->hides_kernel)
		g_string_append(s, ", no kernel threads");
	if (v->hides_idle)
		g_string_append(s, ", none that did nothing");
	view_add_line(v, lines, s->str);
}

static void add_rows(struct view *v, GPtrArray *lines)
{
	guint room = v->rows ? view_table_rows(v) : v->order->len;

	if (v->selected < v->first)
		v->first = v->selected;
	if (v->selected >= v->first + room)
		v->first = v->selected - room + 1;
	if (v->first + room > v->order->len)
		v->first = v->order->len > room ? v->order->len - room : 0;
	for (guint i = v->first; i < v->order->len && i < v->first + room; i++)
		add_row(v, lines, view_row_at(v, i), !v->is_plain && i == v->selected);
}

static void add_detail(struct view *v, GPtrArray *lines)
{
	g_autoptr(GPtrArray) all = g_ptr_array_new_with_free_func(g_free);

	view_paint_detail(v, all);
	v->detail_lines = all->len;
	if (v->detail_first >= all->len)
		v->detail_first = 0;
	for (guint i = v->detail_first; i < all->len && lines->len + FOOT_LINES < v->rows; i++)
		view_add_line(v, lines, g_ptr_array_index(all, i));
}

static void add_foot(const struct view *v, GPtrArray *lines)
{
	g_autoptr(GString) s = g_string_new(NULL);

	if (v->rows > lines->len + FOOT_LINES + 1 && v->shown && !v->has_detail && !v->has_help)
		view_paint_headlines(v, lines, v->rows - lines->len - FOOT_LINES);
	while (lines->len + FOOT_LINES < v->rows)
		g_ptr_array_add(lines, g_strdup(""));
	if (v->prompt != PROMPT_NONE) {
		g_string_append(s, v->prompt == PROMPT_FILTER ? "only rows with: " : "search: ");
		text_safe(s, v->typed->str);
		g_string_append_c(s, '_');
	} else if (v->message) {
		text_safe(s, v->message);
	} else {
		g_string_append_c(s, STYLE_DIM);
		g_string_append(s, "? help, Enter stacks, Tab view, <> sort, \\ filter, / find, space freeze, q quit");
		g_string_append_c(s, STYLE_PLAIN);
	}
	view_add_line(v, lines, s->str);
}

GPtrArray *view_paint(struct view *v)
{
	GPtrArray *lines = g_ptr_array_new_with_free_func(g_free);

	if (v->has_help) {
		view_paint_help(v, lines);
		for (guint i = 0; i < lines->len; i++) {
			g_autofree char *line = lines->pdata[i];

			lines->pdata[i] = fit_text(v, line, v->columns);
		}
		if (lines->len > v->rows)
			g_ptr_array_set_size(lines, (gint)v->rows);
		return lines;
	}
	if (v->activity) {
		add_title(v, lines);
		add_totals(v, lines);
		if (!v->is_plain)
			add_path(v, lines);
	} else {
		view_add_line(v, lines, "offcpu top: the first interval is being measured");
	}
	if (v->has_detail && v->activity) {
		add_detail(v, lines);
	} else if (v->activity) {
		add_columns(v, lines);
		add_rows(v, lines);
	}
	if (!v->is_plain)
		add_foot(v, lines);
	if (!v->is_plain && lines->len > v->rows)
		g_ptr_array_set_size(lines, (gint)v->rows);
	return lines;
}
