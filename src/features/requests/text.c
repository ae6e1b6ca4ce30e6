/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "features/requests/text.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/top.h"
#include "base/order.h"
#include "explain/text.h"
#include "profile/profile.h"

#define REASON_ROWS 6
#define OFTEN_PER_S 50000
#define INTERVAL_ROWS 4		/* distributions shown a second */
#define PARKED_ROWS 4
#define CALLS_ROWS 10		/* times --top: 30 functions */

void request_interval_text(GString *s, const struct request_row *rows, unsigned cnt)
{
	unsigned shown = 0, left = 0;

	for (unsigned i = 0; i < cnt; i++) {
		uint64_t octaves[REQUEST_OCTAVES];

		/* of many functions only a few with requests are shown */
		if (cnt > INTERVAL_ROWS && (!rows[i].sum.all.count || shown == INTERVAL_ROWS)) {
			left += rows[i].sum.all.count != 0;
			continue;
		}
		shown++;
		g_string_append_c(s, '\n');
		text_safe(s, rows[i].name);
		if (!rows[i].sum.all.count) {
			g_string_append(s, ": no request ended\n");
			continue;
		}
		g_string_append(s, " latency:\n\n");
		request_octaves(&rows[i].sum, octaves);
		text_quantize(s, octaves, "");
	}
	if (left)
		g_string_append_printf(s, "\nand requests of %u more functions\n", left);
	else if (!shown)
		g_string_append(s, "\nno request ended\n");
}

void request_line_heading(GString *s)
{
	g_string_append_printf(s, "%-8s %10s %9s %9s %9s %9s  %s\n", "TIME", "REQUESTS", "MEAN", "P50", "P99", "MAX",
			       "FUNCTION");
}

static void latency_cells(GString *s, const struct offcpu_request_sum *sum)
{
	const uint64_t times[] = { sum->all.count ? sum->all.wall_ns / sum->all.count : 0, request_percentile(sum, 0.5),
				   request_percentile(sum, 0.99), sum->max_ns };

	for (size_t i = 0; i < G_N_ELEMENTS(times); i++) {
		g_string_append_c(s, ' ');
		text_duration_cell(s, times[i], 9);
	}
}

void request_line_text(GString *s, const char *time, const struct request_row *row)
{
	g_string_append_printf(s, "%-8s %10" PRIu64, time, (uint64_t)row->sum.all.count);
	latency_cells(s, &row->sum);
	g_string_append(s, "  ");
	text_safe(s, row->name);
	g_string_append_c(s, '\n');
}

static void part_cell(GString *s, const char *name, uint64_t ns, const struct offcpu_request_times *t)
{
	g_string_append_printf(s, "%s%s %s %.1f%%", name[0] == 'o' ? "" : ", ", name,
			       TEXT_NS(t->count ? ns / t->count : 0), text_percent(ns, t->wall_ns));
}

/* "on-CPU 1.2 ms 30%, blocked ..." of the mean request. */
static void split_line(GString *s, const char *what, const struct offcpu_request_times *t)
{
	g_string_append(s, what);
	part_cell(s, "on-CPU", t->on_cpu_ns, t);
	part_cell(s, "blocked", t->blocked_ns, t);
	part_cell(s, "runnable", t->runnable_ns, t);
	part_cell(s, "preempted", t->preempted_ns, t);
	g_string_append_c(s, '\n');
}

/* "chan receive": why goroutines were parked in a function's requests, in all or in slow ones. */
struct parked_sum {
	const char *name;
	uint64_t count, ns;
};

ORDER(most_parked_first, struct parked_sum, ORDER_HIGH(ns) ORDER_TEXT(name))

static void add_parked(GArray *parked, const char *name, const struct wait *w)
{
	const struct parked_sum fresh = { .name = name };
	guint i = 0;

	while (i < parked->len && strcmp(g_array_index(parked, struct parked_sum, i).name, name) != 0)
		i++;
	if (i == parked->len)
		g_array_append_val(parked, fresh);
	g_array_index(parked, struct parked_sum, i).count += w->count;
	g_array_index(parked, struct parked_sum, i).ns += w->blocked_ns;
}

/* Most time first. */
static GArray *parked_of(const struct profile *p, uint32_t func, bool only_slow)
{
	GArray *parked = g_array_new(FALSE, FALSE, sizeof(struct parked_sum));

	EACH_ROW(i, const struct request_part, part, p->request_parts) {
		const struct object *o = part->wait.object ? profile_get_object(p, part->wait.object - 1) : NULL;

		if (part->func == func && o && o->kind == OBJECT_GOROUTINE && (part->is_slow || !only_slow))
			add_parked(parked, o->name, &part->wait);
	}
	g_array_sort(parked, most_parked_first);
	return parked;
}

/* Time outside of any thread's account is time parked by Go: why, for the mean request. */
static void goroutine_lines(GString *s, const char *what, const struct request_summary *r, uint32_t func, bool is_slow)
{
	const struct offcpu_request_sum *sum = &r->rows[func].sum;
	const struct offcpu_request_times *t = is_slow ? &sum->slow : &sum->all;
	uint64_t known_ns = t->on_cpu_ns + t->blocked_ns + t->runnable_ns + t->preempted_ns;
	g_autoptr(GArray) parked = parked_of(r->p, func, is_slow);

	g_string_append(s, what);
	part_cell(s, "on-CPU", t->on_cpu_ns, t);
	part_cell(s, "parked by Go", t->wall_ns > known_ns ? t->wall_ns - known_ns : 0, t);
	part_cell(s, "blocked in system calls", t->blocked_ns, t);
	part_cell(s, "runnable", t->runnable_ns, t);
	part_cell(s, "preempted", t->preempted_ns, t);
	g_string_append_c(s, '\n');
	for (guint i = 0; i < parked->len && i < PARKED_ROWS; i++) {
		const struct parked_sum *one = &g_array_index(parked, struct parked_sum, i);

		g_string_append(s, i ? ", " : "    parked for: ");
		text_safe(s, one->name);
		g_string_append_printf(s, " %s %.1f%%", TEXT_NS(t->count ? one->ns / t->count : 0),
				       text_percent(one->ns, t->wall_ns));
	}
	if (parked->len)
		g_string_append_c(s, '\n');
}

/* A probe costs 1 to 12 us a call, depending on the instruction and the machine: docs/requests.md. */
static bool is_called_often(const struct request_summary *r, uint64_t count)
{
	return (double)count * 1e9 > (double)OFTEN_PER_S * (double)r->duration_ns;
}

static void row_text(GString *s, const struct request_summary *r, const struct request_row *row,
		     const struct text_options *o)
{
	const struct offcpu_request_sum *sum = &row->sum;

	g_string_append(s, text_bold(o));
	text_safe(s, row->name);
	g_string_append(s, text_plain(o));
	g_string_append(s, " (");
	text_safe(s, row->file);
	g_string_append_printf(s, "): %s request%s in %s", TEXT_COUNT(sum->all.count), sum->all.count == 1 ? "" : "s",
			       TEXT_NS(r->duration_ns));
	if (r->duration_ns)
		g_string_append_printf(s, ", %.1f a second", (double)sum->all.count * 1e9 / (double)r->duration_ns);
	g_string_append_c(s, '\n');
	if (!r->has_calls && is_called_often(r, sum->all.count))
		g_string_append(s, "  So often, the probes slow the program down by some microseconds a call: "
				   "take a function that is called less.\n");
	if (!sum->all.count)
		return;
	g_string_append_printf(s, "  latency: mean %s", TEXT_NS(sum->all.wall_ns / sum->all.count));
	const struct {
		const char *name;
		double share;
	} points[] = { { "p50", 0.5 }, { "p90", 0.9 }, { "p99", 0.99 }, { "p99.9", 0.999 } };
	for (size_t i = 0; i < G_N_ELEMENTS(points); i++) {
		g_string_append_printf(s, ", %s ", points[i].name);
		text_duration(s, request_percentile(sum, points[i].share));
	}
	g_string_append_printf(s, ", max %s\n", TEXT_NS(sum->max_ns));
	if (r->by_goroutine)
		goroutine_lines(s, "  the mean one: ", r, (uint32_t)(row - r->rows), false);
	else
		split_line(s, "  the mean one: ", &sum->all);
	if (sum->unwound_cnt)
		g_string_append_printf(s, "  ended by an exception: %s\n", TEXT_COUNT(sum->unwound_cnt));
	if (!r->slower_ns)
		return;
	g_string_append_printf(s, "  of %s or more: %s\n", TEXT_NS(r->slower_ns), TEXT_COUNT(sum->slow.count));
	if (sum->slow.count && r->by_goroutine)
		goroutine_lines(s, "  the mean slow one: ", r, (uint32_t)(row - r->rows), true);
	else if (sum->slow.count)
		split_line(s, "  the mean slow one: ", &sum->slow);
}

/* A request that hangs is in no sum and would remain unseen. */
static void open_text(GString *s, const struct request_summary *r, const struct text_options *o)
{
	if (!r->open_cnt)
		return;
	g_string_append(s, text_bold(o));
	text_thousands(s, r->open_cnt);
	g_string_append(s, r->open_cnt == 1 ? " request still runs, for " : " requests still run, the longest for ");
	g_string_append(s, r->open_is_longer ? "more than " : "");
	text_duration(s, r->open_longest_ns);
	g_string_append_printf(s, " so far%s%s", r->open_name ? ":" : "", text_plain(o));
	if (r->open_name) {
		g_string_append_c(s, ' ');
		text_safe(s, r->open_name);
	}
	g_string_append_c(s, '\n');
	requests_open_text(s, r->p, o);
}

static void counts_text(GString *s, const struct request_summary *r, const struct text_options *o)
{
	static const char *const words[OFFCPU_REQUEST_COUNT] = {
#define X(id, name, help) [OFFCPU_REQUEST_##id] = help,
		OFFCPU_REQUEST_COUNTS(X)
#undef X
	};
	bool has_title = false;

	for (unsigned i = 0; i < OFFCPU_REQUEST_COUNT; i++) {
		if (!r->counts[i].count)
			continue;
		if (!has_title)
			g_string_append_printf(s, "%sNot in these sums, or not in full:%s\n", text_dim(o),
					       text_plain(o));
		has_title = true;
		g_string_append_printf(s, "  %s", TEXT_COUNT(r->counts[i].count));
		if (r->counts[i].time_ns)
			g_string_append_printf(s, " (%s)", TEXT_NS(r->counts[i].time_ns));
		g_string_append_printf(s, " %s\n", words[i]);
	}
	if (!r->refused_cnt)
		return;
	g_string_append_printf(
		s, "%swarning: at %u place%s there can be no probe, so what begins or returns there is not counted: ",
		text_warn(o), r->refused_cnt, r->refused_cnt == 1 ? "" : "s");
	text_safe(s, r->refused_why);
	g_string_append_printf(s, "%s\n", text_plain(o));
}

ORDER_POINTERS(by_own_time, struct request_row, ORDER_HIGH(calls.self.wall_ns) ORDER_TEXT(name))

void request_times_text(GString *s, const char *count, const uint64_t *times, unsigned cnt, const char *name,
			const struct text_options *options)
{
	text_right(s, count, 11);
	for (unsigned i = 0; i < cnt; i++) {
		g_string_append_c(s, ' ');
		text_duration_cell(s, times[i], REQUEST_CELL);
	}
	g_string_append(s, "  ");
	text_safe_cut(s, name, text_room(options, 11 + cnt * (REQUEST_CELL + 1) + 2));
	g_string_append_c(s, '\n');
}

static void calls_row_text(GString *s, const struct request_row *row, const struct text_options *o)
{
	const struct offcpu_request_times *all = &row->calls.all, *self = &row->calls.self;
	const uint64_t times[] = { all->wall_ns, all->on_cpu_ns, all->blocked_ns, all->runnable_ns, all->preempted_ns,
				   self->wall_ns, all->wall_ns > self->wall_ns ? all->wall_ns - self->wall_ns : 0 };

	request_times_text(s, TEXT_COUNT(all->count), times, G_N_ELEMENTS(times), row->name, o);
}

static void request_calls_text(GString *s, const struct request_summary *r, const struct text_options *o)
{
	static const char *const names[] = { "ELAPSED",   "ON-CPU", "BLOCKED", "RUNNABLE",
					     "PREEMPTED", "SELF",   "CHILDREN" };
	g_autofree const struct request_row **rows = g_new(const struct request_row *, r->rows_cnt);
	uint64_t calls = 0;
	unsigned shown = 0, never = 0;

	for (unsigned i = 0; i < r->rows_cnt; i++) {
		rows[i] = &r->rows[i];
		calls += r->rows[i].calls.all.count;
		never += !r->rows[i].calls.all.count;
	}
	qsort(rows, r->rows_cnt, sizeof(*rows), by_own_time);
	g_string_append(s, text_bold(o));
	text_right(s, "CALLS", 11);
	for (size_t i = 0; i < G_N_ELEMENTS(names); i++) {
		g_string_append_c(s, ' ');
		text_right(s, names[i], REQUEST_CELL);
	}
	g_string_append_printf(s, "  FUNCTION%s\n", text_plain(o));
	for (; shown < r->rows_cnt && rows[shown]->calls.all.count && (!o->top || shown < CALLS_ROWS * o->top); shown++)
		calls_row_text(s, rows[shown], o);
	if (r->rows_cnt - never > shown)
		g_string_append_printf(s, "and %u more functions: --top 0 shows all\n", r->rows_cnt - never - shown);
	if (never)
		g_string_append_printf(s, "%u function%s not called\n", never, never == 1 ? " was" : "s were");
	if (is_called_often(r, calls))
		g_string_append_printf(
			s,
			"%swarning: %.0f calls a second: the probes slow the program down by some microseconds a call: "
			"take functions that are called less%s\n",
			text_warn(o), (double)calls * 1e9 / (double)r->duration_ns, text_plain(o));
	g_string_append_c(s, '\n');
}

#define HANDED_MIN 100	/* 1/n of the requests */

/* A request that two threads worked on has no split, so it is in no sum; with Go most are. */
static void handed_text(GString *s, const struct request_summary *r, const struct text_options *o)
{
	uint64_t handed = r->counts[OFFCPU_REQUEST_HANDED].count, all = handed;

	for (unsigned i = 0; i < r->rows_cnt; i++)
		all += r->rows[i].sum.all.count;
	if (!handed || handed < all / HANDED_MIN)
		return;
	g_string_append_printf(s, "%s%s of %s", text_warn(o), TEXT_COUNT(handed), TEXT_COUNT(all));
	g_string_append_printf(s, " requests moved between threads and %s not in these sums%s\n",
			       handed == 1 ? "is" : "are", text_plain(o));
}

void request_summary_text(GString *s, const struct request_summary *r, const struct text_options *options)
{
	handed_text(s, r, options);
	if (r->has_calls)
		request_calls_text(s, r, options);
	for (unsigned i = 0; i < r->rows_cnt; i++)
		if (!r->has_calls || r->rows[i].sum.all.count)
			row_text(s, r, &r->rows[i], options);
	open_text(s, r, options);
	counts_text(s, r, options);
}

static void reasons_text(GString *s, const struct top *reasons, const struct text_options *o)
{
	for (guint i = 0; i < reasons->rows->len && i < REASON_ROWS; i++) {
		const struct top_row *row = &g_array_index(reasons->rows, struct top_row, i);

		if (!row->weight)
			break;
		g_string_append(s, "  ");
		text_duration_cell(s, row->weight, 9);
		g_string_append_printf(s, " %6.1f%%  ", text_percent(row->weight, reasons->sum));
		text_safe_cut(s, row->name, text_room(o, 22));
		if (row->count)
			g_string_append_printf(s, ", %" PRIu64 " wait%s", row->count, row->count == 1 ? "" : "s");
		g_string_append_c(s, '\n');
	}
}

static void waits_text(GString *s, const struct profile *p, const char *what, bool only_slow,
		       const struct text_options *options)
{
	struct top *reasons = top_new(p, NULL, TOP_BY_REASON, WEIGHT_OFF_CPU),
		   *stacks = top_new(p, NULL, TOP_BY_STACK, WEIGHT_OFF_CPU);

	/* percentages refer to time inside of requests, not to all time of the threads */
	stacks->whole = stacks->sum;
	if (!stacks->sum) {
		g_string_append(s, only_slow ? "\nNo wait inside of slow requests.\n" : "\nNo wait inside of requests.\n");
	} else {
		g_string_append_printf(s, "\n%s%s inside of %srequests, %s:%s\n",
				       text_bold(options), what, only_slow ? "slow " : "", TEXT_NS(stacks->sum),
				       text_plain(options));
		reasons_text(s, reasons, options);
		text_top(s, p, stacks, options);
	}
	top_free(reasons);
	top_free(stacks);
}

/* While Go's scheduler runs no goroutine of the request on the thread, the thread's waits are not the request's. */
static void thread_waits_text(GString *s, const struct request_summary *r, const struct text_options *options)
{
	struct reasons *reasons = reasons_new(r->p, NULL);
	g_autoptr(GString) line = g_string_new(NULL);
	struct profile view = *r->p;
	uint64_t without_ns = 0;

	view.wakes = g_array_new(FALSE, FALSE, sizeof(struct wake));
	view.waits = g_array_new(FALSE, FALSE, sizeof(struct wait));
	EACH_ROW(i, const struct wait, w, r->p->waits) {
		if (request_is_without_goroutine(reasons, i))
			without_ns += wait_off_cpu_ns(w);
		else
			g_array_append_val(view.waits, *w);
	}
	waits_text(s, without_ns ? &view : r->p, "Off CPU", r->slower_ns, options);
	if (without_ns) {
		g_string_append(line, "\nFor ");
		text_duration(line, without_ns);
		g_string_append(line, " their threads had no goroutine to run: the requests' own were parked, and what for "
				      "`offcpu request FUNCTION` tells.\n");
		text_wrap(s, line->str, "", text_screen_width(options));
	}
	reasons_free(reasons);
	g_array_unref(view.wakes);
	g_array_unref(view.waits);
}

void request_waits_text(GString *s, const struct request_summary *r, const struct text_options *options)
{
	struct profile view = *r->p;

	if (!r->by_goroutine && !(r->slower_ns && r->counts[OFFCPU_REQUEST_WAITS].count)) {
		thread_waits_text(s, r, options);
		return;
	}
	/*
	 * Waits of goroutines belong to no thread, and with many waits only some of slow requests are listed. The
	 * request parts have them all, but no single durations.
	 */
	view.wakes = g_array_new(FALSE, FALSE, sizeof(struct wake));
	view.waits = g_array_new(FALSE, FALSE, sizeof(struct wait));
	view.info.unknown |= UNKNOWN_DURATIONS;
	EACH_ROW(i, const struct request_part, part, r->p->request_parts)
		if (part->wait.state && part->wait.state != '?' && (part->is_slow || !r->slower_ns))
			g_array_append_val(view.waits, part->wait);
	waits_text(s, &view, r->by_goroutine ? "Parked or off CPU" : "Off CPU", r->slower_ns, options);
	g_array_unref(view.wakes);
	g_array_unref(view.waits);
}

static void times_json(GString *s, const char *name, const struct offcpu_request_times *t)
{
	g_string_append_printf(s,
			       "\"%s\":{\"count\":%" PRIu64 ",\"wall_ns\":%" PRIu64 ",\"on_cpu_ns\":%" PRIu64
			       ",\"blocked_ns\":%" PRIu64 ",\"runnable_ns\":%" PRIu64 ",\"preempted_ns\":%" PRIu64 "}",
			       name, (uint64_t)t->count, (uint64_t)t->wall_ns, (uint64_t)t->on_cpu_ns,
			       (uint64_t)t->blocked_ns, (uint64_t)t->runnable_ns, (uint64_t)t->preempted_ns);
}

/* Names contain what a file's author wrote. */
static void string_json(GString *s, const char *text)
{
	g_autofree char *valid = g_utf8_make_valid(text, -1);

	g_string_append_c(s, '"');
	for (const char *c = valid; *c; c++) {
		if (*c == '"' || *c == '\\')
			g_string_append_c(s, '\\');
		if ((unsigned char)*c < 0x20)
			g_string_append_printf(s, "\\u%04x", (unsigned)*c);
		else
			g_string_append_c(s, *c);
	}
	g_string_append_c(s, '"');
}

static void parked_json(GString *s, const struct request_summary *r, uint32_t func)
{
	const struct offcpu_request_times *t = &r->rows[func].sum.all;
	uint64_t known_ns = t->on_cpu_ns + t->blocked_ns + t->runnable_ns + t->preempted_ns;
	g_autoptr(GArray) parked = parked_of(r->p, func, false);

	g_string_append_printf(s, ",\"parked_ns\":%" PRIu64 ",\"parked\":[",
			       (uint64_t)(t->wall_ns > known_ns ? t->wall_ns - known_ns : 0));
	EACH_ROW(i, const struct parked_sum, one, parked) {
		g_string_append(s, i ? ",{\"for\":" : "{\"for\":");
		string_json(s, one->name);
		g_string_append_printf(s, ",\"count\":%" PRIu64 ",\"ns\":%" PRIu64 "}", one->count, one->ns);
	}
	g_string_append_c(s, ']');
}

static void row_json(GString *s, const struct request_summary *r, uint32_t func)
{
	const struct request_row *row = &r->rows[func];
	const struct offcpu_request_sum *sum = &row->sum;
	bool is_first = true;

	g_string_append(s, "{\"function\":");
	string_json(s, row->name);
	g_string_append(s, ",\"file\":");
	string_json(s, row->file);
	g_string_append_c(s, ',');
	times_json(s, "requests", &sum->all);
	g_string_append_c(s, ',');
	times_json(s, "slow", &sum->slow);
	if (r->by_goroutine)
		parked_json(s, r, func);
	if (r->has_calls) {
		g_string_append_c(s, ',');
		times_json(s, "calls", &row->calls.all);
		g_string_append_c(s, ',');
		times_json(s, "self", &row->calls.self);
	}
	g_string_append_printf(s,
			       ",\"unwound\":%" PRIu64 ",\"p50_ns\":%" PRIu64 ",\"p99_ns\":%" PRIu64
			       ",\"max_ns\":%" PRIu64 ",\"latency_ns\":[",
			       (uint64_t)sum->unwound_cnt, request_percentile(sum, 0.5), request_percentile(sum, 0.99),
			       (uint64_t)sum->max_ns);
	for (unsigned i = 0; i < OFFCPU_REQUEST_SLOTS; i++) {
		if (!sum->hist[i])
			continue;
		g_string_append_printf(s, "%s[%" PRIu64 ",%" PRIu64 "]", is_first ? "" : ",", request_slot_low(i),
				       (uint64_t)sum->hist[i]);
		is_first = false;
	}
	g_string_append(s, "]}");
}

void request_summary_json(GString *s, const struct request_summary *r)
{
	static const char *const names[OFFCPU_REQUEST_COUNT] = {
#define X(id, name, help) [OFFCPU_REQUEST_##id] = name,
		OFFCPU_REQUEST_COUNTS(X)
#undef X
	};

	g_string_append_printf(s,
			       "{\"schema\":1,\"start_ns\":%" PRIu64 ",\"duration_ns\":%" PRIu64
			       ",\"slower_ns\":%" PRIu64 ",\"by_goroutine\":%s,\"functions\":[",
			       r->start_ns, r->duration_ns, r->slower_ns, r->by_goroutine ? "true" : "false");
	for (unsigned i = 0; i < r->rows_cnt; i++) {
		g_string_append(s, i ? "," : "");
		row_json(s, r, i);
	}
	g_string_append(s, "],\"not_counted\":{");
	for (unsigned i = 0; i < OFFCPU_REQUEST_COUNT; i++)
		g_string_append_printf(s, "%s\"%s\":{\"count\":%" PRIu64 ",\"time_ns\":%" PRIu64 "}", i ? "," : "",
				       names[i], (uint64_t)r->counts[i].count, (uint64_t)r->counts[i].time_ns);
	g_string_append_printf(s, "},\"still_open\":{\"count\":%" PRIu64 ",\"longest_ns\":%" PRIu64
			       ",\"is_longer\":%s,\"function\":",
			       r->open_cnt, r->open_longest_ns, r->open_is_longer ? "true" : "false");
	if (r->open_name)
		string_json(s, r->open_name);
	else
		g_string_append(s, "null");
	g_string_append_printf(s, "},\"return_sites\":%u,\"return_sites_refused\":%u}\n", r->site_cnt, r->refused_cnt);
}
