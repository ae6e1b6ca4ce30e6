/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "render/text/text.h"

#include <math.h>

#include "render/json/write.h"

#define NOTHING 0.005	/* a smaller change is reported as none */

static void append_change(GString *s, double rate)
{
	g_string_append_printf(s, "%+.0f%%", 100 * (rate - 1));
}

static void append_share(GString *s, const char *what, double share, bool *is_first)
{
	if (share < NOTHING)
		return;
	g_string_append_printf(s, "%s%s %.0f%%", *is_first ? "" : ", ", what, 100 * share);
	*is_first = false;
}

void text_whatif(GString *s, const struct whatif *w)
{
	bool is_first = true;

	g_string_append_printf(s, "%s: ", w->work);
	append_change(s, w->rate);
	g_string_append_printf(s, " %s a second (", w->is_pipeline ? "items" : "cycles");
	append_change(s, w->rate_low);
	g_string_append(s, " to ");
	append_change(s, w->rate_high);
	g_string_append_printf(s, "), so %s takes %.0f%% of the time it takes now\n", w->is_pipeline ? "an item" : "a cycle",
			       100 / w->rate);
	g_string_append(s, "now: ");
	append_share(s, "on CPU", w->on_cpu, &is_first);
	append_share(s, "run queue", w->queue, &is_first);
	append_share(s, "locks", w->locks, &is_first);
	append_share(s, "what is changed", w->changed, &is_first);
	append_share(s, "handed on", w->handed, &is_first);
	append_share(s, "other waits", w->rest, &is_first);
	g_string_append_c(s, '\n');
}

static void member(struct json *j, const char *key, double value, double unit)
{
	json_member_uint(j, key, (uint64_t)llround(fmin(fmax(value, 0), 1e9) * unit));
}

void whatif_json(GString *s, const struct whatif *w)
{
	struct json j;

	json_begin(&j, s);
	JSON(&j, "format", "offcpu-whatif/1", "work", w->work, "is_pipeline", w->is_pipeline);
	member(&j, "rate_permille", w->rate, 1e3);
	member(&j, "rate_low_permille", w->rate_low, 1e3);
	member(&j, "rate_high_permille", w->rate_high, 1e3);
	json_member_object(&j, "now_ppm");
	member(&j, "on_cpu", w->on_cpu, 1e6);
	member(&j, "run_queue", w->queue, 1e6);
	member(&j, "locks", w->locks, 1e6);
	member(&j, "changed", w->changed, 1e6);
	member(&j, "handed_on", w->handed, 1e6);
	member(&j, "other_waits", w->rest, 1e6);
	json_object_end(&j);
	json_end(&j);
}
