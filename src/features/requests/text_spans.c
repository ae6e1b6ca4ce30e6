/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "features/requests/text.h"

#include "base/order.h"
#include "explain/text.h"
#include "features/requests/analysis_routes.h"

/* Requests in a recording, as text. */

#define FIRST_FUNCTIONS 2
#define FIRST_REASONS 3
#define NAME_COLUMNS 40
#define FIRST_PERCENT 1

ORDER_POINTERS(by_time, struct request_row, ORDER_HIGH(sum.all.wall_ns) ORDER_TEXT(name))

/* Functions with requests, most time first; free with g_ptr_array_unref(). */
static GPtrArray *rows_of(const struct profile *p)
{
	GPtrArray *rows = g_ptr_array_new();

	for (guint i = 0; i < p->requests->len; i++)
		if (profile_request(p, i)->sum.all.count)
			g_ptr_array_add(rows, (gpointer)profile_request(p, i));
	g_ptr_array_sort(rows, by_time);
	return rows;
}

static uint32_t func_of(const struct profile *p, const struct request_row *row)
{
	return (uint32_t)(row - profile_request(p, 0));
}

static void append_share(GString *line, const char *name, uint64_t ns, uint64_t whole, bool *has_any)
{
	if (text_percent(ns, whole) < FIRST_PERCENT)
		return;
	g_string_append_printf(line, "%s%s %.0f%%", *has_any ? ", " : "", name, text_percent(ns, whole));
	*has_any = true;
}

/* "Requests: dispatch_command 24,360, p50 36.2 us, p99 7.31 ms, max 752 ms; run queue 83%, on CPU 8%, sleep 7%." */
static void append_row(GString *line, const struct profile *p, const struct request_row *row)
{
	const struct offcpu_request_times *all = &row->sum.all;
	g_autoptr(GArray) shares = request_shares(p, func_of(p, row));
	bool has_any = false;

	text_safe_cut(line, row->name, NAME_COLUMNS);
	g_string_append_printf(line, " %s, p50 %s, p99 %s, max %s: ", TEXT_COUNT(all->count),
			       TEXT_NS(request_percentile(&row->sum, 0.5)),
			       TEXT_NS(request_percentile(&row->sum, 0.99)), TEXT_NS(row->sum.max_ns));
	append_share(line, "on CPU", all->on_cpu_ns, all->wall_ns, &has_any);
	append_share(line, "run queue", all->runnable_ns + all->preempted_ns, all->wall_ns, &has_any);
	for (guint i = 0; i < shares->len && i < FIRST_REASONS; i++) {
		const struct request_share *share = &g_array_index(shares, struct request_share, i);

		append_share(line, reason_text(share->reason), share->ns, all->wall_ns, &has_any);
	}
	if (!shares->len)
		append_share(line, "blocked", all->blocked_ns, all->wall_ns, &has_any);
}

void requests_first_text(GString *s, const struct profile *p, const struct text_options *o)
{
	g_autoptr(GPtrArray) rows = rows_of(p);

	for (guint i = 0; i < rows->len && i < FIRST_FUNCTIONS; i++) {
		g_autoptr(GString) line = g_string_new(i ? "          " : "Requests: ");

		append_row(line, p, rows->pdata[i]);
		if (i + 1 == MIN(rows->len, FIRST_FUNCTIONS)) {
			if (rows->len > FIRST_FUNCTIONS)
				g_string_append_printf(line, "; and %u more functions", rows->len - FIRST_FUNCTIONS);
			g_string_append(line, ". `offcpu report --by request`");
		} else {
			g_string_append_c(line, ';');
		}
		text_wrap(s, line->str, "  ", text_screen_width(o));
	}
	requests_open_head_text(s, p, o);
}

static void append_functions(GString *s, const GPtrArray *rows, const struct text_options *o)
{
	g_string_append_printf(s, "%s%11s %9s %9s %9s %9s  %s%s\n", text_bold(o), "REQUESTS", "MEAN", "P50", "P99",
			       "MAX", "FUNCTION", text_plain(o));
	for (guint i = 0; i < rows->len && (!o->top || i < o->top); i++) {
		const struct request_row *row = rows->pdata[i];
		const uint64_t times[] = { row->sum.all.wall_ns / row->sum.all.count,
					   request_percentile(&row->sum, 0.5), request_percentile(&row->sum, 0.99),
					   row->sum.max_ns };

		request_times_text(s, TEXT_COUNT(row->sum.all.count), times, G_N_ELEMENTS(times), row->name, o);
	}
	if (o->top && rows->len > o->top)
		g_string_append_printf(s, "and %u more functions: --top 0 shows all\n", rows->len - o->top);
}

/* " [recursed, thrown]" */
static void append_flags(GString *s, uint8_t flags)
{
	static const char *const names[] = { "nested", "recursed", "thrown" };
	bool has_any = false;

	for (unsigned i = 0; i < G_N_ELEMENTS(names); i++) {
		if (!(flags & 1U << i))
			continue;
		g_string_append_printf(s, "%s%s", has_any ? ", " : " [", names[i]);
		has_any = true;
	}
	if (has_any)
		g_string_append_c(s, ']');
}

/* has_trace: show the trace id's 16 digits, which --trace needs. */
static void append_span(GString *s, const struct profile *p, const struct span_top *top, bool has_names, bool has_trace,
			const struct text_options *o)
{
	const struct request_span *span = profile_span(p, top->span);
	const struct thread *t = profile_thread(p, span->thread);
	const uint64_t times[] = { span->wall_ns, span->on_cpu_ns, span->blocked_ns,
				   span->runnable_ns + span->preempted_ns };
	g_autoptr(GString) line = g_string_new(NULL);

	g_string_append_printf(line, "%9.3f", (double)(span->start_ns - MIN(span->start_ns, p->info.start_ns)) / 1e9);
	for (size_t i = 0; i < G_N_ELEMENTS(times); i++) {
		g_string_append_c(line, ' ');
		text_duration_cell(line, times[i], REQUEST_CELL);
	}
	g_string_append_printf(line, " %7u  ", t->tid);
	if (has_names) {
		text_safe_cell(line, profile_request(p, span->func)->name, 20);
		g_string_append(line, "  ");
	}
	if (has_trace) {
		const char *id, *trace = request_trace(p, span, &id);
		g_autofree char *begin = g_strndup(trace ? trace : "-", 16);

		text_safe_cell(line, begin, 16);
		g_string_append(line, "  ");
	}
	text_duration_cell(line, top->ns, REQUEST_CELL);
	g_string_append_c(line, ' ');
	request_cause_text(line, p, &top->cause, text_room(o, text_width(line->str)));
	append_flags(line, span->flags);
	g_string_append(s, line->str);
	g_string_append_c(s, '\n');
}

static void append_spans(GString *s, const struct profile *p, bool has_names, const struct text_options *o)
{
	g_autoptr(GArray) slowest = request_slowest(p, -1, o->top);
	uint64_t all = 0, kept = 0;

	for (guint i = 0; i < p->requests->len; i++)
		all += profile_request(p, i)->sum.all.count;
	for (guint i = 0; i < p->spans->len; i++)
		kept += (profile_span(p, i)->flags & OFFCPU_SPAN_SLOWEST) != 0;
	if (!slowest->len) {
		g_string_append(s, "\nNo single request is in it.\n");
		return;
	}
	g_string_append_printf(s, "\n%sThe slowest", text_bold(o));
	if (o->top && p->spans->len > o->top)
		g_string_append_printf(s, " %u", slowest->len);
	g_string_append(s, " of ");
	text_thousands(s, all);
	g_string_append_printf(s, "; what took most of each:%s\n", text_plain(o));
	g_string_append_printf(s, "%9s %9s %9s %9s %9s %7s  %s%9s\n", "AT (s)", "LATENCY", "ON-CPU", "BLOCKED",
			       "RUN QUEUE", "TID", has_names ? "FUNCTION              " : "", "MOST");
	for (guint i = 0; i < slowest->len; i++)
		append_span(s, p, &g_array_index(slowest, struct span_top, i), has_names, false, o);
	g_string_append_printf(s, "Single requests in it: %s", TEXT_COUNT(p->spans->len));
	if (kept < all)
		g_string_append_printf(s, ", the %s slowest and a sample of the others", TEXT_COUNT(kept));
	g_string_append(s, ".\n");
}

void requests_table_text(GString *s, const struct profile *p, const struct text_options *o)
{
	g_autoptr(GPtrArray) rows = rows_of(p);

	if (!rows->len) {
		g_string_append(s, "No request ended in it.\n");
	} else {
		append_functions(s, rows, o);
		append_spans(s, p, rows->len > 1, o);
	}
	requests_open_head_text(s, p, o);
}

static void append_route_row(GString *s, const struct request_route *row, const struct text_options *o)
{
	const struct offcpu_request_times *all = &row->sum.all;
	uint64_t cnt = MAX(all->count, 1);
	const uint64_t times[] = { all->wall_ns / cnt,
				   request_percentile(&row->sum, 0.5),
				   request_percentile(&row->sum, 0.99),
				   row->sum.max_ns,
				   all->on_cpu_ns / cnt,
				   all->blocked_ns / cnt,
				   (all->runnable_ns + all->preempted_ns) / cnt };
	g_autoptr(GString) count = g_string_new(row->is_exact ? "" : "~");

	text_thousands(count, all->count);
	request_times_text(s, count->str, times, G_N_ELEMENTS(times), row->name ? row->name : "(not told)", o);
}

static void append_route_spans(GString *s, const struct profile *p, const struct request_route *row,
			       const struct text_options *o)
{
	g_autoptr(GArray) tops = request_tops(p, row->slowest);

	g_string_append_printf(s, "\n%sThe slowest of ", text_bold(o));
	text_safe(s, row->name);
	g_string_append_printf(s, "; what took most of each:%s\n%9s %9s %9s %9s %9s %7s  %-16s  %9s\n", text_plain(o), "AT (s)",
			       "LATENCY", "ON-CPU", "BLOCKED", "RUN QUEUE", "TID", "TRACE", "MOST");
	for (guint i = 0; i < tops->len; i++)
		append_span(s, p, &g_array_index(tops, struct span_top, i), false, true, o);
}

void requests_routes_text(GString *s, const struct profile *p, const struct text_options *o)
{
	struct request_routes *routes = request_routes_new(p, o->top ? o->top : p->spans->len);

	if (!routes->has_any) {
		g_string_append(s, p->spans->len ? "No route of a request is known: no thread had a trace context in one that tells it.\n"
						 : "No single request is in it.\n");
	} else {
		g_string_append_printf(s, "%s%11s %9s %9s %9s %9s %9s %9s %9s  %s%s\n", text_bold(o), "REQUESTS", "MEAN", "P50",
				       "P99", "MAX", "ON-CPU", "BLOCKED", "RUN QUEUE", "ROUTE", text_plain(o));
		for (guint i = 0; i < routes->rows->len; i++)
			append_route_row(s, routes->rows->pdata[i], o);
		if (!((const struct request_route *)routes->rows->pdata[routes->rows->len - 1])->name)
			g_string_append(s, "(not told): the thread had no trace context as it ended, nor as it last waited in it.\n");
	}
	EACH_POINTER(i, const struct request_route, row, routes->rows)
		if (row->name)
			append_route_spans(s, p, row, o);
	request_routes_free(routes);
}

void requests_tails_text(GString *s, const struct profile *p, const struct text_options *o)
{
	gsize before = s->len;

	for (guint i = 0; i < p->requests->len; i++)
		request_tail_text(s, p, i, o);
	if (s->len == before)
		g_string_append(s, "There are too few requests, or their times are too similar, to tell the slowest apart.\n");
}
