/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "features/waitgraph/analysis.h"

#include <stdlib.h>
#include <string.h>

#include "analyse/plumbing.h"
#include "analyse/reason/reasons.h"
#include "base/order.h"
#include "features/waitgraph/analysis_components.h"
#include "features/wakers/analysis.h"

#define UNKNOWN UINT32_MAX

/* A wake row, or the part of a wait without known wakers. */
struct item {
	uint32_t from, to;
	uint32_t wait, wake;	/* wake: UNKNOWN for the part without known wakers */
	const char *wait_leaf, *waker_leaf;
};

struct builder {
	struct waitgraph *graph;
	const struct selection *selection;
	struct wakes_by_wait *by_wait;
	GArray *items;
	bool *threads;	/* threads whose unselected sleeps are included; NULL: none */
};

static bool is_in(const struct builder *b, uint32_t wait)
{
	const struct wait *w = profile_wait(b->graph->profile, wait);

	return wait_is_sleep(w) &&
	       (!b->selection || b->selection->waits[wait] || (b->threads && b->threads[w->thread]));
}

/* Indices of waits by thread; those of t start at first[t]. */
static uint32_t *waits_by_thread(const struct profile *p, uint32_t *first)
{
	uint32_t *waits = g_new(uint32_t, (gsize)p->waits->len + 1);

	for (uint32_t i = 0; i < p->waits->len; i++)
		first[(gsize)profile_wait(p, i)->thread + 2]++;
	for (uint32_t t = 0; t < p->threads->len; t++)
		first[(gsize)t + 2] += first[(gsize)t + 1];
	for (uint32_t i = 0; i < p->waits->len; i++)
		waits[first[(gsize)profile_wait(p, i)->thread + 1]++] = i;
	return waits;
}

static void add_kernel_wakers(struct builder *b, const uint32_t *threads, uint32_t wait, GArray *queue)
{
	const struct profile *p = b->graph->profile;

	for (uint32_t n = b->by_wait->first[wait]; n < b->by_wait->first[wait + 1]; n++) {
		uint32_t t = threads[profile_wake(p, b->by_wait->order[n])->waker];

		if (t == UNKNOWN || b->threads[t] || !(profile_thread(p, t)->flags & THREAD_KERNEL))
			continue;
		b->threads[t] = true;
		g_array_append_val(queue, t);
	}
}

/* Adds the kernel threads that selected threads waited for, and those that these waited for, and so on. */
static void follow_kernel_threads(struct builder *b)
{
	const struct profile *p = b->graph->profile;
	const uint32_t *threads = b->graph->threads_of_wakers;
	g_autofree uint32_t *first = g_new0(uint32_t, (gsize)p->threads->len + 2);
	g_autofree uint32_t *waits = waits_by_thread(p, first);
	g_autoptr(GArray) queue = g_array_new(FALSE, FALSE, sizeof(uint32_t));

	b->threads = g_new0(bool, (gsize)p->threads->len + 1);
	for (uint32_t i = 0; i < p->waits->len; i++)
		if (b->selection->waits[i])
			add_kernel_wakers(b, threads, i, queue);
	for (guint at = 0; at < queue->len; at++) {
		uint32_t t = g_array_index(queue, uint32_t, at);

		for (uint32_t i = first[t]; i < first[t + 1]; i++)
			add_kernel_wakers(b, threads, waits[i], queue);
	}
}

uint32_t waitgraph_ended_by(const struct waitgraph *g, uint32_t wait, uint32_t waker)
{
	uint32_t thread = far_ends_behind(g->far_ends, wait, waker);

	return thread != UNKNOWN ? g->actors->of_thread[thread] : g->actors->of_waker[waker];
}

static void add_wait(struct builder *b, uint32_t wait)
{
	struct waitgraph *g = b->graph;
	const struct profile *p = g->profile;
	const struct wait *w = profile_wait(p, wait);
	struct item item = {
		.from = g->actors->of_thread[w->thread], .wait = wait, .wait_leaf = plumbing_leaf(g->plumbing, w),
	};
	struct wake rest;

	for (uint32_t n = b->by_wait->first[wait]; n < b->by_wait->first[wait + 1]; n++) {
		uint32_t waker = profile_wake(p, b->by_wait->order[n])->waker;

		item.wake = b->by_wait->order[n];
		item.to = waitgraph_ended_by(g, wait, waker);
		item.waker_leaf = plumbing_waker(g->plumbing, profile_get_waker(p, waker));
		g_array_append_val(b->items, item);
	}
	wakes_unknown(p, b->by_wait, wait, &rest);
	if (w->flags & WAIT_OPEN_AT_END) {
		g->asleep_ns[item.from] += rest.blocked_ns;
		g->asleep_cnt[item.from] += rest.count;
		g->all_asleep_ns += rest.blocked_ns;
	} else if (rest.count || rest.blocked_ns || rest.runnable_ns) {
		item.wake = UNKNOWN;
		item.to = g->actors->unknown;
		item.waker_leaf = "";
		g_array_append_val(b->items, item);
	}
}

/* Equal items become one place, where the order of wakes does not matter. */
ORDER(compare_items, struct item, ORDER_LOW(from) ORDER_LOW(to) ORDER_LOW(wait_leaf) ORDER_LOW(waker_leaf))

static void item_sums(const struct builder *b, const struct item *item, struct wake *ret)
{
	if (item->wake == UNKNOWN)
		wakes_unknown(b->graph->profile, b->by_wait, item->wait, ret);
	else
		*ret = *profile_wake(b->graph->profile, item->wake);
}

static void add_to_place(struct waitgraph *g, struct wait_edge *e, const struct item *item, const struct wake *sums)
{
	struct wait_place *place = e->places_cnt ? &g_array_index(g->places, struct wait_place, g->places->len - 1)
						 : NULL;

	if (!place || place->wait != item->wait_leaf || place->waker != item->waker_leaf) {
		struct wait_place fresh = {
			.from = item->from, .to = item->to, .wait = item->wait_leaf, .waker = item->waker_leaf,
		};

		g_array_append_val(g->places, fresh);
		e->places_cnt++;
		place = &g_array_index(g->places, struct wait_place, g->places->len - 1);
	}
	place->count += sums->count;
	place->blocked_ns += sums->blocked_ns;
	place->runnable_ns += sums->runnable_ns;
}

ORDER(compare_places, struct wait_place, ORDER_HIGH(blocked_ns) ORDER_TEXT(wait) ORDER_TEXT(waker))

ORDER(compare_edges, struct wait_edge, ORDER_HIGH(blocked_ns) ORDER_LOW(from) ORDER_LOW(to))

static void make_edges(struct builder *b)
{
	struct waitgraph *g = b->graph;
	struct wait_edge *e = NULL;

	g_array_sort(b->items, compare_items);
	EACH_ROW(i, const struct item, item, b->items) {
		struct wake sums;

		item_sums(b, item, &sums);
		if (!e || e->from != item->from || e->to != item->to) {
			struct wait_edge fresh = {
				.from = item->from, .to = item->to, .places_first = g->places->len,
				.wakes_first = g->wakes->len,
			};

			g_array_append_val(g->edges, fresh);
			e = &g_array_index(g->edges, struct wait_edge, g->edges->len - 1);
		}
		e->count += sums.count;
		e->blocked_ns += sums.blocked_ns;
		e->runnable_ns += sums.runnable_ns;
		e->wakes_cnt++;
		g_array_append_val(g->wakes, item->wake);
		add_to_place(g, e, item, &sums);
	}
}

static void sum_up(struct waitgraph *g)
{
	EACH_ROW(i, const struct wait_edge, e, g->edges) {
		qsort(&g_array_index(g->places, struct wait_place, e->places_first), e->places_cnt,
		      sizeof(struct wait_place), compare_places);
		g->waited_ns[e->from] += e->blocked_ns;
		g->ended_ns[e->to] += e->blocked_ns;
		g->blocked_ns += e->blocked_ns;
		g->runnable_ns += e->runnable_ns;
		g->count += e->count;
	}
	g_array_sort(g->edges, compare_edges);
}

struct waitgraph *waitgraph_new(const struct profile *p, const struct selection *selection, enum actor_by by,
				bool and_their_wakers)
{
	struct waitgraph *g = g_new0(struct waitgraph, 1);
	struct builder b = { .graph = g, .selection = selection, .by_wait = wakes_by_wait_new(p) };

	g->profile = p;
	g->reasons = reasons_new(p, NULL);
	g->plumbing = reasons_plumbing(g->reasons);
	g->actors = actors_new(p, g->plumbing, by);
	g->threads_of_wakers = actors_threads_of_wakers(p);
	g->far_ends = far_ends_new(p, g->threads_of_wakers);
	g->edges = g_array_new(FALSE, FALSE, sizeof(struct wait_edge));
	g->places = g_array_new(FALSE, FALSE, sizeof(struct wait_place));
	g->wakes = g_array_new(FALSE, FALSE, sizeof(uint32_t));
	g->asleep_ns = g_new0(uint64_t, (gsize)g->actors->rows->len + 1);
	g->asleep_cnt = g_new0(uint64_t, (gsize)g->actors->rows->len + 1);
	g->waited_ns = g_new0(uint64_t, (gsize)g->actors->rows->len + 1);
	g->ended_ns = g_new0(uint64_t, (gsize)g->actors->rows->len + 1);
	b.items = g_array_new(FALSE, FALSE, sizeof(struct item));
	if (and_their_wakers && selection)
		follow_kernel_threads(&b);
	for (uint32_t i = 0; i < p->waits->len; i++)
		if (is_in(&b, i))
			add_wait(&b, i);
	make_edges(&b);
	sum_up(g);
	g_array_unref(b.items);
	g_free(b.threads);
	wakes_by_wait_free(b.by_wait);
	return g;
}

FREES(waitgraph_free, struct waitgraph, g, actors_free(g->actors); g_array_unref(g->edges); g_array_unref(g->places);
      g_array_unref(g->wakes); g_free(g->asleep_ns); g_free(g->asleep_cnt); g_free(g->waited_ns); g_free(g->ended_ns);
      far_ends_free(g->far_ends); g_free(g->threads_of_wakers); reasons_free(g->reasons))

bool wait_edge_delays(const struct waitgraph *g, const struct wait_edge *e, uint64_t *ret_hist)
{
	bool any = false;

	memset(ret_hist, 0, sizeof(*ret_hist) * PROFILE_HIST_SLOTS);
	for (uint32_t i = 0; i < e->wakes_cnt; i++) {
		uint32_t wake = g_array_index(g->wakes, uint32_t, e->wakes_first + i);

		for (unsigned slot = 0; wake != UNKNOWN && slot < PROFILE_HIST_SLOTS; slot++) {
			ret_hist[slot] += profile_wake(g->profile, wake)->hist[slot];
			any = any || ret_hist[slot];
		}
	}
	return any;
}

/* Blocked time of an edge without waits for work: these hold nobody up. */
static uint64_t held_ns(const struct waitgraph *g, const struct wait_edge *e)
{
	uint64_t ns = 0;

	for (uint32_t i = 0; i < e->wakes_cnt; i++) {
		uint32_t wake = g_array_index(g->wakes, uint32_t, e->wakes_first + i);

		/* an unknown waker can be on no cycle */
		if (wake == UNKNOWN)
			continue;
		const struct wake *k = profile_wake(g->profile, wake);

		if (reasons_idle(g->reasons, k->wait) == IDLE_NOT)
			ns += k->blocked_ns;
	}
	return ns;
}

GPtrArray *waitgraph_knots(const struct waitgraph *g)
{
	g_autofree struct digraph_edge *edges = g_new(struct digraph_edge, (gsize)g->edges->len + 1);
	uint32_t cnt = 0;

	EACH_ROW(i, const struct wait_edge, e, g->edges) {
		const struct digraph_edge edge = { e->from, e->to, held_ns(g, e) };

		if (edge.weight)
			edges[cnt++] = edge;
	}
	return knots_find(g->actors->rows->len, edges, cnt);
}
