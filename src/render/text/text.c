/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "render/text/text.h"

#include <inttypes.h>
#include <limits.h>
#include <stdarg.h>
#include <string.h>

#include "analyse/idle_part.h"
#include "base/text.h"
#include "explain/text.h"

unsigned text_screen_width(const struct text_options *options)
{
	return options->width ? MAX(options->width, 60) : FIRST_COLUMNS;
}

void text_wrap(GString *s, const char *text, const char *indent, unsigned width)
{
	g_auto(GStrv) words = g_strsplit(text, " ", -1);
	unsigned column = 0;

	for (unsigned i = 0; words[i]; i++) {
		unsigned wide = text_width(words[i]);

		if (i && column + 1 + wide > width) {
			g_string_append_printf(s, "\n%s", indent);
			column = text_width(indent);
		} else if (i) {
			g_string_append_c(s, ' ');
			column++;
		}
		g_string_append(s, words[i]);
		column += wide;
	}
	g_string_append_c(s, '\n');
}

void text_fit(GString *s, const char *lines, const char *indent, const struct text_options *options)
{
	g_auto(GStrv) each = g_strsplit(lines, "\n", -1);

	if (!options->width) {
		g_string_append(s, lines);
		return;
	}
	for (char **line = each; *line && (**line || line[1]); line++)
		text_wrap(s, *line, indent, options->width);
}

#define COVERAGE_INDENT "            "

void text_section(GString *s, const struct text_options *o, const char *format, ...)
{
	g_autoptr(GString) title = g_string_new(NULL);
	va_list ap;

	va_start(ap, format);
	g_string_append_vprintf(title, format, ap);
	va_end(ap);
	g_string_append_printf(s, "\n%s", text_bold(o));
	text_wrap(s, title->str, "", o->width ? o->width : UINT_MAX);
	g_string_truncate(s, s->len - 1);
	g_string_append_printf(s, "%s\n", text_plain(o));
}

unsigned text_room(const struct text_options *o, unsigned used)
{
	if (o->width == 0)
		return 0;
	return o->width > used + 20 ? o->width - used : 20;
}

static void append_start(GString *s, uint64_t start_unix_ns)
{
	g_autoptr(GDateTime) when = g_date_time_new_from_unix_local((gint64)(start_unix_ns / 1000000000));
	g_autofree char *text = when ? g_date_time_format(when, "%Y-%m-%d %H:%M:%S") : NULL;
	g_autofree char *zone = when ? g_date_time_format(when, "%z") : NULL;

	if (text && zone)
		g_string_append_printf(s, "%s.%03u %s", text, (unsigned)(start_unix_ns / 1000000 % 1000), zone);
	else
		g_string_append(s, "an unknown time");
}

static void header_line(GString *s, const char *what, const char *text)
{
	if (!text || !*text)
		return;
	text_left(s, what, 10);
	text_safe(s, text);
	g_string_append_c(s, '\n');
}

/* The selected part of the recording. */
static void header_range(GString *s, const struct profile_range *range)
{
	g_string_append_printf(s, "Range     %s to %s of the recording's %s", TEXT_NS(range->from_ns),
			       TEXT_NS(range->to_ns), TEXT_NS(range->window_ns));
	if (range->is_estimated)
		g_string_append(s, "; not all waits are listed, so the accounts of threads are estimates");
	g_string_append(s, "\n          losses and the tracer's cost are those of the whole recording\n");
}

static void append_clock(GString *s, uint64_t unix_ns, const char *format)
{
	text_clock_as(s, unix_ns + 500000000, format);
}

static void append_gaps(GString *s, const struct profile_history *h)
{
	if (!h->gap_cnt) {
		g_string_append(s, "no gaps");
		return;
	}
	g_string_append_printf(s, "%u gap%s of %s", h->gap_cnt, h->gap_cnt == 1 ? "" : "s", TEXT_NS(h->gap_ns));
	if (h->gap_cnt > 1)
		g_string_append(s, " in all");
	if (*h->gap_why) {
		g_string_append(s, " (");
		text_safe(s, h->gap_why);
		g_string_append_c(s, ')');
	}
}

void text_history(GString *s, const struct profile_info *info)
{
	const struct profile_history *h = &info->history;
	g_autoptr(GString) first = g_string_new(NULL), last = g_string_new(NULL);

	append_clock(first, info->start_unix_ns, "%Y-%m-%d");
	append_clock(last, h->to_unix_ns, "%Y-%m-%d");
	g_string_append_printf(s, "%s ", first->str);
	append_clock(s, info->start_unix_ns, "%H:%M:%S");
	g_string_append(s, " to ");
	append_clock(s, h->to_unix_ns, strcmp(first->str, last->str) == 0 ? "%H:%M:%S %z" : "%Y-%m-%d %H:%M:%S %z");
	g_string_append_printf(s, ", %" PRIu64 " window%s, ", h->windows, h->windows == 1 ? "" : "s");
	append_gaps(s, h);
	if (h->is_gone_by_name)
		g_string_append(s, ", threads that ended are told by name");
}

void text_header(GString *s, const struct profile *p, const struct query *query, const struct text_options *options)
{
	const struct profile_info *info = &p->info;
	g_autofree char *asked = query ? query_text(query) : NULL;

	g_string_append_printf(s, "%sWindow    ", text_bold(options));
	append_start(s, info->start_unix_ns);
	g_string_append_printf(s, " for %s%s\n", TEXT_NS(info->duration_ns), text_plain(options));
	if (info->range.is_cut)
		header_range(s, &info->range);
	if (info->history.windows) {
		g_string_append(s, "History   ");
		text_history(s, info);
		g_string_append_c(s, '\n');
	}
	g_string_append(s, "Host      ");
	text_safe(s, info->host);
	g_string_append(s, ", kernel ");
	text_safe(s, info->kernel);
	g_string_append_printf(s, ", %u CPU%s\n", info->cpus, info->cpus == 1 ? "" : "s");
	if (info->scheduler) {
		g_autofree char *line = g_strdup_printf("%s (sched_ext)", info->scheduler);

		header_line(s, "Scheduler", line);
	}
	header_line(s, "Command", info->command_line);
	header_line(s, "Recorder", info->version);
	header_line(s, "Filters", info->filters && *info->filters ? info->filters : "none");
	header_line(s, "Shown", asked);
}

static void append_share(GString *s, uint64_t part, uint64_t whole)
{
	g_string_append_printf(s, "%.1f%%", text_percent(part, whole));
}

static void coverage_residual(GString *s, const struct account_row *total, const struct text_options *o)
{
	g_string_append(s, "  residual  ");
	if (total->residual_abs_ns)
		g_string_append(s, text_warn(o));
	text_duration_signed(s, total->residual_ns);
	g_string_append_printf(s, " (%.4f%%) of ",
			       total->observed_ns ? 100.0 * (double)total->residual_ns / (double)total->observed_ns
						  : 0.0);
	g_string_append_printf(s, "%s observed", TEXT_NS(total->observed_ns));
	if (total->residual_abs_ns != (total->residual_ns < 0 ? 0 - (uint64_t)total->residual_ns :
							       (uint64_t)total->residual_ns)) {
		g_string_append(s, "; the threads' amounts without sign sum to ");
		text_duration(s, total->residual_abs_ns);
	}
	if (total->residual_abs_ns)
		g_string_append(s, text_plain(o));
	g_string_append_c(s, '\n');
}

static void coverage_lost(GString *s, const struct profile *p, const struct account_row *total,
			  const struct text_options *o)
{
	bool any = false;

	EACH_ROW(i, const struct profile_loss, l, p->losses) {
		if (!l->count && !l->time_ns)
			continue;
		g_string_append_printf(s, "  lost      %s", text_warn(o));
		text_safe(s, l->reason);
		g_string_append_printf(s, ": %s%s", TEXT_COUNT(l->count), l->count == 1 ? " time" : " times");
		if (l->time_ns)
			g_string_append_printf(s, ", %s", TEXT_NS(l->time_ns));
		g_string_append(s, ": ");
		text_safe(s, l->help);
		g_string_append_printf(s, "%s\n", text_plain(o));
		any = true;
	}
	if (!any)
		g_string_append(s, "  lost      nothing\n");
	if (total->lost_ns)
		g_string_append_printf(s, "            %s%s of off-CPU time is in the accounts but under no stack%s\n",
				       text_warn(o), TEXT_NS(total->lost_ns), text_plain(o));
}

/* Time that was deliberately filtered from all lists. */
static void coverage_filtered(GString *s, const struct coverage *c, const struct account_row *total)
{
	if (total->filtered_ns) {
		g_string_append_printf(s, "  filtered  %s (", TEXT_NS(total->filtered_ns));
		append_share(s, total->filtered_ns, total->off_cpu_ns);
		g_string_append(s, " of off-CPU) was kept from the lists by the recorder's filters\n");
	}
	if (c->selected_ns != c->listed_ns) {
		g_string_append_printf(s, "  shown     %s (", TEXT_NS(c->selected_ns));
		append_share(s, c->selected_ns, total->off_cpu_ns);
		g_string_append(s, " of off-CPU) agrees with what was asked for\n");
	}
}

static void coverage_stacks(GString *s, const struct coverage *c)
{
	static const enum stack_end order[] = { STACK_COMPLETE, STACK_TRUNCATED, STACK_BROKEN, STACK_PENDING,
						STACK_NONE };

	g_string_append(s, "  stacks    ");
	for (unsigned i = 0; i < G_N_ELEMENTS(order); i++) {
		g_string_append_printf(s, "%s%s ", i ? ", " : "", stack_end_text(order[i]));
		append_share(s, c->stacks_ns[order[i]], c->listed_ns);
	}
	g_string_append_printf(s, " of %s listed (user stacks; none: kernel threads or not asked for)\n",
			       TEXT_NS(c->listed_ns));
}

static void coverage_open(GString *s, const struct coverage *c)
{
	g_string_append_printf(s, "  open      at the start %s", TEXT_NS(c->open_start_ns));
	g_string_append_printf(s, " in %" PRIu64 " wait%s, at the end ", c->open_start_cnt,
			       c->open_start_cnt == 1 ? "" : "s");
	text_duration(s, c->open_end_ns);
	g_string_append_printf(s, " in %" PRIu64 " wait%s (counted up to the edge)\n", c->open_end_cnt,
			       c->open_end_cnt == 1 ? "" : "s");
}

static void coverage_tracer(GString *s, const struct profile_info *info)
{
	g_string_append(s, "  tracer    ");
	g_string_append(s, info->self_excluded ? "the tracer's own threads were left out; " : "traced itself too; ");
	g_string_append(s, info->looks.rounds ? "cost: " : "cost: BPF ");
	if (info->has_bpf_ns)
		text_duration(s, info->tracer_bpf_ns);
	else if (!info->looks.rounds)
		g_string_append(s, "unknown");
	g_string_append(s, info->looks.rounds && !info->has_bpf_ns ? "CPU " : ", CPU ");
	text_duration(s, info->history.windows ? profile_running_cpu_ns(info) : info->tracer_cpu_ns);
	if (info->tracer_stop_cpu_ns && !info->history.windows)
		g_string_append_printf(s, " (start %s, running %s, the rest to write it)",
				       TEXT_NS(info->tracer_start_cpu_ns), TEXT_NS(profile_running_cpu_ns(info)));
	g_string_append_printf(s, ", peak memory %s\n", TEXT_SIZE(info->tracer_peak_rss_bytes));
}

void text_coverage(GString *to, const struct profile *p, const struct selection *selection,
		   const struct text_options *options)
{
	struct accounts *a = accounts_new(p, selection);
	g_autoptr(GString) s = g_string_new(NULL);
	struct coverage c;

	coverage_of(p, selection, &c);
	text_section(to, options, "Coverage");
	g_string_append_printf(s, "  switches  %s by these threads, ", TEXT_COUNT(a->total.switches));
	if (!p->info.looks.rounds) {
		if (p->info.switches)
			g_string_append_printf(s, "%s on all CPUs; ", TEXT_COUNT(p->info.switches));
		g_string_append_printf(s, "%s waits listed, ", TEXT_COUNT(c.waits_cnt));
	}
	text_thousands(s, a->total.threads_cnt);
	g_string_append(s, a->total.threads_cnt == 1 ? " thread\n" : " threads\n");
	coverage_residual(s, &a->total, options);
	coverage_lost(s, p, &a->total, options);
	coverage_filtered(s, &c, &a->total);
	coverage_stacks(s, &c);
	if (!p->info.looks.rounds)
		coverage_open(s, &c);
	text_sampling(s, p, "  ");
	coverage_tracer(s, &p->info);
	text_fit(to, s->str, COVERAGE_INDENT, options);
	accounts_free(a);
}

/*
 * The threads for the ranked sections.  On a whole machine most off-CPU time is kernel threads waiting for work, which
 * explains nothing.  So these are summed up in one line and left to -k, unless they were asked for, or there is
 * nothing else.  NULL: no change.
 */
static struct selection *foreground_threads(GString *s, const struct profile *p, const struct query *query,
					    const struct selection *selection)
{
	struct query users = query ? *query : (struct query){ 0 };
	uint64_t kernel_ns = 0, user_ns = 0;
	unsigned kernel_cnt = 0;

	if (users.user_only || users.kernel_only || users.comm || users.pids_cnt || users.processes || users.tids_cnt)
		return NULL;
	EACH_ROW(i, const struct thread, t, p->threads) {
		if (selection && !selection->threads[i])
			continue;
		if (t->flags & THREAD_KERNEL) {
			kernel_ns += thread_off_cpu_ns(t);
			kernel_cnt++;
		} else {
			user_ns += thread_off_cpu_ns(t);
		}
	}
	if (!kernel_cnt || !user_ns)
		return NULL;
	users.user_only = true;
	g_string_append_printf(s, "\nBelow: user threads. %s%s%s: see -k.\n", TEXT_COUNT(kernel_cnt),
			       kernel_cnt == 1 ? " kernel thread, off CPU for " : " kernel threads, off CPU for ",
			       TEXT_NS(kernel_ns));
	struct selection *left = selection_new(p, &users, NULL);

	if (!left || !selection)
		return left;
	for (guint i = 0; i < p->waits->len; i++)
		left->waits[i] = left->waits[i] && selection->waits[i];
	left->by_stack = selection->by_stack;
	left->without_idle = selection->without_idle;
	return left;
}

static void append_most_is_idle(GString *s, const struct profile *p, const struct selection *selection)
{
	struct idle_part *idle = idle_part_new(p, selection, WEIGHT_OFF_CPU);

	if (idle->amount > idle->rest)
		g_string_append_printf(s, "\nMost of it is idle time, %s: --idle=drop leaves that out.\n",
				       TEXT_NS(idle->amount));
	idle_part_free(idle);
}

void text_ranked(GString *s, const struct profile *p, const struct query *query, const struct selection *selection,
		 const struct text_options *options)
{
	if (p->info.imported)
		text_imported(s, p, query, selection, options);
	else
		text_header(s, p, query, options);
	struct selection *users = foreground_threads(s, p, query, selection);
	const struct selection *shown = users ? users : selection;
	struct top *top = options->attribute ? top_new_of(p, shown, options->attribute, options->weight)
					     : top_new(p, shown, options->by, options->weight);

	(top->by == TOP_BY_STACK ? text_top : text_groups)(s, p, top, options);
	top_free(top);
	if (options->weight == WEIGHT_OFF_CPU)
		append_most_is_idle(s, p, users ? users : selection);
	selection_free(users);
}

void text_report(GString *s, const struct profile *p, const struct query *query,
		 const struct selection *selection, const struct text_options *options)
{
	struct accounts *a = accounts_new(p, selection);

	if (p->info.imported) {
		text_imported(s, p, query, selection, options);
	} else {
		text_header(s, p, query, options);
		text_coverage(s, p, selection, options);
		text_accounts(s, a, options);
	}
	struct selection *users = foreground_threads(s, p, query, selection);
	const struct selection *ranked = users ? users : selection;
	struct top *leaves = top_new(p, ranked, TOP_BY_LEAF, options->weight);
	text_headline(s, leaves, options);
	if (options->by == TOP_BY_LEAF) {
		text_top(s, p, leaves, options);
	} else {
		struct top *top = options->attribute ? top_new_of(p, ranked, options->attribute, options->weight)
						     : top_new_beside(leaves, p, ranked, options->by, options->weight);
		text_top(s, p, top, options);
		top_free(top);
	}
	top_free(leaves);
	selection_free(users);
	accounts_free(a);
}
