/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <math.h>

#include "analyse/diff/requests.h"
#include "render/text/diff.h"
#include "explain/text.h"

#define ROWS_MAX 4

static void append_pair(GString *s, const char *name, double before_ns, double after_ns)
{
	g_string_append_printf(s, ", %s %s -> %s", name, TEXT_NS((uint64_t)before_ns), TEXT_NS((uint64_t)after_ns));
}

/* "  dispatch_command: 8,950 -> 9,544; mean 219 us -> 240 us (+21.0 us ±5.00 us), p50 ..." */
static void append_row(GString *s, const struct diff_request *r)
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

void diff_text_requests(GString *s, const struct diff *d)
{
	g_autoptr(GArray) rows = diff_requests(d);

	if (rows->len)
		g_string_append(s, "Requests, and how long they took:\n");
	for (guint i = 0; i < MIN(rows->len, ROWS_MAX); i++)
		append_row(s, &g_array_index(rows, struct diff_request, i));
	if (rows->len > ROWS_MAX)
		g_string_append_printf(s, "  and %u more functions: --json has them\n", rows->len - ROWS_MAX);
}
