/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "features/requests/findings_latency.h"

#include <math.h>
#include <string.h>

#include "base/order.h"
#include "explain/text.h"
#include "features/requests/analysis.h"

/*
 * A change is a run of steps whose p99 (logarithm) differs most from that of all others. Any line has such a run, so
 * it counts only if the difference exceeds the usual variation between steps, and is large enough for a person to
 * care.
 */
#define STEP_MIN_REQUESTS 100	/* with fewer requests, p99 is just the longest one */
#define STEPS_MIN 6
#define TIMES_MIN 1.5
#define STANDS_OUT 5.0		/* errors of the difference; high, because it is the best of many runs */
#define STEP_ERROR 0.03		/* minimum error of a logarithm: slots are a sixteenth of an octave wide */
#define GROWN_SHARE 0.3		/* of the slowest requests' additional time */
#define NAME_COLUMNS 64
#define UNCOUNTED_SHARE 0.01

struct point {
	uint32_t step;
	double log_ns;
};

static GArray *points_of(const struct request_line *l, const struct request_series *series)
{
	GArray *points = g_array_new(FALSE, FALSE, sizeof(struct point));

	for (uint32_t i = 0; i < l->steps; i++) {
		const struct request_cell *cell = series->steps[i];
		struct point p = { .step = i };

		if (!cell || cell->sum.all.count < STEP_MIN_REQUESTS)
			continue;
		p.log_ns = log((double)MAX(request_percentile(&cell->sum, 0.99), 1));
		g_array_append_val(points, p);
	}
	return points;
}

/* How much the run [i, k) of n points reduces the sum of squares, and how much its mean differs. */
struct run {
	guint from, to;
	double taken, apart;
};

static struct run best_run(const double *before, guint n)
{
	struct run best = { 0 };

	for (guint i = 0; i < n; i++)
		for (guint k = i + 1; k <= n; k++) {
			double in = k - i, out = n - in;

			if (out <= 0)
				continue;
			double apart = (before[k] - before[i]) / in - (before[n] - before[k] + before[i]) / out;
			double taken = in * out / n * apart * apart;

			if (taken > best.taken)
				best = (struct run){ i, k, taken, apart };
		}
	return best;
}

bool latency_change(const struct request_line *l, const struct request_series *series, uint32_t *ret_from,
		    uint32_t *ret_to)
{
	g_autoptr(GArray) points = points_of(l, series);
	const struct point *p = (const struct point *)(const void *)points->data;
	guint n = points->len;
	g_autofree double *before = g_new0(double, n + 1);
	double squares = 0;

	if (n < STEPS_MIN)
		return false;
	for (guint i = 0; i < n; i++)
		before[i + 1] = before[i] + p[i].log_ns;
	for (guint i = 0; i < n; i++)
		squares += pow(p[i].log_ns - before[n] / n, 2);
	const struct run r = best_run(before, n);
	double in = r.to - r.from, error = sqrt(MAX(squares - r.taken, 0) / (n - 2));

	if (fabs(r.apart) < log(TIMES_MIN) ||
	    fabs(r.apart) < STANDS_OUT * MAX(error, STEP_ERROR) * sqrt(1 / in + 1 / (n - in)))
		return false;
	*ret_from = p[r.from].step;
	*ret_to = r.to < n ? p[r.to].step : l->steps;
	return true;
}

ORDER(slowest_first, struct latency_part, ORDER_HIGH(slowest_ns) ORDER_HIGH(ns))

GArray *latency_parts(const struct request_cell *cell, uint32_t slowest_from)
{
	GArray *parts = g_array_new(FALSE, FALSE, sizeof(struct latency_part));
	struct latency_part rest = { .ns = request_cell_wall_from(cell, 0),
				     .slowest_ns = request_cell_wall_from(cell, slowest_from) };

	EACH_POINTER(i, const struct request_cause_cell, cause, cell->causes) {
		const struct latency_part part = { cause, request_cause_from(cause, 0),
						   request_cause_from(cause, slowest_from) };

		rest.ns -= MIN(rest.ns, part.ns);
		rest.slowest_ns -= MIN(rest.slowest_ns, part.slowest_ns);
		if (part.ns)
			g_array_append_val(parts, part);
	}
	if (rest.ns)
		g_array_append_val(parts, rest);
	g_array_sort(parts, slowest_first);
	return parts;
}

void latency_append_cause(GString *s, const struct request_cause_cell *cause, unsigned width)
{
	g_autoptr(GString) text = g_string_new(cause->reason == REASON_ON_CPU ? "CPU time" : reason_text(cause->reason));

	if (*cause->where)
		g_string_append_printf(text, " %s", cause->where);
	text_safe_cut(s, text->str, width);
}

/* ---- the sentence ---- */

/* The sum of the run's steps, or of all others. */
static struct request_cell *sum_of(const struct request_series *series, uint32_t steps, uint32_t from, uint32_t to,
				   bool is_inside)
{
	struct request_cell *sum = request_cell_new(series->name);

	for (uint32_t i = 0; i < steps; i++)
		if (series->steps[i] && (i >= from && i < to) == is_inside)
			request_cell_add(sum, series->steps[i]);
	return sum;
}

static double mean_of(const struct request_cell *cell, const struct request_cause_cell *like, uint32_t from)
{
	uint64_t cnt = request_cell_count_from(cell, from);

	EACH_POINTER(i, const struct request_cause_cell, cause, cell->causes)
		if (cause->reason == like->reason && strcmp(cause->where, like->where) == 0)
			return cnt ? (double)request_cause_from(cause, from) / (double)cnt : 0;
	return 0;
}

/* The cause that grew most in the slowest 1% of `more` against those of `less`. NULL: no single cause. */
static const struct request_cause_cell *grown_cause(const struct request_cell *less, const struct request_cell *more,
						    double *ret_less_ns, double *ret_more_ns)
{
	uint32_t less_from = request_cell_slowest(less, LATENCY_SLOWEST),
		 more_from = request_cell_slowest(more, LATENCY_SLOWEST);
	double wall = (double)request_cell_wall_from(more, more_from) /
			      (double)MAX(request_cell_count_from(more, more_from), 1) -
		      (double)request_cell_wall_from(less, less_from) /
			      (double)MAX(request_cell_count_from(less, less_from), 1);
	const struct request_cause_cell *most = NULL;
	double by = GROWN_SHARE * wall;

	EACH_POINTER(i, const struct request_cause_cell, cause, more->causes) {
		double more_ns = mean_of(more, cause, more_from), less_ns = mean_of(less, cause, less_from);

		if (more_ns - less_ns <= by || by < 0)
			continue;
		by = more_ns - less_ns;
		most = cause;
		*ret_less_ns = less_ns;
		*ret_more_ns = more_ns;
	}
	return most;
}

static void append_time(GString *s, const struct request_line *l, uint32_t step)
{
	uint64_t at = l->from_unix_ns + step * l->step_ns, end = l->from_unix_ns + l->steps * l->step_ns;
	bool is_one_day = text_same_day(l->from_unix_ns, end), is_whole = l->step_ns % UINT64_C(60000000000) == 0;

	text_clock_as(s, at, is_one_day ? is_whole ? "%H:%M" : "%H:%M:%S" : "%m-%d %H:%M");
}

static void append_p99(GString *s, const struct request_cell *cell)
{
	text_duration(s, request_percentile(&cell->sum, 0.99));
}

/* Did no request end in these steps? */
static bool is_quiet(const struct request_series *series, uint32_t from, uint32_t to)
{
	for (uint32_t i = from; i < to; i++)
		if (series->steps[i] && series->steps[i]->sum.all.count)
			return false;
	return true;
}

static void append_change(GString *s, const struct request_line *l, const struct request_series *series, uint32_t from,
			  uint32_t to)
{
	struct request_cell *in = sum_of(series, l->steps, from, to, true),
			    *out = sum_of(series, l->steps, from, to, false);
	bool grew = request_percentile(&in->sum, 0.99) > request_percentile(&out->sum, 0.99);
	double less_ns = 0, more_ns = 0;
	const struct request_cause_cell *cause = grown_cause(grew ? out : in, grew ? in : out, &less_ns, &more_ns);

	bool at_start = is_quiet(series, 0, from), at_end = is_quiet(series, to, l->steps);
	bool ends_grown = at_start ? !grew : grew;

	append_p99(s, at_start ? in : out);
	if (at_start || at_end) {
		g_string_append(s, " until ");
		append_time(s, l, at_start ? to : from);
		g_string_append(s, " and ");
		append_p99(s, at_start ? out : in);
		g_string_append(s, " after it");
	} else {
		g_string_append(s, ", but ");
		append_p99(s, in);
		g_string_append(s, " from ");
		append_time(s, l, from);
		g_string_append(s, " to ");
		append_time(s, l, to);
	}
	if (cause) {
		g_string_append(s, ends_grown ? "; what grew is " : "; what went is ");
		latency_append_cause(s, cause, 0);
		g_string_append_printf(s, ", of each of the slowest 1%% from %s to %s",
				       TEXT_NS((uint64_t)(ends_grown ? less_ns : more_ns)),
				       TEXT_NS((uint64_t)(ends_grown ? more_ns : less_ns)));
	} else {
		g_string_append(s, "; no one thing makes up the difference");
	}
	request_cell_free(in);
	request_cell_free(out);
}

/* Appends the largest cause of the slowest ones, if it is a large part. */
static void append_most(GString *s, const struct request_cell *cell)
{
	uint32_t from = request_cell_slowest(cell, LATENCY_SLOWEST);
	g_autoptr(GArray) parts = latency_parts(cell, from);
	const struct latency_part *most = parts->len ? &g_array_index(parts, struct latency_part, 0) : NULL;
	uint64_t wall = request_cell_wall_from(cell, from);

	if (!most || !most->cause || (double)most->slowest_ns < GROWN_SHARE * (double)wall)
		return;
	g_string_append_printf(s, "; of the slowest 1%% %.0f%% is ", text_percent(most->slowest_ns, wall));
	latency_append_cause(s, most->cause, 0);
}

void latency_append_sentence(GString *s, const struct request_line *l, const struct request_series *series)
{
	uint32_t from, to;

	if (!series->all->sum.all.count) {
		g_string_append(s, "No request called ");
		text_safe_cut(s, series->name, NAME_COLUMNS);
		g_string_append(s, " ended in that time.");
		return;
	}
	g_string_append(s, "p99 of ");
	text_safe_cut(s, series->name, NAME_COLUMNS);
	g_string_append(s, " was ");
	if (latency_change(l, series, &from, &to)) {
		append_change(s, l, series, from, to);
	} else {
		append_p99(s, series->all);
		append_most(s, series->all);
	}
	g_string_append_c(s, '.');
}

void latency_append_uncounted(GString *s, const struct request_line *l)
{
	uint64_t uncounted = l->uncounted.handed + l->uncounted.no_route + l->uncounted.others, all = uncounted;

	for (guint i = 0; i < l->series->len; i++)
		all += g_array_index(l->series, struct request_series, i).all->sum.all.count;
	if (!uncounted || (double)uncounted < UNCOUNTED_SHARE * (double)all)
		return;
	text_thousands(s, uncounted);
	g_string_append_printf(s, " requests more (%.0f%% of all) are in no number: ", text_percent(uncounted, all));
	if (l->uncounted.handed) {
		text_thousands(s, l->uncounted.handed);
		g_string_append(s, " were answered by another thread than the one that received them, so take a function "
				   "of the program in place of its socket");
	}
	if (l->uncounted.no_route)
		g_string_append_printf(s, "%s%s were answered while no trace context told their route",
				       l->uncounted.handed ? "; " : "", TEXT_COUNT(l->uncounted.no_route));
	if (l->uncounted.others)
		g_string_append_printf(s, "%s%s were left, their end was not seen, or their route was not known yet",
				       l->uncounted.handed || l->uncounted.no_route ? "; " : "", TEXT_COUNT(l->uncounted.others));
	g_string_append_c(s, '.');
}
