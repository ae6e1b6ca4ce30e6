/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <math.h>

#include "explain/text.h"
#include "render/text/text.h"

#define PART_PERCENT 1.0 /* if measured and expected time differ by more than that share of the threads' time */

static void append_part(GString *s, const char *name, uint64_t ns, uint64_t whole)
{
	if (!ns)
		return;
	g_string_append_printf(s, "%s %s (%.1f%%)", name, TEXT_NS(ns), text_percent(ns, whole));
}

/* "redis (812): 4 threads, 12.0 s = on-CPU 3.1 s (26%) + run queue ... + waits that matter ... + idle ..." */
static void append_process(GString *s, const struct finding_class *c, const struct text_options *o)
{
	g_autoptr(GString) line = g_string_new(NULL);
	const struct {
		const char *name;
		uint64_t ns;
	} parts[] = {
		{ "on-CPU", c->on_cpu_ns },
		{ "run queue", c->queue_ns },
		{ "throttled", c->throttled_ns },
		{ "waits that matter", finding_class_matters_ns(c) - c->queue_ns - c->throttled_ns },
		{ "idle", c->idle_ns },
		{ "filtered or lost", c->unlisted_ns },
	};
	bool any = false;

	text_safe_cut(line, c->process, 30);
	if (c->pid)
		g_string_append_printf(line, " (%u)", c->pid);
	g_string_append_printf(line, ": %u thread%s, %s =", c->threads_cnt, c->threads_cnt == 1 ? "" : "s",
			       TEXT_NS(c->observed_ns));
	for (unsigned i = 0; i < G_N_ELEMENTS(parts); i++) {
		if (!parts[i].ns)
			continue;
		g_string_append(line, any ? " + " : " ");
		append_part(line, parts[i].name, parts[i].ns, c->observed_ns);
		any = true;
	}
	if (c->residual_ns) {
		g_string_append(line, " + residual ");
		text_duration_signed(line, c->residual_ns);
	}
	text_wrap(s, line->str, "  ", text_screen_width(o));
}

/*
 * With R requests per second and CPU time C per request, T threads are off CPU for T - R * C of each second.  C is
 * measured, so both differ only by time in neither class: lost, filtered, or residual.
 */
static void append_rate(GString *s, const struct findings *f, const struct text_options *o, double rate)
{
	double window_s = (double)f->profile->info.duration_ns / 1e9, requests = rate * window_s;
	uint64_t observed = 0, on_cpu = 0, unlisted = 0, queue = 0, idle = 0;
	g_autoptr(GString) line = g_string_new(NULL);

	EACH_ROW(i, const struct finding_class, c, f->classes) {
		observed += c->observed_ns;
		on_cpu += c->on_cpu_ns;
		unlisted += c->unlisted_ns;
		idle += c->idle_ns;
		queue += c->queue_ns + c->throttled_ns;
	}
	if (requests < 1 || window_s <= 0)
		return;
	double threads = (double)observed / 1e9 / window_s, cpu_s = (double)on_cpu / 1e9 / requests;
	double expected = threads - rate * cpu_s;
	double measured = (double)(f->blocked_ns + queue + idle) / 1e9 / window_s;
	g_string_append_printf(line, "At %g requests/s, each takes %s of CPU, %s in run queues, %s", rate,
			       TEXT_NS((uint64_t)(cpu_s * 1e9)), TEXT_NS((uint64_t)((double)queue / requests)),
			       TEXT_NS((uint64_t)((double)f->blocked_ns / requests)));
	g_string_append_printf(line, " of waits that matter. Off-CPU threads: %.2f expected, %.2f measured.",
			       expected, measured);
	text_wrap(s, line->str, "  ", text_screen_width(o));
	if (fabs(expected - measured) > threads * PART_PERCENT / 100) {
		g_autoptr(GString) warning = g_string_new("warning: they differ by ");

		g_string_append_printf(warning, "%.2f threads: that time was lost, filtered (",
				       fabs(expected - measured));
		g_string_append_printf(warning, "%s) or is residual; see --full.", TEXT_NS(unlisted));
		text_wrap(s, warning->str, "  ", text_screen_width(o));
	}
}

void text_budget(GString *s, const struct findings *f, const struct text_options *options, double rate)
{
	unsigned shown = options->top ? MIN(options->top, f->classes->len) : f->classes->len;

	for (unsigned i = 0; i < (rate > 0 ? MIN(shown, 1) : shown); i++)
		append_process(s, &g_array_index(f->classes, struct finding_class, i), options);
	if (shown < f->classes->len && rate <= 0)
		g_string_append_printf(s, "(%u more)\n", f->classes->len - shown);
	if (rate > 0)
		append_rate(s, f, options, rate);
}
