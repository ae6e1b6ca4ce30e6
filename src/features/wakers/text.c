/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "features/wakers/text.h"

#include <string.h>

#include "base/order.h"
#include "explain/text.h"
#include "features/waitgraph/analysis_components.h"
#include "features/wakers/analysis.h"

#define NAME_LEAST 8
#define NUMBER_COLUMNS 47	/* of the table of wakers, before the two names */
#define WAKERS_SHOWN 4		/* per sleep */
#define OTHERS_NAMED 4		/* per cycle */

static void count_cell(GString *s, uint64_t cnt, unsigned width)
{
	g_autoptr(GString) cell = g_string_new(NULL);

	text_thousands(cell, cnt);
	text_right(s, cell->str, width);
}

unsigned actor_text(GString *s, const struct actor *a, unsigned width)
{
	g_autofree char *cnt = a->threads_cnt > 1 ? g_strdup_printf(" (%u)", a->threads_cnt) : g_strdup("");
	unsigned room = width > strlen(cnt) + NAME_LEAST ? width - (unsigned)strlen(cnt) : width;
	unsigned used = text_safe_cut(s, a->name, room);

	if (!width || used + strlen(cnt) <= width) {
		g_string_append(s, cnt);
		used += (unsigned)strlen(cnt);
	}
	return used;
}

static void edge_line(GString *s, const struct waitgraph *g, const struct wait_edge *e, const struct text_options *o)
{
	uint64_t hist[PROFILE_HIST_SLOTS];
	unsigned room = text_room(o, NUMBER_COLUMNS + 5), used;
	g_autoptr(GString) woken = g_string_new(NULL);

	count_cell(s, e->count, 10);
	text_duration_cell(s, e->blocked_ns, 10);
	g_string_append_printf(s, " %5.1f%%", text_percent(e->blocked_ns, g->blocked_ns));
	if (wait_edge_delays(g, e, hist)) {
		text_duration_cell(s, waker_percentile_ns(hist, 0.5), 9);
		text_duration_cell(s, waker_percentile_ns(hist, 0.99), 9);
	} else {
		g_string_append_printf(s, "%9s%9s", "-", "-");
	}
	g_string_append(s, "  ");
	used = NUMBER_COLUMNS + actor_text(s, actors_get(g->actors, e->to), room);
	used += 6 + actor_text(woken, actors_get(g->actors, e->from), room);
	if (o->width && used > o->width)
		g_string_append_printf(s, "\n%*swoke ", NUMBER_COLUMNS, "");
	else
		g_string_append(s, " woke ");
	g_string_append(s, woken->str);
	g_string_append_c(s, '\n');
}

static void who_woke_whom(GString *s, const struct waitgraph *g, const struct text_options *o)
{
	unsigned all = g->edges->len, shown = o->top ? MIN(o->top, all) : all;
	uint64_t rest_ns = g->blocked_ns, rest_cnt = g->count;
	g_autoptr(GString) time = g_string_new(NULL);

	text_duration(time, g->blocked_ns);
	text_section(s, o, "Who woke whom, of %s asleep (p50, p99: delay from the waking to the CPU)", time->str);
	g_string_append_printf(s, "%s%10s%10s %6s%9s%9s  waker woke whom%s\n", text_dim(o), "count", "asleep", "%",
			       "p50", "p99", text_plain(o));
	for (unsigned i = 0; i < shown; i++) {
		const struct wait_edge *e = waitgraph_edge(g, i);

		rest_ns -= e->blocked_ns;
		rest_cnt -= e->count;
		edge_line(s, g, e, o);
	}
	if (shown < all) {
		count_cell(s, rest_cnt, 10);
		text_duration_cell(s, rest_ns, 10);
		g_string_append_printf(s, " %5.1f%%%18s  (%u more)\n", text_percent(rest_ns, g->blocked_ns), "",
				       all - shown);
	}
	if (!all)
		g_string_append(s, "  no sleep to show\n");
}

static bool has_unknown(const struct waitgraph *g)
{
	return g->ended_ns[g->actors->unknown] > 0;
}

void unknown_wakers_text(GString *s, const struct profile *p, const struct text_options *o, unsigned indent)
{
	static const char *const reasons[] = { "waker", "waker_sampled", "missed_wakeup", "storage", "hidden_thread" };

	EACH_ROW(i, const struct profile_loss, l, p->losses) {
		bool ours = false;

		for (unsigned k = 0; k < G_N_ELEMENTS(reasons); k++)
			ours = ours || strcmp(l->reason, reasons[k]) == 0;
		if (!ours || !l->count)
			continue;
		g_string_append_printf(s, "%*s%s", (int)indent, "", text_dim(o));
		text_safe(s, l->reason);
		g_string_append_printf(s, ", %s%s", TEXT_COUNT(l->count), l->count == 1 ? " time: " : " times: ");
		text_safe(s, l->help);
		g_string_append_printf(s, "%s\n", text_plain(o));
	}
}

/* Notes about what the table cannot show. */
static void table_notes(GString *s, const struct waitgraph *g, const struct text_options *o)
{
	if (g->all_asleep_ns)
		g_string_append_printf(s, "Still asleep when the window ended, so woken by nobody yet: %s.\n",
				       TEXT_NS(g->all_asleep_ns));
	g_string_append(s, "Delays are from histograms in powers of two, taken as even within each.\n");
	if (has_unknown(g)) {
		g_autoptr(GString) losses = g_string_new(NULL);

		unknown_wakers_text(losses, g->profile, o, 2);
		g_string_append(s, "Wakers that could not be recorded are unknown.");
		if (losses->len)
			g_string_append_printf(s, " Lost in the whole recording:\n%s", losses->str);
		else
			g_string_append_c(s, '\n');
	}
}

static void append_cycle(GString *s, const struct waitgraph *g, const struct knot *k, const struct text_options *o)
{
	unsigned used = 9, limit = o->width ? o->width : 120;

	g_string_append(s, "     ");
	for (guint i = 0; i <= k->cycle->len; i++) {
		const struct actor *a = actors_get(g->actors, g_array_index(k->cycle, uint32_t, i % k->cycle->len));
		g_autoptr(GString) name = g_string_new(NULL);
		unsigned columns = actor_text(name, a, 0);

		if (i && used + columns + 4 > limit) {
			g_string_append(s, "\n        ");
			used = 8;
		}
		if (i) {
			g_string_append(s, " -> ");
			used += 4;
		}
		g_string_append(s, name->str);
		used += columns;
	}
	g_string_append_c(s, '\n');
}

/* The other members of a group beside its heaviest cycle. */
static void append_others(GString *s, const struct waitgraph *g, const struct knot *k, const struct text_options *o)
{
	unsigned named = 0, others = k->nodes->len - k->cycle->len;

	if (!others)
		return;
	g_string_append(s, "     with");
	for (guint i = 0; i < k->nodes->len && named < OTHERS_NAMED; i++) {
		uint32_t node = g_array_index(k->nodes, uint32_t, i);
		bool in_cycle = false;

		for (guint n = 0; n < k->cycle->len; n++)
			in_cycle = in_cycle || g_array_index(k->cycle, uint32_t, n) == node;
		if (in_cycle)
			continue;
		g_string_append(s, named++ ? ",\n          " : " ");
		actor_text(s, actors_get(g->actors, node), text_room(o, 10));
	}
	if (others > named)
		g_string_append_printf(s, " and %u more", others - named);
	g_string_append_c(s, '\n');
}

static void knot_lines(GString *s, const struct waitgraph *g, const struct knot *k, unsigned number,
		       const struct text_options *o)
{
	g_string_append_printf(s, "%s%3u. %s  %.1f%%  ", text_bold(o), number, TEXT_NS(k->held),
			       text_percent(k->held, g->blocked_ns));
	if (k->nodes->len == 1)
		g_string_append(s, "threads of one kind wait for each other");
	else
		g_string_append_printf(s, "%u wait for each other", k->nodes->len);
	if (!k->outside) {
		g_string_append(s, ", and for nobody else");
	} else {
		g_string_append_printf(s, "; for others %s", TEXT_NS(k->outside));
	}
	g_string_append(s, text_plain(o));
	if (k->nodes->len > 1)
		g_string_append_printf(s, "\n     tightest, each for the next at least %s:", TEXT_NS(k->cycle_weight));
	g_string_append_c(s, '\n');
	append_cycle(s, g, k, o);
	append_others(s, g, k, o);
}

static void knots_section(GString *s, const struct waitgraph *g, const struct text_options *o)
{
	g_autoptr(GPtrArray) knots = waitgraph_knots(g);
	unsigned shown = o->top ? MIN(o->top, knots->len) : knots->len;

	/* heaviest first; negligible cycles are not shown */
	while (o->top && shown &&
	       ((const struct knot *)g_ptr_array_index(knots, shown - 1))->held < g->blocked_ns / 100)
		shown--;
	if (!shown)
		return;
	text_section(s, o, "Knots: who waits for each other in a circle, by the time for which that holds (a -> b: a waits for b)");
	for (unsigned i = 0; i < shown; i++)
		knot_lines(s, g, g_ptr_array_index(knots, i), i + 1, o);
	if (shown < knots->len)
		g_string_append_printf(s, "     (%u more)\n", knots->len - shown);
}

/* One way in which an actor sleeps. */
struct sleep {
	uint32_t from;
	const char *wait;
	uint64_t count, blocked_ns;
	uint32_t first, cnt;	/* in the sorted places */
};

ORDER(compare_places, struct wait_place,
      ORDER_LOW(from) ORDER_TEXT(wait) ORDER_HIGH(blocked_ns) ORDER_LOW(to) ORDER_TEXT(waker))

ORDER(compare_sleeps, struct sleep, ORDER_HIGH(blocked_ns) ORDER_LOW(first))

static GArray *sleeps_of(const GArray *places)
{
	GArray *sleeps = g_array_new(FALSE, FALSE, sizeof(struct sleep));
	struct sleep *last = NULL;

	EACH_ROW(i, const struct wait_place, p, places) {
		if (!last || last->from != p->from || last->wait != p->wait) {
			struct sleep sleep = { .from = p->from, .wait = p->wait, .first = i };

			g_array_append_val(sleeps, sleep);
			last = &g_array_index(sleeps, struct sleep, sleeps->len - 1);
		}
		last->cnt++;
		last->count += p->count;
		last->blocked_ns += p->blocked_ns;
	}
	g_array_sort(sleeps, compare_sleeps);
	return sleeps;
}

/* "70.1%  mariadbd:do_command (8)  unix_stream_sendmsg (send <- vio_write)", on two lines if it is too long. */
static void waker_line(GString *s, const struct waitgraph *g, const struct wait_place *p, uint64_t whole_ns,
		       const struct text_options *o)
{
	unsigned used = 14, room = text_room(o, 16);

	g_string_append_printf(s, "     %6.1f%%  ", text_percent(p->blocked_ns, whole_ns));
	used += actor_text(s, actors_get(g->actors, p->to), text_room(o, 14));
	if (*p->waker) {
		g_autoptr(GString) place = g_string_new(NULL);

		text_safe_cut(place, p->waker, room);
		if (o->width && used + 2 + text_width(place->str) > o->width)
			g_string_append_printf(s, "\n%16s", "");
		else
			g_string_append(s, "  ");
		g_string_append(s, place->str);
	}
	g_string_append_c(s, '\n');
}

static void sleep_lines(GString *s, const struct waitgraph *g, const struct sleep *sleep, const GArray *places,
			unsigned number, const struct text_options *o)
{
	uint32_t shown = sleep->cnt > WAKERS_SHOWN + 1 ? WAKERS_SHOWN : sleep->cnt;
	uint64_t rest_ns = sleep->blocked_ns;

	g_string_append_printf(s, "%s%3u. %s  %.1f%%  ", text_bold(o), number, TEXT_NS(sleep->blocked_ns),
			       text_percent(sleep->blocked_ns, g->blocked_ns));
	actor_text(s, actors_get(g->actors, sleep->from), text_room(o, 44));
	g_string_append_printf(s, "%s, %s%s", text_plain(o), TEXT_COUNT(sleep->count),
			       sleep->count == 1 ? " time, in\n     " : " times, in\n     ");
	text_safe_cut(s, sleep->wait, text_room(o, 5));
	g_string_append_c(s, '\n');
	for (uint32_t i = 0; i < shown; i++) {
		const struct wait_place *p = &g_array_index(places, struct wait_place, sleep->first + i);

		rest_ns -= p->blocked_ns;
		waker_line(s, g, p, sleep->blocked_ns, o);
	}
	if (shown < sleep->cnt)
		g_string_append_printf(s, "     %6.1f%%  (%u more)\n", text_percent(rest_ns, sleep->blocked_ns),
				       sleep->cnt - shown);
}

static void longest_sleeps(GString *s, const struct waitgraph *g, const struct text_options *o)
{
	g_autoptr(GArray) places = g_array_new(FALSE, FALSE, sizeof(struct wait_place));

	if (!g->places->len)
		return;
	g_array_append_vals(places, g->places->data, g->places->len);
	g_array_sort(places, compare_places);
	g_autoptr(GArray) sleeps = sleeps_of(places);
	unsigned shown = o->top ? MIN(o->top, sleeps->len) : sleeps->len;

	text_section(s, o, "The longest sleeps, and who ended them doing what");
	for (unsigned i = 0; i < shown; i++)
		sleep_lines(s, g, &g_array_index(sleeps, struct sleep, i), places, i + 1, o);
	if (shown < sleeps->len)
		g_string_append_printf(s, "     (%u more)\n", sleeps->len - shown);
}

void wakers_text(GString *s, const struct waitgraph *g, const struct text_options *options)
{
	who_woke_whom(s, g, options);
	table_notes(s, g, options);
	knots_section(s, g, options);
	longest_sleeps(s, g, options);
}
