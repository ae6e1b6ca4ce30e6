/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "features/requests/text.h"

#include <string.h>

#include "explain/explain.h"
#include "explain/text.h"

/* Requests open at the window's end. No sum has them, and requests that hang are among them. */

#define ROWS 3

struct row {
	char *what;
	uint64_t longest_ns;
	bool began_before;	/* the longest began before the window */
	guint cnt;
};

static void row_clear(gpointer row)
{
	g_free(((struct row *)row)->what);
}

/* "postgres waits for .. (PID 4711)": equal waits of a process are one row, longest first. */
static void add_wait(GArray *rows, const struct profile *p, const struct explanation *e, uint32_t wait)
{
	const struct wait *w = profile_wait(p, wait);
	const struct thread *t = profile_thread(p, w->thread);
	g_autoptr(GString) what = g_string_new(NULL);

	explanation_sentence(what, e, wait);
	g_string_append_printf(what, " (PID %u)", t->pid);
	EACH_ROW(i, struct row, row, rows) {
		if (strcmp(row->what, what->str) == 0) {
			row->cnt++;
			return;
		}
	}
	const struct row own = {
		.what = g_strdup(what->str), .longest_ns = wait_off_cpu_ns(w),
		.began_before = w->flags & WAIT_OPEN_AT_START, .cnt = 1,
	};
	g_array_append_val(rows, own);
}

static void append_connections(GString *s, const struct profile *p, const struct text_options *o)
{
	uint64_t longest_ns;

	EACH_ROW(i, const struct profile_limit, l, p->limits) {
		uint32_t cnt = limit_unanswered_read(l, &longest_ns);
		g_autoptr(GString) line = g_string_new(NULL);

		if (!cnt)
			continue;
		g_string_append_printf(line, "  %u connection%s of PID %u: received %s ", cnt, cnt == 1 ? "" : "s", l->pid,
				       cnt == 1 ? "something" : "something, the longest");
		text_duration(line, longest_ns);
		g_string_append(line, " ago, and nothing was sent since");
		text_wrap(s, line->str, "    ", text_screen_width(o));
	}
}

void requests_open_text(GString *s, const struct profile *p, const struct text_options *o)
{
	g_autoptr(GArray) waits = requests_open_waits(p), rows = g_array_new(FALSE, FALSE, sizeof(struct row));
	struct explanation *e = waits->len ? explanation_new(p, NULL) : NULL;

	g_array_set_clear_func(rows, row_clear);
	for (guint i = 0; i < waits->len; i++)
		add_wait(rows, p, e, g_array_index(waits, uint32_t, i));
	for (guint i = 0; i < rows->len && i < ROWS; i++) {
		const struct row *row = &g_array_index(rows, struct row, i);
		g_autoptr(GString) line = g_string_new(NULL);

		g_string_append_printf(line, "  %u waiting for %s%s: %s", row->cnt, TEXT_NS(row->longest_ns),
				       row->began_before ? " and longer" : "", row->what);
		text_wrap(s, line->str, "    ", text_screen_width(o));
	}
	if (rows->len > ROWS)
		g_string_append_printf(s, "  and %u more\n", rows->len - ROWS);
	append_connections(s, p, o);
	explanation_free(e);
}

void requests_open_head_text(GString *s, const struct profile *p, const struct text_options *o)
{
	g_autoptr(GString) rows = g_string_new(NULL);

	requests_open_text(rows, p, o);
	if (!rows->len)
		return;
	g_string_append_printf(s, "%sRequests that had not ended as the window ended:%s\n", text_bold(o), text_plain(o));
	g_string_append(s, rows->str);
}
