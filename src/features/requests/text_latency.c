/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "render/text/text.h"

#include "base/order.h"
#include "explain/text.h"
#include "features/requests/analysis.h"
#include "features/requests/findings_latency.h"

#define CELL 9
#define REASONS_TOLD 3
#define REASON_MIN_PERCENT 2
#define ROWS 8

static double rate_of(uint64_t cnt, uint64_t ns)
{
	return ns ? (double)cnt * 1e9 / (double)ns : 0;
}

static void append_rate(GString *s, double rate)
{
	if (rate >= 100)
		text_thousands(s, (uint64_t)(rate + 0.5));
	else
		g_string_append_printf(s, "%.3g", rate);
}

static void rate_cell(GString *s, double rate)
{
	g_autoptr(GString) cell = g_string_new(NULL);

	append_rate(cell, rate);
	text_right(s, cell->str, CELL);
}

struct share {
	const char *name;
	uint64_t ns;
};

ORDER(most_first, struct share, ORDER_HIGH(ns))

/* "lock 61%, on CPU 20%, disk 12%", for all its requests. */
static void append_reasons(GString *s, const struct request_cell *cell)
{
	struct share shares[REASON_COUNT] = { 0 };
	unsigned told = 0;

	EACH_POINTER(i, const struct request_cause_cell, cause, cell->causes) {
		shares[cause->reason].name = cause->reason == REASON_ON_CPU ? "on CPU" : reason_text(cause->reason);
		shares[cause->reason].ns += request_cause_from(cause, 0);
	}
	qsort(shares, G_N_ELEMENTS(shares), sizeof(*shares), most_first);
	for (unsigned i = 0; i < REASON_COUNT && told < REASONS_TOLD; i++) {
		double percent = text_percent(shares[i].ns, cell->sum.all.wall_ns);

		if (!shares[i].name || percent < REASON_MIN_PERCENT)
			break;
		g_string_append_printf(s, "%s%s %.0f%%", told++ ? ", " : "", shares[i].name, percent);
	}
}

static void append_step(GString *s, const struct request_line *l, const struct request_series *series, uint32_t i,
			bool is_one_day)
{
	const struct request_cell *cell = series->steps[i];

	g_string_append(s, "  ");
	text_clock_as(s, l->from_unix_ns + i * l->step_ns, is_one_day ? "%H:%M:%S" : "%m-%d %H:%M");
	rate_cell(s, rate_of(cell->sum.all.count, cell->observed_ns));
	if (cell->sum.all.count) {
		text_duration_cell(s, request_percentile(&cell->sum, 0.5), CELL);
		text_duration_cell(s, request_percentile(&cell->sum, 0.99), CELL);
		text_duration_cell(s, cell->sum.max_ns, CELL);
		g_string_append(s, "  ");
		append_reasons(s, cell);
	}
	g_string_append_c(s, '\n');
}

/* Omits steps in which such requests were not traced. */
static void append_steps(GString *s, const struct request_line *l, const struct request_series *series)
{
	bool is_one_day = text_same_day(l->from_unix_ns, l->from_unix_ns + l->steps * l->step_ns - 1);

	g_string_append(s, is_one_day ? "  TIME    " : "  TIME       ");
	g_string_append(s, " REQ/S      P50      P99      MAX  SPENT ON\n");
	for (uint32_t i = 0; i < l->steps; i++)
		if (series->steps[i])
			append_step(s, l, series, i, is_one_day);
}

static void append_split(GString *s, const struct request_cell *cell, const struct text_options *o)
{
	uint32_t from = request_cell_slowest(cell, LATENCY_SLOWEST);
	uint64_t slowest = request_cell_count_from(cell, from), all = request_cell_count_from(cell, 0);
	g_autoptr(GArray) parts = latency_parts(cell, from);

	if (!slowest || !all)
		return;
	g_string_append_printf(s, "\n  Of each request, and of each of the slowest %.2g%% (", text_percent(slowest, all));
	text_thousands(s, slowest);
	g_string_append(s, ", from ");
	text_duration(s, request_slot_low(from * OFFCPU_REQUEST_RANGE_SLOTS));
	g_string_append(s, "):\n       EACH  SLOWEST\n");
	for (guint i = 0; i < parts->len && i < ROWS; i++) {
		const struct latency_part *part = &g_array_index(parts, struct latency_part, i);
		const unsigned room = text_room(o, 2 + 2 * CELL + 2);

		g_string_append(s, "  ");
		text_duration_cell(s, part->ns / all, CELL);
		text_duration_cell(s, part->slowest_ns / slowest, CELL);
		g_string_append(s, "  ");
		if (part->cause)
			latency_append_cause(s, part->cause, room);
		else
			text_safe_cut(s, "in no class: waits that were sampled away, or not seen", room);
		g_string_append_c(s, '\n');
	}
}

static void append_series(GString *s, const struct request_line *l, const struct request_series *series,
			  const struct text_options *o)
{
	g_autoptr(GString) head = g_string_new(NULL);

	latency_append_sentence(head, l, series);
	text_wrap(s, head->str, "", text_screen_width(o));
	if (!series->all->sum.all.count)
		return;
	g_string_append_printf(s, "  %s requests, ", TEXT_COUNT(series->all->sum.all.count));
	append_rate(s, rate_of(series->all->sum.all.count, series->all->observed_ns));
	g_string_append_printf(s, " a second: p50 %s, p99 %s, max %s\n\n",
			       TEXT_NS(request_percentile(&series->all->sum, 0.5)),
			       TEXT_NS(request_percentile(&series->all->sum, 0.99)), TEXT_NS(series->all->sum.max_ns));
	append_steps(s, l, series);
	append_split(s, series->all, o);
}

void latency_text(GString *s, const struct request_line *l, const struct text_options *o)
{
	g_autoptr(GString) uncounted = g_string_new(NULL);

	latency_append_uncounted(uncounted, l);
	if (uncounted->len)
		text_wrap(s, uncounted->str, "", text_screen_width(o));
	for (guint i = 0; i < l->series->len; i++) {
		if (i)
			g_string_append_c(s, '\n');
		append_series(s, l, &g_array_index(l->series, struct request_series, i), o);
	}
}
