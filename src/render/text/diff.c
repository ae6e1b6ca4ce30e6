/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "render/text/diff.h"

#include <inttypes.h>
#include <math.h>

#include "explain/text.h"
#include "features/tasks/analysis.h"

#define ROWS_MAX 4

static void append_pair(GString *s, const char *name, double before_ns, double after_ns)
{
	g_string_append_printf(s, ", %s %s -> %s", name, TEXT_NS((uint64_t)before_ns), TEXT_NS((uint64_t)after_ns));
}

/* "  dispatch_command: 8,950 -> 9,544; mean 219 us -> 240 us (+21.0 us ±5.00 us), p50 ..." */
static void append_request(GString *s, const struct diff_request *r)
{
	const struct diff_latency *x = &r->side[DIFF_BEFORE], *y = &r->side[DIFF_AFTER];

	g_string_append(s, "  ");
	text_safe(s, r->name);
	g_string_append_printf(s, ": %s -> %s", TEXT_COUNT(x->count), TEXT_COUNT(y->count));
	append_pair(s, "mean", x->mean_ns, y->mean_ns);
	g_string_append(s, r->mean_by_ns >= 0 ? " (+" : " (");
	text_duration_signed(s, llround(r->mean_by_ns));
	g_string_append_printf(s, " ±%s)", TEXT_NS((uint64_t)llround(2 * r->mean_by_se_ns)));
	append_pair(s, "p50", (double)x->p50_ns, (double)y->p50_ns);
	append_pair(s, "p99", (double)x->p99_ns, (double)y->p99_ns);
	append_pair(s, "max", (double)x->max_ns, (double)y->max_ns);
	g_string_append_c(s, '\n');
}

/* Number and duration of requests, a line per function that both sides have; nothing if there is none. */
static void diff_text_requests(GString *s, const struct diff *d)
{
	g_autoptr(GArray) rows = diff_requests(d);

	if (rows->len)
		g_string_append(s, "Requests, and how long they took:\n");
	for (guint i = 0; i < MIN(rows->len, ROWS_MAX); i++)
		append_request(s, &g_array_index(rows, struct diff_request, i));
	if (rows->len > ROWS_MAX)
		g_string_append_printf(s, "  and %u more functions: --json has them\n", rows->len - ROWS_MAX);
}

/* "  shop: 12.0 -> 1,024.0 goroutines (+1,012.0 ±3.0): chan send at main.producer, created by main.start" */
static void append_task(GString *s, const struct diff_task *t)
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

/* Tasks whose number changed, a line each; nothing unless both sides have tasks. */
static void diff_text_tasks(GString *s, const struct diff *d)
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
		append_task(s, &g_array_index(rows, struct diff_task, i));
	if (real > ROWS_MAX)
		g_string_append_printf(s, "  and %u more kinds: --json has them\n", real - ROWS_MAX);
}

#define FILTERS_WIDTH 60	/* of a list of processes */

void diff_text_side(GString *s, const struct diff *d, enum diff_side side)
{
	const struct diff_input *in = &d->in[side];
	const struct profile_info *info = &in->profile->info;
	double lost = text_lost_percent(in->profile);

	text_safe(s, in->name ? in->name : "");
	g_string_append_printf(s, ": %s%s", TEXT_COUNT(d->threads_cnt[side]),
			       d->threads_cnt[side] == 1 ? " thread" : " threads");
	if (info->unknown & UNKNOWN_WINDOW) {
		g_string_append(s, ", imported");
	} else {
		g_string_append_printf(s, " in %s", TEXT_NS(info->duration_ns));
	}
	if (d->options.norm == DIFF_PER_REQUEST)
		g_string_append_printf(s, ", %s%s", TEXT_COUNT(in->requests),
				       in->requests == 1 ? " request" : " requests");
	if (in->filters && *in->filters) {
		g_string_append(s, ", only ");
		text_safe(s, in->filters);
	}
	if (info->filters && *info->filters) {
		g_string_append(s, ", recorded with ");
		text_safe_cut(s, info->filters, FILTERS_WIDTH);
	}
	if (diff_text_has_lost(d, side)) {
		g_string_append(s, ", stacks lost of ");
		diff_text_plain_percent(s, text_percent(d->lost_ns[side], diff_all_ns(d, side)));
		g_string_append(s, " of the time");
	}
	if (profile_is_sampled(in->profile))
		g_string_append(s, ", sampled");
	if (lost > 0)
		g_string_append_printf(s, ", %.1f%% lost", lost);
}

/* Changes of the machine, which may be the cause. */
void diff_text_machines(GString *s, const struct diff *d)
{
	const struct profile_info *x = &d->in[DIFF_BEFORE].profile->info, *y = &d->in[DIFF_AFTER].profile->info;
	const struct {
		const char *what, *before, *after;
	} differ[] = { { "host", x->host, y->host }, { "kernel", x->kernel, y->kernel } };
	bool is_unknown = (x->unknown | y->unknown) & UNKNOWN_HOST;

	for (unsigned i = 0; i < G_N_ELEMENTS(differ); i++) {
		if (g_strcmp0(differ[i].before, differ[i].after) == 0 || is_unknown)
			continue;
		g_string_append_printf(s, "Another %s: ", differ[i].what);
		text_safe(s, differ[i].before);
		g_string_append(s, " -> ");
		text_safe(s, differ[i].after);
		g_string_append(s, "\n");
	}
	if (x->cpus != y->cpus && !is_unknown)
		g_string_append_printf(s, "Other CPUs: %" PRIu32 " -> %" PRIu32 "\n", x->cpus, y->cpus);
}

static void append_cell(GString *s, const char *text, unsigned width)
{
	text_right(s, text, width);
}

static void signed_cell(GString *s, double ns, unsigned width)
{
	g_autoptr(GString) cell = g_string_new(NULL);

	diff_text_signed(cell, ns);
	append_cell(s, cell->str, width);
}

/* How much longer each wait is; "=" if unchanged, empty if unknown. */
static void each_cell(GString *s, const struct diff_row *r, unsigned width)
{
	g_autoptr(GString) cell = g_string_new(NULL);

	if (r->each.is_real)
		diff_text_percent(cell, diff_each_percent(r));
	else if (r->side[DIFF_BEFORE].whole_cnt && r->side[DIFF_AFTER].whole_cnt)
		g_string_append(cell, "=");
	append_cell(s, cell->str, width);
}

static void append_row(GString *s, const struct diff *d, const struct diff_row *r, const struct text_options *o)
{
	g_autoptr(GString) percent = g_string_new(NULL);
	bool has_counts = diff_has_counts(d), is_real = r->time.is_real || (!has_counts && r->time.by != 0);

	text_duration_cell(s, (uint64_t)diff_text_rounded(r->side[DIFF_BEFORE].scaled_ns), 9);
	text_duration_cell(s, (uint64_t)diff_text_rounded(r->side[DIFF_AFTER].scaled_ns), 9);
	signed_cell(s, r->time.by, 11);
	if (has_counts)
		text_duration_cell(s, (uint64_t)diff_text_rounded(2 * r->time.se), 9);
	else
		append_cell(s, "", 9);	/* unknown */
	if (is_real && r->fate != DIFF_NEW && r->fate != DIFF_VANISHED)
		diff_text_percent(percent, diff_percent(r));
	else
		g_string_append(percent, is_real ? diff_fate_name(r->fate) : "=");
	append_cell(s, percent->str, 9);
	each_cell(s, r, 7);
	g_string_append(s, "  ");
	if (r->fate == DIFF_MOVED)
		g_string_append(s, "moved: ");
	unsigned room = text_room(o, r->fate == DIFF_MOVED ? 63 : 56);
	unsigned used = text_safe_cut(s, r->name, room);
	if (r->comm && (!room || used + 5 < room)) {
		g_string_append_printf(s, "%s  ", text_dim(o));
		text_safe_cut(s, r->comm, room ? room - used - 2 : 0);
		g_string_append(s, text_plain(o));
	}
	g_string_append_c(s, '\n');
}

static const char *table_title(enum diff_by by)
{
	static const char *const titles[DIFF_BY_COUNT] = {
		[DIFF_BY_TOTAL] = "all waits",
		[DIFF_BY_REASON] = "reason",
		[DIFF_BY_STACK] = "stack, thread",
		[DIFF_BY_FUNCTION] = "function anywhere in a stack",
		[DIFF_BY_LEAF] = "what is waited for",
		[DIFF_BY_STATE] = "kind of time",
		[DIFF_BY_COMM] = "thread",
		[DIFF_BY_PROCESS] = "process",
		[DIFF_BY_SYSCALL] = "system call",
		[DIFF_BY_LOCK] = "lock",
	};

	return titles[by];
}

static void append_table(GString *s, struct diff *d, enum diff_by by, const struct diff_text_options *o)
{
	const struct diff_table *t = diff_table(d, by);
	unsigned want = o->all || !diff_has_counts(d) ? t->rows->len : t->real_cnt,
		 shown = o->text->top ? MIN(want, o->text->top) : want;

	if (!shown)
		return;
	g_string_append_printf(s, "\n%s   BEFORE    AFTER     CHANGE        ±             EACH  %s%s\n",
			       text_dim(o->text), table_title(by), text_plain(o->text));
	for (unsigned i = 0; i < shown; i++)
		append_row(s, d, &g_array_index(t->rows, struct diff_row, i), o->text);
	if (shown < want)
		g_string_append_printf(s, "%*s(%u more: --top 0)\n", 56, "", want - shown);
}

/* Says what the tables leave out. */
static void append_rest(GString *s, struct diff *d, const struct diff_text_options *o)
{
	const struct diff_table *t = diff_table(d, o->tables_cnt ? o->tables[o->tables_cnt - 1] : DIFF_BY_STACK);
	unsigned noise = t->tested_cnt - t->real_cnt, small = t->rows->len - t->tested_cnt;

	if (!diff_has_counts(d))
		return;
	g_string_append_printf(s, "\nBy %s: %u changed, %u within the noise, %u idle, too small or too few to tell%s.\n",
			       diff_by_name(t->by), t->real_cnt, noise, small,
			       o->all || !(noise + small) ? "" : " (--all shows them)");
	if (d->has_unmatched)
		g_string_append(
			s, "There are too many stacks to compare them all: some that only moved may be listed as gone and as new.\n");
}

void diff_text_norm(GString *s, const struct diff *d)
{
	switch (d->options.norm) {
	case DIFF_PER_THREAD_TIME: g_string_append(s, "Times are per thread and minute of the window."); break;
	case DIFF_PER_REQUEST: g_string_append(s, "Times are per request."); break;
	case DIFF_NOT_NORMALISED: g_string_append(s, "Times are as recorded, not normalised."); break;
	case DIFF_WHOLE_RUNS: g_string_append(s, "Both are whole runs of a command: times are as recorded."); break;
	}
	if (d->idle.side[DIFF_BEFORE].off_cpu_ns || d->idle.side[DIFF_AFTER].off_cpu_ns) {
		g_string_append(s, " Idle time is in no total: ");
		diff_text_from_to(s, d->idle.side[DIFF_BEFORE].scaled_ns, d->idle.side[DIFF_AFTER].scaled_ns);
		g_string_append_c(s, '.');
	}
	if (diff_text_has_lost(d, DIFF_BEFORE) || diff_text_has_lost(d, DIFF_AFTER)) {
		g_string_append(s, " Waits whose stacks were lost are in the total: ");
		diff_text_from_to(s, diff_text_lost_ns(d, DIFF_BEFORE), diff_text_lost_ns(d, DIFF_AFTER));
		g_string_append_c(s, '.');
	}
}

void diff_text(GString *s, struct diff *d, const struct diff_text_options *options)
{
	static const char *const names[DIFF_SIDES] = { "BEFORE is ", "AFTER is  " };

	g_string_append(s, text_bold(options->text));
	diff_text_finding(s, d);
	g_string_append_printf(s, "%s\n\n", text_plain(options->text));
	for (unsigned side = 0; side < DIFF_SIDES; side++) {
		g_string_append(s, names[side]);
		diff_text_side(s, d, side);
		g_string_append_c(s, '\n');
	}
	diff_text_machines(s, d);
	diff_text_norm(s, d);
	g_string_append_c(s, '\n');
	diff_text_requests(s, d);
	diff_text_tasks(s, d);
	for (unsigned i = 0; i < options->tables_cnt; i++)
		append_table(s, d, options->tables[i], options);
	append_rest(s, d, options);
}

static void append_value(GString *s, const struct diff *d, const struct condition *c, double value)
{
	if (c->metric == CONDITION_COUNT)
		g_string_append_printf(s, "%.4g", value);
	else
		text_duration(s, (uint64_t)diff_text_rounded(value));
}

void diff_text_condition(GString *s, const struct diff *d, const struct condition *c, const struct condition_result *r)
{
	bool is_scaled = c->metric == CONDITION_TOTAL || c->metric == CONDITION_COUNT;

	g_string_append(s, r->is_true ? "FAIL: '" : "ok: '");
	text_safe(s, c->text);
	g_string_append(s, r->is_true ? "' is true: " : "' is not true: ");
	if (!r->has_waits) {
		g_string_append(s, "no wait of BEFORE or AFTER matches that");
		return;
	}
	append_value(s, d, c, r->value[DIFF_BEFORE]);
	g_string_append(s, " -> ");
	append_value(s, d, c, r->value[DIFF_AFTER]);
	g_string_append_printf(s, "%s, ", is_scaled ? diff_text_unit(d) : "");
	diff_text_percent(s, r->percent);
	if (r->value[DIFF_BEFORE] > 0 && c->metric != CONDITION_MAX && diff_has_counts(d))
		g_string_append_printf(s, " ±%.1f%%", 200 * r->change.se / r->value[DIFF_BEFORE]);
	if (r->is_beyond && !diff_has_counts(d))
		g_string_append(s, "; nothing tells how much of that is noise");
	else if (r->is_beyond && !r->is_true)
		g_string_append(s, ", which is within the noise");
}
