/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "render/wakers_text.h"

#include <inttypes.h>

#include "analyse/label.h"
#include "render/text_style.h"
#include "render/text_util.h"

#define NAME_COLUMNS 24

static double percent(uint64_t part, uint64_t whole)
{
	return whole ? 100.0 * (double)part / (double)whole : 0;
}

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
	g_string_append_c(s, ' ');
	text_right(s, cell->str, 10);
}

static bool has_delays(const struct waker_row *r)
{
	for (int i = 0; i < PROFILE_HIST_SLOTS; i++)
		if (r->hist[i])
			return true;
	return false;
}

static void who_woke_whom(GString *s, const struct waker_table *t, const struct text_options *options)
{
	unsigned shown = options->top ? MIN(options->top, t->rows->len) : t->rows->len;
	uint64_t rest_ns = t->blocked_ns;

	text_section(s, options, "Who woke whom, by blocked time (delay: from the waking to the CPU)");
	g_string_append_printf(s, "%s%-*s %-*s %10s %10s %7s %10s %10s%s\n", text_dim(options), NAME_COLUMNS, "waker",
			       NAME_COLUMNS, "woken", "count", "blocked", "%", "delay p50", "p99",
			       text_plain(options));
	for (unsigned i = 0; i < shown; i++) {
		const struct waker_row *r = &g_array_index(t->rows, struct waker_row, i);

		rest_ns -= r->blocked_ns;
		append_name(s, r->waker);
		g_string_append_c(s, ' ');
		append_name(s, r->target);
		g_string_append_printf(s, " %10" PRIu64, r->count);
		append_time(s, r->blocked_ns);
		g_string_append_printf(s, " %6.1f%%", percent(r->blocked_ns, t->blocked_ns));
		if (has_delays(r)) {
			append_time(s, waker_percentile_ns(r->hist, 0.5));
			append_time(s, waker_percentile_ns(r->hist, 0.99));
		} else {
			g_string_append_printf(s, " %10s %10s", "-", "-");
		}
		g_string_append_c(s, '\n');
	}
	if (shown < t->rows->len) {
		g_string_append_printf(s, "(%u more)%*s", t->rows->len - shown, 2 * NAME_COLUMNS - 1, "");
		append_time(s, rest_ns);
		g_string_append_c(s, '\n');
	}
	if (t->asleep_ns) {
		g_string_append(s, "Besides, still asleep at the end:");
		append_time(s, t->asleep_ns);
		g_string_append_c(s, '\n');
	}
}

/* By blocked time, then index. */
static int compare_waits(gconstpointer va, gconstpointer vb, gpointer data)
{
	const struct wait *a = profile_wait(data, *(const uint32_t *)va), *b = profile_wait(data, *(const uint32_t *)vb);

	if (a->blocked_ns != b->blocked_ns)
		return a->blocked_ns < b->blocked_ns ? 1 : -1;
	return *(const uint32_t *)va < *(const uint32_t *)vb ? -1 : 1;
}

static int compare_wakes(gconstpointer va, gconstpointer vb, gpointer data)
{
	const struct wake *a = profile_wake(data, *(const uint32_t *)va), *b = profile_wake(data, *(const uint32_t *)vb);

	if (a->blocked_ns != b->blocked_ns)
		return a->blocked_ns < b->blocked_ns ? 1 : -1;
	return *(const uint32_t *)va < *(const uint32_t *)vb ? -1 : 1;
}

static void append_leaf(GString *s, const struct profile *p, uint32_t node, const struct text_options *options)
{
	g_autoptr(GString) label = g_string_new(NULL);

	if (!node)
		return;
	label_append(label, profile_get_frame(p, profile_get_node(p, node)->frame));
	g_string_append(s, "  ");
	text_safe_cut(s, label->str, text_room(options, 60));
}

/* The innermost frame that tells something: the user's, or else the kernel's. */
static uint32_t telling(uint32_t user, uint32_t kernel)
{
	return user ? user : kernel;
}

#define WAKERS_A_WAIT 3

static void one_wait(GString *s, const struct profile *p, struct wakes_by_wait *by, uint32_t i,
		     const struct text_options *options)
{
	const struct wait *w = profile_wait(p, i);
	const struct thread *t = profile_thread(p, w->thread);
	uint32_t cnt = by->first[i + 1] - by->first[i];
	struct wake rest;

	g_string_append(s, text_bold(options));
	text_safe_cut(s, t->comm, NAME_COLUMNS);
	g_string_append_printf(s, "%s-%u/%u  %c", text_plain(options), t->pid, t->tid, w->state);
	append_time(s, w->blocked_ns);
	g_string_append_printf(s, " in %" PRIu64, w->count);
	append_leaf(s, p, telling(w->user, w->kernel), options);
	g_string_append_c(s, '\n');
	g_qsort_with_data(&by->order[by->first[i]], (int)cnt, sizeof(uint32_t), compare_wakes, (gpointer)p);
	for (uint32_t n = 0; n < MIN(cnt, WAKERS_A_WAIT); n++) {
		const struct wake *k = profile_wake(p, by->order[by->first[i] + n]);
		const struct waker *waker = profile_get_waker(p, k->waker);

		g_string_append_printf(s, "  %6.1f%%  by ", percent(k->blocked_ns, w->blocked_ns));
		text_safe_cut(s, waker_name(waker), NAME_COLUMNS);
		if (waker->tid)
			g_string_append_printf(s, "-%u/%u", waker->pid, waker->tid);
		append_leaf(s, p, telling(waker->user, waker->kernel), options);
		g_string_append_c(s, '\n');
	}
	if (cnt > WAKERS_A_WAIT)
		g_string_append_printf(s, "           and %u more wakers or places of theirs\n", cnt - WAKERS_A_WAIT);
	wakes_unknown(p, by, i, &rest);
	if (rest.blocked_ns)
		g_string_append_printf(s, "  %6.1f%%  %s\n", percent(rest.blocked_ns, w->blocked_ns),
				       w->flags & WAIT_OPEN_AT_END ? "still asleep at the end" : "by somebody unknown");
}

static void longest_waits(GString *s, const struct profile *p, const struct selection *selection,
			  const struct text_options *options)
{
	struct wakes_by_wait *by = wakes_by_wait_new(p);
	g_autoptr(GArray) waits = g_array_new(FALSE, FALSE, sizeof(uint32_t));

	for (uint32_t i = 0; i < p->waits->len; i++)
		if ((!selection || selection->waits[i]) && wait_is_sleep(profile_wait(p, i)) &&
		    (by->first[i] < by->first[i + 1] || !(profile_wait(p, i)->flags & WAIT_OPEN_AT_END)))
			g_array_append_val(waits, i);
	g_array_sort_with_data(waits, compare_waits, (gpointer)p);
	text_section(s, options, "The longest sleeps and who ended them");
	for (guint i = 0; i < waits->len && (!options->top || i < options->top); i++)
		one_wait(s, p, by, g_array_index(waits, uint32_t, i), options);
	wakes_by_wait_free(by);
}

void wakers_text(GString *s, const struct profile *p, const struct selection *selection,
		 const struct text_options *options)
{
	struct waker_table *t = waker_table_new(p, selection);

	who_woke_whom(s, t, options);
	longest_waits(s, p, selection, options);
	waker_table_free(t);
}
