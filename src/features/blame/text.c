/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "render/text/text.h"

#include <inttypes.h>

#include "explain/text.h"
#include "features/blame/analysis.h"

#define NAME_COLUMNS 20
#define TIME_COLUMNS 10

static void append_row(GString *s, const struct blame_row *r, uint64_t whole_ns)
{
	uint64_t ns = blame_row_ns(r);

	text_safe_cell(s, blame_name(r->kind, r->culprit), NAME_COLUMNS);
	if (r->sufferer) {
		g_string_append_c(s, ' ');
		text_safe_cell(s, r->sufferer, NAME_COLUMNS);
	}
	text_duration_cell(s, ns, TIME_COLUMNS);
	g_string_append_printf(s, " %6.1f%%", text_percent(ns, whole_ns));
	text_duration_cell(s, r->runnable_ns, TIME_COLUMNS);
	text_duration_cell(s, r->preempted_ns, TIME_COLUMNS);
	if (r->kind == BLAME_UNKNOWN)
		g_string_append_printf(s, "%11s\n", "-");
	else
		g_string_append_printf(s, "%11" PRIu64 "\n", r->count);
}

static void append_rows(GString *s, const GArray *rows, uint64_t whole_ns, const struct text_options *options)
{
	unsigned shown = options->top ? MIN(options->top, rows->len) : rows->len;
	bool has_sufferer = rows->len && g_array_index(rows, struct blame_row, 0).sufferer;
	uint64_t rest_ns = whole_ns;

	g_string_append_printf(s, "%s%-*s", text_dim(options), NAME_COLUMNS, "held by");
	if (has_sufferer)
		g_string_append_printf(s, " %-*s", NAME_COLUMNS, "waited");
	g_string_append_printf(s, "%10s %7s%10s%10s%11s%s\n", "delay", "%", "runnable", "preempted", "stretches",
			       text_plain(options));
	for (unsigned i = 0; i < shown; i++) {
		const struct blame_row *r = &g_array_index(rows, struct blame_row, i);

		rest_ns -= blame_row_ns(r);
		append_row(s, r, whole_ns);
	}
	if (shown < rows->len) {
		g_autofree char *more = g_strdup_printf("(%u more)", rows->len - shown);

		g_string_append_printf(s, "%-*s", has_sufferer ? 2 * NAME_COLUMNS + 1 : NAME_COLUMNS, more);
		text_duration_cell(s, rest_ns, TIME_COLUMNS);
		g_string_append_c(s, '\n');
	}
}

/* "Behind threads of their own process 1.2 s, 30.0%; of other processes 2.8 s, 70.0%" */
static void append_whose(GString *s, const struct blame_table *t, uint64_t whole_ns)
{
	if (!t->own_ns && !t->others_ns)
		return;
	g_string_append_printf(s, "Behind threads of their own process %s, %.1f%%; of other processes %s, %.1f%%\n",
			       TEXT_NS(t->own_ns), text_percent(t->own_ns, whole_ns), TEXT_NS(t->others_ns),
			       text_percent(t->others_ns, whole_ns));
}

void blame_text(GString *s, const struct profile *p, const struct selection *selection,
		const struct text_options *options)
{
	struct blame_table *t = blame_table_new(p, selection);
	uint64_t whole_ns = t->runnable_ns + t->preempted_ns;
	g_autoptr(GString) whole = g_string_new(NULL);

	text_duration(whole, whole_ns);
	text_section(s, options, "Who held the CPU while threads waited for it, of %s", whole->str);
	if (whole_ns && p->info.scheduler) {
		g_autoptr(GString) line = g_string_new("  A BPF scheduler, ");

		text_safe(line, p->info.scheduler);
		g_string_append(line, ", queued the threads in its own way: who held whom up cannot be told.");
		text_wrap(s, line->str, "  ", text_screen_width(options));
	}
	if (!whole_ns) {
		g_string_append(s, "  no thread waited for a CPU\n");
	} else {
		append_rows(s, t->culprits, whole_ns, options);
		append_whose(s, t, whole_ns);
		text_section(s, options, "And who waited meanwhile");
		append_rows(s, t->pairs, whole_ns, options);
	}
	blame_table_free(t);
}
