/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "analyse/label.h"
#include "analyse/locks.h"
#include "base/each.h"
#include "base/find.h"
#include "base/order.h"
#include "explain/text.h"
#include "features/wakers/analysis.h"
#include "tui/view.h"

#include <string.h>

static void add_frames(const struct view *v, GPtrArray *lines, uint32_t node, const char *what)
{
	const struct profile *p = v->shown->profile;

	if (!node)
		return;
	view_add_line(v, lines, what);
	for (; node; node = profile_get_node(p, node)->parent) {
		const struct frame *f = profile_get_frame(p, profile_get_node(p, node)->frame);
		g_autoptr(GString) label = g_string_new(NULL), line = g_string_new("    ");

		label_append(label, f);
		label_append_line(label, f);
		text_safe(line, label->str);
		if (f->module) {
			g_string_append_c(line, STYLE_DIM);
			g_string_append(line, "  ");
			text_safe(line, f->module);
			g_string_append_c(line, STYLE_PLAIN);
		}
		view_add_line(v, lines, line->str);
	}
}

static void append_time(GString *line, const char *before, uint64_t ns)
{
	g_string_append_printf(line, "%s%s", before, TEXT_NS(ns));
}

static void add_numbers(const struct view *v, GPtrArray *lines, const struct activity_row *r)
{
	g_autoptr(GString) line = g_string_new(NULL);
	uint64_t median_ns = activity_percentile_ns(r, 0.5);

	append_time(line, "  blocked ", r->blocked_ns);
	append_time(line, ", idle ", r->idle_ns);
	append_time(line, ", in the run queue ", activity_queue_ns(r));
	view_add_line(v, lines, line->str);
	g_string_printf(line, "  %" G_GUINT64_FORMAT " waits of %u thread%s", r->waits, r->threads_cnt,
			r->threads_cnt == 1 ? "" : "s");
	if (median_ns) {
		append_time(line, ", median ", median_ns);
		append_time(line, ", p99 ", activity_percentile_ns(r, 0.99));
	}
	view_add_line(v, lines, line->str);
}

static void add_what(const struct view *v, GPtrArray *lines, const struct wait *w, uint32_t i)
{
	const struct profile *p = v->shown->profile;
	const struct object *o = profile_wait_object(p, w);
	g_autoptr(GString) line = g_string_new("  ");

	text_safe(line, profile_thread(p, w->thread)->process);
	g_string_append_printf(line, ": %s", reason_text(reasons_of(v->shown->reasons, i)));
	if (o) {
		g_autoptr(GString) label = g_string_new(NULL);

		object_append_short(label, o);
		g_string_append(line, ", ");
		text_safe(line, label->str);
	}
	view_add_line(v, lines, line->str);
	g_string_printf(line, "  it %s", reasons_says(v->shown->reasons, i));
	view_add_line(v, lines, line->str);
}

struct woken_by {
	uint32_t waker;
	uint64_t count, blocked_ns;
};

ORDER(compare_woken, struct woken_by, ORDER_HIGH(blocked_ns) ORDER_HIGH(count))

ORDER(compare_who, struct woken_by, ORDER_LOW(waker))

static void fold_wakers(GArray *all)
{
	guint cnt = 0;

	g_array_sort(all, compare_who);
	EACH_ROW(i, const struct woken_by, one, all) {
		struct woken_by *last = cnt ? &g_array_index(all, struct woken_by, cnt - 1) : NULL;

		if (last && last->waker == one->waker) {
			last->count += one->count;
			last->blocked_ns += one->blocked_ns;
		} else {
			g_array_index(all, struct woken_by, cnt++) = *one;
		}
	}
	g_array_set_size(all, cnt);
}

/* Several threads may have the same stack. */
static bool has_same_stack(const struct profile *p, const struct wait *a, const struct wait *b)
{
	return a->user == b->user && a->kernel == b->kernel && a->state == b->state && a->object == b->object &&
	       profile_thread(p, a->thread)->process == profile_thread(p, b->thread)->process;
}

/* The wakers of the selected stack, most time first. NULL: there is no such stack. */
static GArray *wakers_of(const struct view *v)
{
	const struct activity_row *r = view_row_at(v, v->selected);
	GArray *all;

	if (!r || !r->wait)
		return NULL;
	const struct profile *p = v->shown->profile;
	const struct wait *w = profile_wait(p, r->wait - 1);

	all = g_array_new(FALSE, FALSE, sizeof(struct woken_by));
	EACH_ROW(i, const struct wake, k, p->wakes) {
		const struct woken_by one = { k->waker, k->count, k->blocked_ns };

		if (has_same_stack(p, w, profile_wait(p, k->wait)))
			g_array_append_val(all, one);
	}
	fold_wakers(all);
	g_array_sort(all, compare_woken);
	return all;
}

const struct waker *view_main_waker(const struct view *v)
{
	g_autoptr(GArray) all = wakers_of(v);

	return all && all->len ? profile_get_waker(v->shown->profile, g_array_index(all, struct woken_by, 0).waker)
			       : NULL;
}

#define WAKERS_MAX 3

static void add_wakers(const struct view *v, GPtrArray *lines)
{
	g_autoptr(GArray) all = wakers_of(v);
	const struct profile *p = v->shown->profile;

	EACH_ROW_WHILE(i, const struct woken_by, one, all, i < WAKERS_MAX) {
		const struct waker *waker = profile_get_waker(p, one->waker);
		g_autoptr(GString) line = g_string_new("  woken by ");

		text_safe(line, waker_name(waker));
		if (!waker->irq)
			g_string_append_printf(line, " (%u)", waker->tid);
		append_time(line, ": ", one->blocked_ns);
		g_string_append_printf(line, ", %" G_GUINT64_FORMAT " time%s%s", one->count, one->count == 1 ? "" : "s",
				       i || waker->irq ? "" : "; W shows what it waits for");
		view_add_line(v, lines, line->str);
		if (!i)
			add_frames(v, lines, waker->user, "  where it did so:");
	}
}

void view_paint_detail(const struct view *v, GPtrArray *lines)
{
	const struct activity_row *r = view_row_at(v, v->selected);
	g_autoptr(GString) line = g_string_new(NULL);

	if (!r || !r->wait || memcmp(&r->key, &v->selected_key, sizeof(r->key)) != 0) {
		view_add_line(v, lines, "  this stack did not wait in the interval");
		return;
	}
	const struct wait *w = profile_wait(v->shown->profile, r->wait - 1);

	g_string_append_c(line, STYLE_BOLD);
	text_safe(line, r->name);
	g_string_append_c(line, STYLE_PLAIN);
	view_add_line(v, lines, line->str);
	add_what(v, lines, w, r->wait - 1);
	add_numbers(v, lines, r);
	add_frames(v, lines, w->kernel, "  kernel:");
	add_frames(v, lines, w->user, "  user:");
	add_wakers(v, lines);
}

void view_paint_help(const struct view *v, GPtrArray *lines)
{
	const char *const sheet[] = {
		"offcpu top: where threads spend the time they are not running",
		"",
		" 1 2 3 4 5 6  processes, threads, reasons, objects, stacks, routes   Tab v  next",
		" Enter        stacks of the row, then the stack in full      Esc    back",
		" up down j k  move    PgUp PgDn b f  page    g G Home End    first, last",
		" < > F6       sort by another column    I  the other way",
		" P T N        sort by on-CPU, off-CPU, PID",
		" / F3         search    n p  next, previous    \\ & F4  only rows with a text",
		" space        freeze, and go on    F  follow the row    K  kernel threads",
		" i            rows that did nothing    d  baseline: differences to now",
		" a            all since the start, or the last interval alone",
		" W            of a stack: the stacks of who woke it (with --wakers)",
		" w            write a recording of what is shown    ^L  draw anew",
		" ? h F1       this sheet    q F10  quit",
		"",
		" CPU BLOCK QUEUE  thread time in percent of the interval: 200 is two threads",
		"   blocked without idle waits; queue: runnable or preempted, waits for a CPU",
		" WAITS/S  waits that began; MEDIAN P99 of what lies in the interval, not idle",
		" WAITS FOR  the reason that took most of its time, and the longest wait of it",
		v->has_utf8 ? " TIME     on CPU █ (green), blocked ▓ (red), queue ▒ (yellow), idle ░ (blue)"
			    : " TIME     on CPU # (green), blocked = (red), queue + (yellow), idle . (blue)",
		" sw/s  switches a second; tracer  its cost, of all CPUs; lost  details lost",
		" any key goes back",
	};

	for (gsize i = 0; i < G_N_ELEMENTS(sheet); i++)
		g_ptr_array_add(lines, g_strdup(sheet[i]));
}

/* At most `most` lines: the last one is cut. */
static void add_wrapped(const struct view *v, GPtrArray *lines, const char *text, enum view_style style, guint *most)
{
	g_auto(GStrv) words = g_strsplit(text, " ", -1);
	g_autoptr(GString) line = g_string_new(NULL);
	unsigned wide = 0;

	for (char **word = words; *word && *most; word++) {
		unsigned columns = text_width(*word);

		if (wide && wide + 1 + columns > v->columns) {
			view_add_line(v, lines, line->str);
			(*most)--;
			g_string_assign(line, "  ");
			g_string_append_c(line, (char)style);
			wide = 2;
		} else if (wide) {
			g_string_append_c(line, ' ');
			wide++;
		} else {
			g_string_append_c(line, (char)style);
		}
		g_string_append(line, *word);
		wide += columns;
	}
	if (!*most)
		return;
	g_string_append_c(line, STYLE_PLAIN);
	view_add_line(v, lines, line->str);
	(*most)--;
}

void view_paint_headlines(const struct view *v, GPtrArray *lines, guint most)
{
	const struct explanation *e = v->shown->explanation;

	g_ptr_array_add(lines, g_strdup(""));
	most--;
	if (e->little)
		add_wrapped(v, lines, e->little, STYLE_PLAIN, &most);
	EACH_ROW_WHILE(i, const struct headline, h, e->headlines, most) {
		add_wrapped(v, lines, h->sentence, STYLE_BOLD, &most);
		add_wrapped(v, lines, h->evidence, STYLE_DIM, &most);
	}
}
