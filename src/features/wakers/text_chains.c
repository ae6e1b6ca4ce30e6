/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "render/text/text.h"

#include "explain/text.h"
#include "features/wakers/analysis_chains.h"

#define NAME_COLUMNS 44	/* maximum */

static void append_part(GString *s, uint64_t ns, uint64_t of_ns, const char *what)
{
	g_string_append(s, "    ");
	text_duration_cell(s, ns, 10);
	g_string_append_printf(s, " %5.1f%%  %s\n", text_percent(ns, of_ns), what);
}

/* Appends one activity of a waker, if any. The name stands before the first one only. */
static void append_doing(GString *s, uint64_t ns, uint64_t of_ns, const char **name, unsigned columns, const char *what)
{
	g_autoptr(GString) text = g_string_new(NULL);

	if (!ns)
		return;
	text_safe_cell(text, *name, columns);
	*name = "";
	g_string_append_printf(text, " %s", what);
	append_part(s, ns, of_ns, text->str);
}

static void append_end(GString *s, const struct chain_row *row)
{
	const char *last = row->names[row->cnt - 1];

	switch (row->end) {
	case CHAIN_LOOP:
		g_string_append(s, "    loop: ");
		text_safe(s, last);
		g_string_append(s, " had been woken by ");
		text_safe(s, row->loop_to ? row->names[row->loop_to - 1] : row->target);
		g_string_append(s, " before\n");
		break;
	case CHAIN_CUT:
	case CHAIN_UNKNOWN:
	case CHAIN_START: g_string_append_printf(s, "    (%s)\n", chain_end_text(row->end)); break;
	default:
		break;
	}
}

static bool did_nothing(const struct hop *hop)
{
	return !hop->ran_ns && !hop->runnable_ns && !hop->earlier_ns;
}

/* Wakers that only waited have no line of their own. */
static void append_way(GString *s, const struct chain_row *row)
{
	const char *before = ", by way of ";

	for (unsigned i = 0; i + 1 < row->cnt; i++) {
		if (!did_nothing(&row->hop[i]))
			continue;
		g_string_append(s, before);
		text_safe_cut(s, row->names[i], NAME_COLUMNS);
		before = ", ";
	}
}

/* A sleep with several paths counts at that of its last part. */
static void append_count(GString *s, const struct chain_row *row)
{
	g_autoptr(GString) mean = g_string_new(NULL);

	if (!row->count) {
		g_string_append(s, ", in parts of its sleeps");
		return;
	}
	text_duration(mean, row->blocked_ns / MAX(row->count, 1));
	g_string_append_printf(s, ", %s time%s, %s each", TEXT_COUNT(row->count),
			       row->count == 1 ? "" : "s", mean->str);
}

static void append_row(GString *s, const struct chain_row *row, uint64_t all_ns)
{
	g_autoptr(GString) time = g_string_new(NULL);
	unsigned columns = 0;

	text_duration(time, row->blocked_ns);
	g_string_append_c(s, '\n');
	text_safe(s, row->target);
	g_string_append_printf(s, " waited %s (%.1f%%)", time->str, text_percent(row->blocked_ns, all_ns));
	append_way(s, row);
	append_count(s, row);
	g_string_append(s, "; meanwhile, from the end backwards:\n");
	for (unsigned i = 0; i < row->cnt; i++) {
		g_autoptr(GString) name = g_string_new(NULL);

		columns = MAX(columns, text_safe_cut(name, row->names[i], NAME_COLUMNS));
	}
	for (unsigned i = 0; i < row->cnt; i++) {
		const char *name = row->names[i];
		bool last = i + 1 == row->cnt;

		append_doing(s, row->hop[i].ran_ns, row->blocked_ns, &name, columns, "ran");
		append_doing(s, row->hop[i].runnable_ns, row->blocked_ns, &name, columns, "waited for a CPU");
		append_doing(s, row->hop[i].earlier_ns, row->blocked_ns, &name, columns,
			     "before its own wait, of which nothing was kept");
		if (!last)
			continue;
		append_doing(s, row->rest_ns, row->blocked_ns, &name, columns,
			     row->end == CHAIN_INTERRUPT ? "came after" : "waited itself");
	}
	append_end(s, row);
}

void chains_text(GString *out, const struct profile *p, const struct actors *actors,
		 const struct selection *selection, unsigned max)
{
	struct chain_table *t = chain_table_new(p, actors, selection);
	unsigned shown = max ? MIN(max, t->rows->len) : t->rows->len;

	if (t->rows->len)
		g_string_append(out, "\nChains of wakers, by blocked time\n");
	for (unsigned i = 0; i < shown; i++)
		append_row(out, &g_array_index(t->rows, struct chain_row, i), t->blocked_ns);
	if (shown < t->rows->len)
		g_string_append_printf(out, "\n(%u more chains)\n", t->rows->len - shown);
	chain_table_free(t);
}
