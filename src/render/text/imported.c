/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* What a report says about another tool's profile, instead of header, coverage and accounts. */
#include "features/wakers/analysis.h"
#include "render/text/text.h"
#include "explain/text.h"

void text_imported(GString *to, const struct profile *p, const struct query *query, const struct selection *selection,
		   const struct text_options *options)
{
	g_autofree char *unknown = profile_unknown_text(p->info.unknown, p->info.has_wakers);
	g_autoptr(GString) s = g_string_new(NULL);
	g_autofree char *asked = query ? query_text(query) : NULL;
	g_autofree char *imported = profile_imported_text(&p->info);
	const bool has_waits = !p->info.rows_are, is_counted = profile_rows_are_counted(p->info.rows_are);
	struct coverage c;

	coverage_of(p, selection, &c);
	g_string_append_printf(s, "%s%s  ", text_bold(options), imported ? "Imported" : "Recorded");
	text_safe(s, imported ? imported : p->info.imported);
	g_string_append(s, text_plain(options));
	if (has_waits)
		g_string_append_printf(s, "; unknown: %s", unknown);
	g_string_append(s, "\nHolds     ");
	if (!is_counted)
		text_duration(s, c.listed_ns);
	g_string_append(s, has_waits ? " off CPU" : "");
	if (!(p->info.unknown & UNKNOWN_COUNTS))
		g_string_append_printf(s, "%s%s %s", is_counted ? "" : " in ", TEXT_COUNT(c.waits_cnt),
				       profile_rows_word(p->info.rows_are, c.waits_cnt));
	if (!(p->info.unknown & UNKNOWN_WINDOW))
		g_string_append_printf(s, ", of a window of %s", TEXT_NS(p->info.duration_ns));
	if (!imported)
		g_string_append(s, "; they are no waits, and may overlap");
	g_string_append_c(s, '\n');
	EACH_ROW(i, const struct profile_loss, l, p->losses) {
		g_string_append_printf(s, "Missing   %s: ", TEXT_COUNT(l->count));
		text_safe(s, l->help);
		g_string_append_c(s, '\n');
	}
	if (asked && *asked) {
		g_string_append(s, "Shown     ");
		text_safe(s, asked);
		if (!is_counted)
			g_string_append_printf(s, ": %s", TEXT_NS(c.selected_ns));
		g_string_append_c(s, '\n');
	}
	text_fit(to, s->str, "          ", options);
}

/* ", median 1.1 ms, p90 2.2 ms, p99 14 ms, max 20 ms" */
static void append_percentiles(GString *s, const struct top_row *r)
{
	static const struct {
		const char *name;
		double share;
	} shares[] = { { "median", 0.5 }, { "p90", 0.9 }, { "p99", 0.99 } };
	uint64_t all = 0;

	for (unsigned i = 0; i < PROFILE_HIST_SLOTS; i++)
		all += r->hist[i];
	for (unsigned i = 0; all && i < G_N_ELEMENTS(shares); i++) {
		g_string_append_printf(s, ", %s ", shares[i].name);
		text_duration(s, wait_percentile_ns(r->hist, shares[i].share, r->durations_ns, r->max_ns));
	}
	if (!r->max_ns)
		return;
	g_string_append_printf(s, ", max %s", TEXT_NS(r->max_ns));
}

/* "     190 samples, standard error 12.0 ms"; exact values have no error. */
static void on_cpu_numbers(GString *s, const struct top_row *row)
{
	g_string_append_printf(s, "     %s%s", TEXT_COUNT(row->samples), row->samples == 1 ? " sample" : " samples");
	if (row->off_cpu_se_ns > 0)
		g_string_append_printf(s, ", standard error %s", TEXT_NS((uint64_t)row->off_cpu_se_ns));
	g_string_append_c(s, '\n');
}

void text_row_numbers(GString *s, uint32_t unknown, const struct top_row *row, bool is_exact)
{
	gsize from = s->len;

	if (row->on_cpu_ns && !row->off_cpu_ns) {
		if (row->samples)
			on_cpu_numbers(s, row);
		return;
	}
	g_string_append(s, "     ");
	if (!(unknown & UNKNOWN_COUNTS)) {
		g_string_append_printf(s, "count %s", TEXT_COUNT(row->count));
		if (!is_exact)
			text_relative_error(s, row->count_se, row->count);
		g_string_append_printf(s, ", mean %s", TEXT_NS(row->count ? row->off_cpu_ns / row->count : 0));
	}
	if (!(unknown & UNKNOWN_DURATIONS)) {
		append_percentiles(s, row);
	}
	if (!(unknown & UNKNOWN_PARTS))
		g_string_append_printf(s, "%s%s, runnable %s, preempted %s",
				       s->len > from + 5 ? "; blocked " : "blocked ", TEXT_NS(row->blocked_ns),
				       TEXT_NS(row->runnable_ns), TEXT_NS(row->preempted_ns));
	if (row->on_cpu_ns)
		g_string_append_printf(s, "; on CPU %s", TEXT_NS(row->on_cpu_ns));
	if (s->len == from + 5)
		g_string_truncate(s, from);
	else
		g_string_append_c(s, '\n');
}
