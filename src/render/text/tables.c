/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <inttypes.h>
#include <string.h>

#include "analyse/label.h"
#include "analyse/locks.h"
#include "analyse/plumbing.h"
#include "analyse/reason/reason.h"
#include "base/each.h"
#include "base/module.h"
#include "base/order.h"
#include "explain/text.h"
#include "features/wakers/analysis.h"
#include "render/text/text.h"

#define ACCOUNT_WIDE 105	/* columns of the full table */

enum { ACCOUNT_THREADS, ACCOUNT_OBSERVED, ACCOUNT_RESIDUAL = 7, ACCOUNT_COLUMNS };
static const char *const account_heads[ACCOUNT_COLUMNS] = {
	"threads", "observed", "on-CPU", "blocked", "runnable", "preempted", "off-CPU", "residual",
};

/* Narrow tables have columns as wide as their heads, and omit the observed time, which is the sum of the others. */
static bool is_narrow(const struct text_options *o)
{
	return o->width && o->width < ACCOUNT_WIDE;
}

/* 0: omitted. */
static unsigned account_width(unsigned column, bool narrow)
{
	if (narrow)
		return column == ACCOUNT_OBSERVED ? 0 : MAX((unsigned)strlen(account_heads[column]), 7);
	return column == ACCOUNT_THREADS ? 8 : 9;
}

/* Exactly "    PID  PROCESS          threads  observed ...", a line per account. */
static void account_cells(GString *s, const struct account_row *r, bool narrow)
{
	const uint64_t times[ACCOUNT_COLUMNS] = { 0, r->observed_ns, r->on_cpu_ns, r->blocked_ns, r->runnable_ns,
						  r->preempted_ns, r->off_cpu_ns };
	g_autoptr(GString) residual = g_string_new(NULL);

	g_string_append_printf(s, " %*" PRIu64, (int)account_width(ACCOUNT_THREADS, narrow), r->threads_cnt);
	for (unsigned i = ACCOUNT_OBSERVED; i < ACCOUNT_RESIDUAL; i++)
		if (account_width(i, narrow))
			text_duration_cell(s, times[i], account_width(i, narrow) + 1);
	text_duration_signed(residual, r->residual_ns);
	g_string_append_c(s, ' ');
	text_right(s, residual->str, account_width(ACCOUNT_RESIDUAL, narrow));
	g_string_append_c(s, '\n');
}

static void account_who(GString *s, const char *pid, const char *process, bool narrow)
{
	text_right(s, pid, narrow ? 7 : 8);
	g_string_append(s, narrow ? " " : "  ");
	text_safe_cell(s, process, narrow ? 12 : 16);
}

static void account_line(GString *s, const char *pid, const char *process, const struct account_row *r, bool narrow)
{
	account_who(s, pid, process, narrow);
	account_cells(s, r, narrow);
}

/* Adds b to a, except the identity. */
static void account_sum(struct account_row *a, const struct account_row *b)
{
	ADD_MEMBERS(a, b, threads_cnt, observed_ns, on_cpu_ns, blocked_ns, runnable_ns, preempted_ns, off_cpu_ns);
	a->residual_ns = (int64_t)((uint64_t)a->residual_ns + (uint64_t)b->residual_ns);
}

ORDER_POINTERS(by_throttled, struct account_row, ORDER_HIGH(throttled_ns) ORDER_LOW(pid))

#define THROTTLED_NAMED 3

/* Whose time was mostly taken by CPU quotas; nothing if none was. */
static void throttled_line(GString *to, const struct accounts *a, const struct text_options *options)
{
	g_autoptr(GPtrArray) rows = g_ptr_array_new();
	g_autoptr(GString) s = g_string_new(NULL);

	if (!a->total.throttled_ns)
		return;
	for (unsigned i = 0; i < a->rows->len; i++)
		if (g_array_index(a->rows, struct account_row, i).throttled_ns)
			g_ptr_array_add(rows, &g_array_index(a->rows, struct account_row, i));
	g_ptr_array_sort(rows, by_throttled);
	g_string_append(s, "Throttled, in runnable and preempted: ");
	text_duration(s, a->total.throttled_ns);
	g_string_append(s, ", taken by CPU quotas of cgroups (cpu.max) from ");
	for (unsigned i = 0; i < MIN(rows->len, THROTTLED_NAMED); i++) {
		const struct account_row *r = rows->pdata[i];

		g_string_append(s, i ? ", " : "");
		text_safe(s, r->process);
		g_string_append_printf(s, " (%" PRIu32 ") ", r->pid);
		text_duration(s, r->throttled_ns);
	}
	if (rows->len > THROTTLED_NAMED)
		g_string_append_printf(s, " and %u more", rows->len - THROTTLED_NAMED);
	g_string_append(s, ".\n");
	text_fit(to, s->str, "  ", options);
}

void text_accounts(GString *s, const struct accounts *a, const struct text_options *options)
{
	unsigned shown = options->top ? MIN(options->top, a->rows->len) : a->rows->len;
	bool narrow = is_narrow(options);
	struct account_row rest = { 0 };

	text_section(s, options, "Accounts per process (off-CPU = blocked + runnable + preempted)");
	g_string_append(s, text_dim(options));
	account_who(s, "pid", "process", narrow);
	for (unsigned i = 0; i < ACCOUNT_COLUMNS; i++)
		if (account_width(i, narrow))
			g_string_append_printf(s, " %*s", (int)account_width(i, narrow), account_heads[i]);
	g_string_append_printf(s, "%s\n", text_plain(options));
	EACH_ROW(i, const struct account_row, r, a->rows) {
		g_autofree char *pid = g_strdup_printf("%u", r->pid);

		if (i < shown)
			account_line(s, pid, r->process, r, narrow);
		else
			account_sum(&rest, r);
	}
	if (shown < a->rows->len) {
		g_autofree char *more = g_strdup_printf("(%u more)", a->rows->len - shown);
		account_line(s, "", more, &rest, narrow);
	}
	account_line(s, "", "total", &a->total, narrow);
	throttled_line(s, a, options);
}

static void append_weight(GString *s, uint64_t weight, enum weight kind)
{
	if (kind == WEIGHT_COUNT)
		text_thousands(s, weight);
	else
		text_thousands(s, weight / 1000 + (weight % 1000 >= 500));
}

static const char *kind_text(const struct top *t)
{
	switch (t->weight) {
	case WEIGHT_OFF_CPU: return "off-CPU";
	case WEIGHT_ON_CPU: return "on-CPU";
	case WEIGHT_TIME: return "on and off CPU";
	default: return weight_name(t->weight);
	}
}

/* The base of percentages: "12.3 s off-CPU without idle time". */
static void append_whole(GString *s, const struct top *t)
{
	if (t->weight == WEIGHT_COUNT)
		text_thousands(s, t->whole);
	else
		text_duration(s, t->whole);
	if (t->weight == WEIGHT_COUNT)
		g_string_append_printf(s, " %s", profile_rows_word(t->rows_are, 2));
	else if (t->rows_are)
		g_string_append_printf(s, " of %s", t->rows_are);
	else
		g_string_append_printf(s, " %s", kind_text(t));
	if (t->without_idle)
		g_string_append(s, " without idle time");
}

/* " ±1.2%" for a row whose estimate is worse than that; errors of single classes are unknown. */
static void append_error(GString *s, const struct top *t, const struct top_row *r)
{
	if (!t->is_exact && t->weight == WEIGHT_OFF_CPU)
		text_relative_error(s, r->off_cpu_se_ns, r->off_cpu_ns);
	else if (!t->is_exact && (t->weight == WEIGHT_TIME || t->weight == WEIGHT_ON_CPU))
		text_relative_error(s, r->off_cpu_se_ns, r->weight);
	else if (!t->is_exact && t->weight == WEIGHT_COUNT)
		text_relative_error(s, r->count_se, r->count);
}

static unsigned rows_with_weight(const struct top *t)
{
	unsigned n = t->rows->len;

	while (n && g_array_index(t->rows, struct top_row, n - 1).weight == 0)
		n--;
	return n;
}

/* "[top blocking leaves]" as in the seeds: a number and a name per line. */
void text_headline(GString *s, const struct top *leaves, const struct text_options *options)
{
	unsigned all = rows_with_weight(leaves), shown = options->top ? MIN(options->top, all) : all;
	g_autoptr(GString) whole = g_string_new(NULL), cell = g_string_new(NULL);
	bool has_error = !leaves->is_exact && leaves->weight != WEIGHT_BLOCKED && leaves->weight != WEIGHT_RUNNABLE &&
			 leaves->weight != WEIGHT_PREEMPTED && leaves->weight != WEIGHT_COUNT;
	uint64_t rest = leaves->sum;

	append_whole(whole, leaves);
	text_section(s, options,
		     leaves->weight == WEIGHT_TIME || leaves->weight == WEIGHT_ON_CPU || leaves->rows_are
			     ? "Top leaves, of %s"
			     : "Top blocking leaves, of %s",
		     whole->str);
	g_string_append_printf(s, "%s%16s %7s  %sframe%s\n", text_dim(options),
			       leaves->weight == WEIGHT_COUNT ? profile_rows_word(leaves->rows_are, 2) : "us", "%",
			       has_error ? "  error  " : "", text_plain(options));
	for (unsigned i = 0; i < shown; i++) {
		const struct top_row *r = &g_array_index(leaves->rows, struct top_row, i);

		rest -= r->weight;
		g_string_truncate(cell, 0);
		append_weight(cell, r->weight, leaves->weight);
		g_string_append_printf(s, "%16s %6.1f%%  ", cell->str, top_percent(leaves, r->weight));
		if (has_error) {
			g_string_truncate(cell, 0);
			append_error(cell, leaves, r);
			text_right(s, cell->str, 7);
			g_string_append(s, "  ");
		}
		g_string_append(s, text_bold(options));
		text_safe_cut(s, r->name, text_room(options, has_error ? 35 : 26));
		g_string_append_printf(s, "%s\n", text_plain(options));
	}
	if (shown < all) {
		g_string_truncate(cell, 0);
		append_weight(cell, rest, leaves->weight);
		g_string_append_printf(s, "%16s %6.1f%%  (%u more)\n", cell->str, top_percent(leaves, rest),
				       all - shown);
	}
	if (!all)
		g_string_append(s, "  no wait to show\n");
}

static void append_frame(GString *s, const struct profile *p, uint32_t frame, bool parent,
			 const struct text_options *o)
{
	const struct frame *f = profile_get_frame(p, frame);
	g_autoptr(GString) label = g_string_new(NULL), line = g_string_new(NULL);

	label_append(label, f);
	label_append_line(line, f);
	unsigned line_width = text_width(line->str) + (f->is_inline ? 10 : 0), room = text_room(o, 7);

	g_string_append_printf(s, "    %s%s ", parent ? text_bold(o) : "", parent ? "=>" : "  ");
	/* a long name is cut, to half of the room at least, before its source line is */
	text_safe_cut(s, label->str, room ? MAX(room > line_width ? room - line_width : 0, room / 2) : 0);
	text_safe(s, line->str);
	if (!f->name && f->why != FRAME_NAMED && f->why != FRAME_PENDING)
		g_string_append_printf(s, " [%s]", frame_why_text((enum frame_why)f->why));
	if (f->is_inline)
		g_string_append(s, " (inlined)");
	if (parent)
		g_string_append(s, text_plain(o));
	g_string_append_c(s, '\n');
}

/* The kernel's entry and scheduler functions, which are the same in all stacks: __schedule, do_syscall_64. */
static bool is_passed_over(const struct profile *p, uint32_t frame, const struct text_options *o)
{
	const struct frame *f = profile_get_frame(p, frame);
	const char *shown = NULL;

	return !o->kernel_frames && f->kind == FRAME_KERNEL && f->name && plumbing_kernel_rule(f->name, &shown) &&
	       !shown;
}

/* Innermost first, from the wait to its cause. */
static void append_stack(GString *s, const struct profile *p, uint32_t node, int64_t parent,
			 const struct text_options *o)
{
	bool marked = false;

	for (uint32_t n = node; n; n = profile_get_node(p, n)->parent) {
		uint32_t frame = profile_get_node(p, n)->frame;
		bool is_parent = !marked && (int64_t)frame == parent;

		if (is_passed_over(p, frame, o))
			continue;
		append_frame(s, p, frame, is_parent, o);
		marked = marked || is_parent;
	}
}

/* "(user stack broken in libc.so.6)": where unwinding stopped. */
static void append_stack_end(GString *s, const struct profile *p, uint32_t user, const struct text_options *o)
{
	enum stack_end end = (enum stack_end)profile_get_node(p, user)->end;
	uint32_t root = user;

	if (!user || end == STACK_COMPLETE || end == STACK_NONE)
		return;
	while (profile_get_node(p, root)->parent)
		root = profile_get_node(p, root)->parent;
	const char *module = module_base_name(profile_get_frame(p, profile_get_node(p, root)->frame)->module);
	g_string_append_printf(s, "    %s   (user stack %s", text_warn(o), stack_end_text(end));
	if (end == STACK_BROKEN && module) {
		g_string_append(s, " in ");
		text_safe(s, module);
	}
	g_string_append_printf(s, ")%s\n", text_plain(o));
}

static void append_stacks(GString *s, const struct profile *p, const struct top_row *r, const struct text_options *o)
{
	gsize before = s->len;
	struct text_options whole = *o;

	whole.kernel_frames = true;
	append_stack(s, p, r->kernel, -1, o);
	if (s->len == before && !r->user)
		append_stack(s, p, r->kernel, -1, &whole); /* a kernel thread has no other stack */
	if (s->len > before && r->user)
		g_string_append_printf(s, "    %s   --%s\n", text_dim(o), text_plain(o));
	append_stack(s, p, r->user, r->user_parent, o);
	if (r->off_cpu_ns || r->samples)	/* otherwise its only frame says that none was sampled */
		append_stack_end(s, p, r->user, o);
}

static void append_row_name(GString *s, const struct profile *p, const struct top *t, const struct top_row *r,
			    const struct text_options *o)
{
	const struct thread *th = profile_thread(p, r->thread);

	if (t->by != TOP_BY_STACK) {
		text_safe_cut(s, r->name, text_room(o, 4));
		return;
	}
	text_safe(s, th->comm);
	if (r->processes_cnt > 1)
		g_string_append_printf(s, ", %u processes", r->processes_cnt);
	else if (!(p->info.unknown & UNKNOWN_IDS))
		g_string_append_printf(s, " (%u)", th->pid ? th->pid : th->tid);
	if (r->threads_cnt > 1)
		g_string_append_printf(s, ", %u threads", r->threads_cnt);
	if (!(p->info.unknown & UNKNOWN_STATES))
		g_string_append_printf(s, ", %c %s", r->state ? r->state : '?', state_text(r->state));
}

/* "     for mutex queue_lock" */
static void append_lock(GString *s, const struct object *object, const struct text_options *o)
{
	g_autoptr(GString) name = g_string_new(NULL);

	lock_append_name(name, object);
	g_string_append(s, "     for ");
	text_safe_cut(s, name->str, text_room(o, 10));
	g_string_append_c(s, '\n');
}

/*
 * "     longest 1.24 s: thread 4711 mysqld, began 14:32:18.250, woken by ib_log_writer (4700)", if known; not for a
 * range.
 */
static void append_longest(GString *s, const struct profile *p, const struct top_row *r)
{
	const struct wait *w = r->longest ? profile_wait(p, r->longest - 1) : NULL;

	if (!w || !w->max_start_unix_ns)
		return;
	const struct thread *t = profile_thread(p, w->thread);

	g_string_append_printf(s, "     longest %s", TEXT_NS(w->max_ns));
	if (t->tid)
		g_string_append_printf(s, ": thread %u ", t->tid);
	else
		g_string_append(s, ": a short-lived ");
	text_safe(s, t->comm);
	g_string_append(s, w->flags & WAIT_OPEN_AT_START ? ", began before " : ", began ");
	text_clock_ms(s, w->max_start_unix_ns, &p->info);
	if (w->max_waker) {
		const struct waker *k = profile_get_waker(p, w->max_waker - 1);

		g_string_append(s, ", woken by ");
		text_safe(s, waker_name(k));
		if (k->tid)
			g_string_append_printf(s, " (%u)", k->tid);
	}
	const struct wait_trace *trace = profile_trace_of(p, r->longest - 1);

	if (trace)
		g_string_append_printf(s, ", trace %s", trace->trace);
	g_string_append_c(s, '\n');
}

/* "  1. 12.3 s  45.6%  mysqld (123), S sleeping" and "     count 12, mean 1.03 s, max 2.20 s, blocked ..." */
static void append_row(GString *s, const struct profile *p, const struct top *t, unsigned i,
		       const struct stack_why *why, const struct text_options *o)
{
	const struct top_row *r = &g_array_index(t->rows, struct top_row, i);
	g_autoptr(GString) numbers = g_string_new(NULL);

	g_string_append_printf(s, "\n%s%3u. ", text_bold(o), i + 1);
	if (t->weight == WEIGHT_COUNT)
		text_thousands(s, r->weight);
	else
		text_duration(s, r->weight);
	if (!t->is_exact && t->weight == WEIGHT_OFF_CPU)
		g_string_append_c(s, ' ');
	append_error(s, t, r);
	g_string_append_printf(s, "  %.1f%%  ", top_percent(t, r->weight));
	append_row_name(s, p, t, r, o);
	g_string_append_printf(s, "%s\n", text_plain(o));
	if (!profile_rows_are_counted(t->rows_are))
		text_row_numbers(numbers, p->info.unknown, r, t->is_exact);
	if (t->by == TOP_BY_STACK)
		append_longest(numbers, p, r);
	text_fit(s, numbers->str, "       ", o);
	if (why)
		stack_why_text(s, why, r, o);
	if (r->object)
		append_lock(s, profile_get_object(p, r->object - 1), o);
	if (t->by == TOP_BY_STACK)
		append_stacks(s, p, r, o);
	text_quantize(s, r->hist, "");
}

/* What the rows do not include. */
static void append_lacks(GString *s, const struct profile *p, const struct top *top)
{
	bool has_queue = false;

	for (guint i = 0; top->by == TOP_BY_REASON && i < top->rows->len; i++)
		has_queue = has_queue || (g_array_index(top->rows, struct top_row, i).reason == REASON_CPU_QUEUE &&
					  g_array_index(top->rows, struct top_row, i).runnable_ns);
	if (has_queue)
		g_string_append(s, "\nA wait that ended by a waking counts twice: at its reason, and at cpu.queue from there to"
				   "\nthe CPU.\n");
	if (top->by == TOP_BY_OBJECT && !p->info.has_objects)
		g_string_append_printf(s, "\nWhat waits are for is in a recording made with --objects%s.\n",
				       p->info.has_locks ? "; of this one only locks are known" : "");
}

static void append_rest(GString *s, const struct top *top, uint64_t rest, unsigned rows)
{
	if (!rows)
		return;
	g_string_append_printf(s, "     (%u more: ", rows);
	if (top->weight == WEIGHT_COUNT)
		text_thousands(s, rest);
	else
		text_duration(s, rest);
	g_string_append_printf(s, ", %.1f%%)\n", top_percent(top, rest));
}

static void append_known(GString *s, uint64_t ns, bool is_known)
{
	if (is_known)
		text_duration_cell(s, ns, 9);
	else
		g_string_append_printf(s, "%9s", "-");
}

/* "   42.6 s  51.5%        59   378 ms   4.01 s   4.01 s  pool_idle" */
static void group_line(GString *s, const struct profile *p, const struct top *t, const struct top_row *r,
		       const struct text_options *o)
{
	uint64_t median_ns = wait_percentile_ns(r->hist, 0.5, r->durations_ns, r->max_ns);
	bool has_waits = !(p->info.unknown & UNKNOWN_DURATIONS) && r->count;
	g_autoptr(GString) cell = g_string_new(NULL);

	if (t->weight == WEIGHT_COUNT)
		text_thousands(cell, r->weight);
	else
		text_duration(cell, r->weight);
	text_right(s, cell->str, 9);
	g_string_append_printf(s, " %6.1f%%", top_percent(t, r->weight));
	g_string_truncate(cell, 0);
	if (!t->is_exact) {
		append_error(cell, t, r);
		text_right(s, cell->str, 8);
		g_string_truncate(cell, 0);
	}
	if (p->info.unknown & UNKNOWN_COUNTS)
		g_string_append_c(cell, '-');
	else
		text_thousands(cell, r->count);
	text_right(s, cell->str, 10);
	append_known(s, median_ns, has_waits && median_ns);
	append_known(s, wait_percentile_ns(r->hist, 0.99, r->durations_ns, r->max_ns), has_waits && median_ns);
	append_known(s, r->max_ns, has_waits && r->max_ns);
	g_string_append_printf(s, "  %s", text_bold(o));
	text_safe_cut(s, r->name, text_room(o, t->is_exact ? 56 : 64));
	g_string_append_printf(s, "%s\n", text_plain(o));
}

void text_groups(GString *s, const struct profile *p, const struct top *top, const struct text_options *options)
{
	unsigned all = rows_with_weight(top), shown = options->top ? MIN(options->top, all) : all;
	g_autoptr(GString) whole = g_string_new(NULL);
	uint64_t rest = top->sum;

	append_whole(whole, top);
	text_section(s, options, "Top by %s, of %s", top_title(top), whole->str);
	g_string_append_printf(s, "%s%9s %7s%s%10s%9s%9s%9s  %s%s\n", text_dim(options),
			       top->rows_are && top->weight == WEIGHT_OFF_CPU ? "time" : weight_name(top->weight), "%",
			       top->is_exact ? "" : "   error", top->rows_are ? "count" : "waits", "median", "p99", "max", top_title(top),
			       text_plain(options));
	for (unsigned i = 0; i < shown; i++) {
		const struct top_row *r = &g_array_index(top->rows, struct top_row, i);

		group_line(s, p, top, r, options);
		rest -= r->weight;
	}
	if (!all)
		g_string_append(s, "  no wait to show\n");
	append_rest(s, top, rest, all - shown);
	append_lacks(s, p, top);
	if (top->by == TOP_BY_OBJECT)
		text_tcp_waits(s, p, top, shown, options);
}

void text_top(GString *s, const struct profile *p, const struct top *top, const struct text_options *options)
{
	unsigned all = rows_with_weight(top), shown = options->top ? MIN(options->top, all) : all;
	g_autoptr(GString) whole = g_string_new(NULL);
	struct stack_why *why = options->whys && top->by == TOP_BY_STACK ? stack_why_new(p) : NULL;
	uint64_t rest = top->sum;

	append_whole(whole, top);
	text_section(s, options,
		     top->by == TOP_BY_STACK ? "Top %ss, of %s (=> marks the first function outside the runtime)"
					     : "Top by %s, of %s",
		     top_title(top), whole->str);
	for (unsigned i = 0; i < shown; i++) {
		append_row(s, p, top, i, why, options);
		rest -= g_array_index(top->rows, struct top_row, i).weight;
	}
	stack_why_free(why);
	if (!all)
		g_string_append(s, "  no wait to show\n");
	if (shown < all)
		g_string_append_c(s, '\n');
	append_rest(s, top, rest, all - shown);
	append_lacks(s, p, top);
}
