/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "render/text/text.h"

#include <inttypes.h>

#include "analyse/label.h"
#include "explain/text.h"
#include "features/storms/abi.h"
#include "features/storms/analysis.h"
#include "features/wakers/analysis.h"

#define NAME_COLUMNS 20
#define TIME_COLUMNS 10
#define FRAMES_SHOWN 12	/* per stack */
#define SLEEPERS_SHOWN 3

static void append_line(GString *s, const struct profile *p, const struct storm_row *r,
			const struct text_options *options)
{
	const struct storm *storm = &r->storm;
	double each = storm->event_cnt ? (double)storm->woken_cnt / (double)storm->event_cnt : 0;

	text_safe_cell(s, waker_name(profile_get_waker(p, storm->waker)), NAME_COLUMNS);
	g_string_append_printf(s, " %8" PRIu64 " %9" PRIu64 " %7.1f %6" PRIu64 " %6.1f%%", storm->event_cnt,
			       storm->woken_cnt, each, storm->most_cnt,
			       text_percent(storm->again_cnt, storm->ended_cnt));
	text_duration_cell(s, storm->again_ns, TIME_COLUMNS);
	text_duration_cell(s, storm->cpu_ns, TIME_COLUMNS);
	g_string_append(s, "  ");
	text_safe_cut(s, storm_title(r), text_room(options, 87));
	g_string_append_c(s, '\n');
}

static void append_stack(GString *s, const struct profile *p, uint32_t node, const struct text_options *options)
{
	for (unsigned i = 0; node; node = profile_get_node(p, node)->parent) {
		g_autoptr(GString) label = g_string_new(NULL);

		if (i++ == FRAMES_SHOWN) {
			g_string_append_printf(s, "       (%u more)\n", profile_get_node(p, node)->depth);
			return;
		}
		label_append(label, profile_get_frame(p, profile_get_node(p, node)->frame));
		g_string_append(s, "       ");
		text_safe_cut(s, label->str, text_room(options, 7));
		g_string_append_c(s, '\n');
	}
}

static void append_thread(GString *s, const char *name, uint32_t pid, uint32_t tid)
{
	text_safe_cut(s, name, NAME_COLUMNS);
	if (tid)
		g_string_append_printf(s, "-%u/%u", pid, tid);
	g_string_append_c(s, '\n');
}

static void append_verdict(GString *s, const struct storm_row *r, const struct text_options *options)
{
	const struct storm *storm = &r->storm;
	double percent = text_percent(storm->again_cnt, storm->ended_cnt);
	g_autoptr(GString) vain = g_string_new(NULL), each = g_string_new(NULL), delay = g_string_new(NULL);

	text_duration(vain, storm->again_ns);
	text_duration(each, storm->ended_cnt ? storm->cpu_ns / storm->ended_cnt : 0);
	text_duration(delay, storm->ended_cnt ? storm->delay_ns / storm->ended_cnt : 0);
	g_string_append(s, "   ");
	switch (r->verdict) {
	case STORM_IN_VAIN:
		g_string_append_printf(s, "%sA storm%s: %.1f%% of the woken slept again at once, for %s of CPU time.",
				       text_warn(options), text_plain(options), percent, vain->str);
		break;
	case STORM_PARTLY:
		g_string_append_printf(s,
				       "In part a storm: %.1f%% of the woken slept again at once, for %s of CPU time.",
				       percent, vain->str);
		break;
	case STORM_WORK:
		g_string_append_printf(s, "No storm: only %.1f%% of the woken slept again at once, %s.", percent,
				       r->kind == STORM_SIGNAL ? "the others took the signal or ended"
							       : "the others had work to do");
		break;
	case STORM_ONE_BY_ONE:
		g_string_append_printf(
			s,
			"Woken one by one, each by a call of its own; %.1f%% slept again at once, having had "
			"little to do, or nothing.",
			percent);
		break;
	case STORM_UNSEEN:
		g_string_append_printf(s, "Of %" PRIu64 " woken only %" PRIu64 " were seen to sleep again.",
				       storm->woken_cnt, storm->ended_cnt);
		break;
	}
	if (storm->ended_cnt)
		g_string_append_printf(s, " Each ran %s and queued %s on average.", each->str, delay->str);
	if (r->one_by_one && r->verdict != STORM_ONE_BY_ONE)
		g_string_append(s, " They were woken one by one, each by a call of its own.");
	g_string_append_c(s, '\n');
	if (storm_advice(r))
		g_string_append_printf(s, "   Try: %s.\n", storm_advice(r));
}

static void append_storm(GString *s, const struct profile *p, const struct storm_row *r, unsigned number,
			 const struct text_options *options)
{
	const struct waker *waker = profile_get_waker(p, r->storm.waker);

	g_string_append_printf(s, "\n%s#%u %s%s\n", text_bold(options), number, storm_title(r),
			       text_plain(options));
	append_verdict(s, r, options);
	g_string_append(s, "   woken by ");
	if (r->wakers > 1)
		g_string_append_printf(s, "%u threads: ", r->wakers);
	append_thread(s, waker_name(waker), r->wakers > 1 ? 0 : waker->pid, r->wakers > 1 ? 0 : waker->tid);
	append_stack(s, p, waker->kernel, options);
	append_stack(s, p, waker->user, options);
	for (unsigned i = 0; i < MIN(r->sleepers->len, SLEEPERS_SHOWN); i++) {
		const struct storm_sleepers *sleepers = &g_array_index(r->sleepers, struct storm_sleepers, i);
		const struct wait *w = profile_wait(p, sleepers->wait);
		const struct thread *t = profile_thread(p, w->thread);

		if (sleepers->threads == 1) {
			g_string_append_printf(s, "   woken %" PRIu64 " times: ", sleepers->count);
			append_thread(s, t->comm, t->pid, t->tid);
		} else {
			g_string_append_printf(s, "   woken %" PRIu64 " times, %u threads: ", sleepers->count,
					       sleepers->threads);
			append_thread(s, t->comm, 0, 0);
		}
		append_stack(s, p, w->kernel, options);
		append_stack(s, p, w->user, options);
	}
	if (r->sleepers->len > SLEEPERS_SHOWN)
		g_string_append_printf(s, "   and %u more kinds of threads or places of theirs\n",
				       r->sleepers->len - SLEEPERS_SHOWN);
}

void storms_text(GString *s, const struct profile *p, const struct selection *selection,
		 const struct text_options *options)
{
	struct storm_table *t = storm_table_new(p, selection);
	unsigned shown = options->top ? MIN(options->top, t->rows->len) : t->rows->len;

	text_section(s, options, "Events that woke %u threads or more at once (again: slept again within %u us on CPU)",
		     STORM_MIN, STORM_AGAIN_NS / 1000);
	if (!t->rows->len) {
		g_string_append(s, "  none\n");
	} else {
		g_string_append_printf(s, "%s%-*s %8s %9s %7s %6s %7s%10s%10s  %s%s\n", text_dim(options), NAME_COLUMNS,
				       "waker", "events", "woken", "each", "most", "again", "CPU again", "CPU all",
				       "what", text_plain(options));
		for (unsigned i = 0; i < shown; i++)
			append_line(s, p, &g_array_index(t->rows, struct storm_row, i), options);
		if (shown < t->rows->len)
			g_string_append_printf(s, "(%u more)\n", t->rows->len - shown);
		for (unsigned i = 0; i < shown; i++)
			append_storm(s, p, &g_array_index(t->rows, struct storm_row, i), i + 1, options);
	}
	storm_table_free(t);
}
