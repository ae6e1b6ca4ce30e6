/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "features/critical/analysis.h"

#include "analyse/plumbing.h"
#include "base/hash.h"
#include "base/order.h"
#include "features/wakers/analysis.h"
#include "features/wakers/analysis_chains.h"

#define NONE UINT32_MAX

/*
 * Builds the tree from wakes and stories in any order, merging equal nodes.  Its depth is bounded by
 * PROFILE_CHAIN_MAX. Then it is written in preorder.
 */
struct node {
	/* the key: what the node is */
	uint32_t parent;	/* index; NONE: top level */
	uint32_t actor;
	enum critical_kind kind;
	enum chain_end end;
	const char *wait, *waker;	/* from the plumbing, interned */
	/* sums */
	uint64_t ns, count;
};

struct tree {
	struct critical *c;
	GArray *nodes;
	GHashTable *index;	/* struct node (its key) -> index */
	struct wakes_by_wait *by_wait;
	struct stories_by_wake *by_wake;
};

HASH_KEY(node, struct node, parent, actor, kind, end, wait, waker)

/* Adds to the node with that key; returns its index. */
static uint32_t add_node(struct tree *t, const struct node *key, uint64_t ns, uint64_t count)
{
	gpointer at;

	if (!g_hash_table_lookup_extended(t->index, key, NULL, &at)) {
		at = GUINT_TO_POINTER(t->nodes->len);
		g_array_append_vals(t->nodes, key, 1);
		g_hash_table_insert(t->index, g_memdup2(key, sizeof(*key)), at);
	}
	struct node *n = &g_array_index(t->nodes, struct node, GPOINTER_TO_UINT(at));

	n->ns += ns;
	n->count += count;
	return GPOINTER_TO_UINT(at);
}

static void add_time(struct tree *t, uint32_t parent, uint32_t actor, enum critical_kind kind, uint64_t ns)
{
	const struct node key = { .parent = parent, .actor = actor, .kind = kind };

	if (ns)
		add_node(t, &key, ns, 0);
}

/* The story's time from that step of its chain on. */
static uint64_t time_from(const struct story *s, unsigned step)
{
	uint64_t ns = s->rest_ns;

	for (unsigned i = step; i < PROFILE_CHAIN_MAX; i++)
		ns += s->hop[i].ran_ns + s->hop[i].runnable_ns + s->hop[i].earlier_ns;
	return ns;
}

static void add_story(struct tree *t, uint32_t place, const struct story *s)
{
	const struct waitgraph *g = t->c->graph;
	uint32_t at = place, actor = g_array_index(t->nodes, struct node, place).actor;
	const struct chain_node *link = profile_get_chain(g->profile, s->chain);

	for (unsigned step = 0; step < PROFILE_CHAIN_MAX; step++) {
		uint64_t below_ns;

		add_time(t, at, actor, CRITICAL_RAN, s->hop[step].ran_ns);
		add_time(t, at, actor, CRITICAL_READY, s->hop[step].runnable_ns);
		add_time(t, at, actor, CRITICAL_EARLIER, s->hop[step].earlier_ns);
		below_ns = time_from(s, step + 1);
		if (!below_ns)
			return;
		if (!link->next) {
			const struct node key = {
				.parent = at, .actor = actor, .kind = CRITICAL_REST, .end = link->end
			};

			add_node(t, &key, below_ns, 0);
			return;
		}
		link = profile_get_chain(g->profile, link->next - 1);
		actor = g->actors->of_waker[link->waker];
		const struct node key = { .parent = at, .actor = actor, .kind = CRITICAL_FOR };

		at = add_node(t, &key, below_ns, s->count);
		/* an interrupt has no earlier activity */
		if (actors_get(g->actors, actor)->kind == ACTOR_INTERRUPT)
			return;
	}
}

/* Adds the sleeps of a wait that one waker ended; wake NONE: an unknown waker. */
static void add_sleeps(struct tree *t, uint32_t wait, uint32_t wake, const struct wake *k)
{
	const struct waitgraph *g = t->c->graph;
	const struct wait *w = profile_wait(g->profile, wait);
	uint32_t actor = wake == NONE ? g->actors->unknown : waitgraph_ended_by(g, wait, k->waker);
	bool has_story = wake != NONE && actors_get(g->actors, g->actors->of_waker[k->waker])->kind == ACTOR_THREADS;
	struct node key = { .parent = NONE, .actor = actor, .kind = CRITICAL_FOR };
	uint64_t untold_ns = k->blocked_ns;

	if (!k->count && !k->blocked_ns)
		return;
	key.parent = add_node(t, &key, k->blocked_ns, k->count);
	key.kind = CRITICAL_PLACE;
	key.wait = plumbing_leaf(g->plumbing, w);
	key.waker = wake == NONE ? "" : plumbing_waker(g->plumbing, profile_get_waker(g->profile, k->waker));
	uint32_t place = add_node(t, &key, k->blocked_ns, k->count);
	if (!t->c->has_chains || actors_get(g->actors, actor)->kind != ACTOR_THREADS)
		return;
	for (uint32_t i = t->by_wake->first[wake]; has_story && i < t->by_wake->first[wake + 1]; i++) {
		const struct story *s = profile_story(g->profile, t->by_wake->order[i]);

		untold_ns -= s->blocked_ns;
		add_story(t, place, s);
	}
	add_time(t, place, actor, CRITICAL_UNTOLD, untold_ns);
}

static void add_all_sleeps(struct tree *t)
{
	const struct profile *p = t->c->graph->profile;

	EACH_ROW(i, const struct wait, w, p->waits) {
		struct wake rest;

		if (!t->c->selection->waits[i] || !wait_is_sleep(w))
			continue;
		for (uint32_t n = t->by_wait->first[i]; n < t->by_wait->first[i + 1]; n++)
			add_sleeps(t, i, t->by_wait->order[n], profile_wake(p, t->by_wait->order[n]));
		wakes_unknown(p, t->by_wait, i, &rest);
		if (!(w->flags & WAIT_OPEN_AT_END))
			add_sleeps(t, i, NONE, &rest);
	}
}

/* Siblings by kind, then longest first. */
static int compare_nodes(gconstpointer va, gconstpointer vb, gpointer data)
{
	const GArray *nodes = data;
	const struct node *a = &g_array_index(nodes, struct node, *(const uint32_t *)va);
	const struct node *b = &g_array_index(nodes, struct node, *(const uint32_t *)vb);

	ORDER_LOW(parent)
	ORDER_LOW(kind)
	ORDER_HIGH(ns)
	ORDER_LOW(actor)
	ORDER_LOW(end)
	ORDER_TEXT(wait)
	return g_strcmp0(a->waker, b->waker);
}

static uint32_t append_part(struct critical *c, const struct node *n, uint32_t parent)
{
	struct critical_part part = {
		.parent = parent,
		.kind = n->kind,
		.end = n->end,
		.actor = n->actor,
		.wait = n->wait,
		.waker = n->waker,
		.count = n->count,
		.ns = (int64_t)n->ns,
	};

	g_array_append_val(c->parts, part);
	return c->parts->len - 1;
}

/* Writes nodes in preorder, using a stack of nodes still to be written. */
static void write_out(struct tree *t, uint32_t waiting)
{
	uint32_t cnt = t->nodes->len, top = 0;
	g_autofree uint32_t *order = g_new(uint32_t, (gsize)cnt + 1), *left = g_new(uint32_t, (gsize)cnt + 1);
	g_autofree uint32_t *first = g_new0(uint32_t, (gsize)cnt + 2), *part = g_new(uint32_t, (gsize)cnt + 1);

	for (uint32_t i = 0; i < cnt; i++) {
		uint32_t parent = g_array_index(t->nodes, struct node, i).parent;

		order[i] = i;
		if (parent != NONE)
			first[parent + 1]++;
	}
	g_qsort_with_data(order, (gint)cnt, sizeof(*order), compare_nodes, t->nodes);
	for (uint32_t i = 0; i < cnt; i++)
		first[i + 1] += first[i];
	/* nodes at the top level sort last, since their parent is NONE */
	for (uint32_t i = cnt; i-- > first[cnt];)
		left[top++] = order[i];
	while (top) {
		uint32_t i = left[--top];
		const struct node *n = &g_array_index(t->nodes, struct node, i);

		part[i] = append_part(t->c, n, n->parent == NONE ? waiting : part[n->parent]);
		for (uint32_t k = first[i + 1]; k-- > first[i];)
			left[top++] = order[k];
	}
}

void critical_append_waiting(struct critical *c, uint32_t waiting)
{
	struct tree t = { .c = c, .by_wait = wakes_by_wait_new(c->graph->profile) };

	t.nodes = g_array_new(FALSE, FALSE, sizeof(struct node));
	t.index = g_hash_table_new_full(node_hash, node_equal, g_free, NULL);
	t.by_wake = stories_by_wake_new(c->graph->profile);
	add_all_sleeps(&t);
	write_out(&t, waiting);
	g_array_unref(t.nodes);
	g_hash_table_unref(t.index);
	stories_by_wake_free(t.by_wake);
	wakes_by_wait_free(t.by_wait);
}

/* Whether the part's time is its actor's and not that of child parts. */
static bool is_own_time(const struct critical *c, uint32_t i)
{
	const struct critical_part *part = critical_get(c, i);
	bool is_leaf = i + 1 >= c->parts->len || critical_get(c, i + 1)->parent != i;

	return is_leaf && part->actor != NONE;
}

ORDER(compare_shares, struct critical_share, ORDER_HIGH(ns) ORDER_LOW(actor))

void critical_sum_shares(struct critical *c)
{
	guint actors_cnt = c->graph->actors->rows->len;
	g_autofree struct critical_share *shares = g_new0(struct critical_share, (gsize)actors_cnt + 1);

	for (guint i = 0; c->has_chains && i < c->parts->len; i++) {
		const struct critical_part *part = critical_get(c, i);

		if (!is_own_time(c, i))
			continue;
		struct critical_share *share = &shares[part->actor];
		uint64_t ns = (uint64_t)part->ns;

		share->ns += ns;
		if (part->kind == CRITICAL_RAN)
			share->ran_ns += ns;
		else if (part->kind == CRITICAL_READY)
			share->ready_ns += ns;
		else if (part->kind == CRITICAL_EARLIER)
			share->earlier_ns += ns;
		else
			share->rest_ns += ns;
	}
	for (guint i = 0; i < actors_cnt; i++) {
		shares[i].actor = i;
		if (shares[i].ns)
			g_array_append_val(c->shares, shares[i]);
	}
	g_array_sort(c->shares, compare_shares);
}
