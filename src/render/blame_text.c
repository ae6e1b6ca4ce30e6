/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "render/blame_text.h"

#include <inttypes.h>

#include "analyse/blame.h"
#include "render/text_style.h"
#include "render/text_util.h"

#define NAME_COLUMNS 20

static void append_name(GString *s, const char *name)
{
	g_autoptr(GString) cell = g_string_new(NULL);

	text_safe_cut(cell, name, NAME_COLUMNS);
	text_left(s, cell->str, NAME_COLUMNS);
}

static void append_time(GString *s, uint64_t ns)
{
	g_autoptr(GString) cell = g_string_new(NULL);

	text_duration(cell, ns);
	text_right(s, cell->str, 10);
}

static void append_row(GString *s, const struct blame_row *r, uint64_t whole_ns)
{
	uint64_t ns = blame_row_ns(r);

	append_name(s, blame_name(r->kind, r->culprit));
	if (r->sufferer) {
		g_string_append_c(s, ' ');
		append_name(s, r->sufferer);
	}
	append_time(s, ns);
	g_string_append_printf(s, " %6.1f%%", whole_ns ? 100.0 * (double)ns / (double)whole_ns : 0);
	append_time(s, r->runnable_ns);
	append_time(s, r->preempted_ns);
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
		append_time(s, rest_ns);
		g_string_append_c(s, '\n');
	}
}

void blame_text(GString *s, const struct profile *p, const struct selection *selection,
		const struct text_options *options)
{
	struct blame_table *t = blame_table_new(p, selection);
	uint64_t whole_ns = t->runnable_ns + t->preempted_ns;
	g_autoptr(GString) whole = g_string_new(NULL);

	text_duration(whole, whole_ns);
	text_section(s, options, "Who held the CPU while threads waited for it, of %s", whole->str);
	if (!whole_ns) {
		g_string_append(s, "  no thread waited for a CPU\n");
	} else {
		append_rows(s, t->culprits, whole_ns, options);
		text_section(s, options, "And who waited meanwhile");
		append_rows(s, t->pairs, whole_ns, options);
	}
	blame_table_free(t);
}
