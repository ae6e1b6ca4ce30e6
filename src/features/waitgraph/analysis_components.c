/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "features/waitgraph/analysis_components.h"

#include <stdlib.h>

#include "base/each.h"
#include "base/order.h"

#define NONE UINT32_MAX

/* Edges by source: those of node n are first[n] to first[n + 1] - 1. */
struct adjacency {
	uint32_t *first;
	uint32_t *to;
};

static struct adjacency adjacency_of(uint32_t nodes_cnt, const struct digraph_edge *edges, uint32_t edges_cnt,
				     uint64_t min_weight)
{
	struct adjacency a = {
		.first = g_new0(uint32_t, (gsize)nodes_cnt + 2), .to = g_new(uint32_t, (gsize)edges_cnt + 1),
	};

	/* counted two entries ahead, so that filling moves first[n + 1] into place */
	for (uint32_t i = 0; i < edges_cnt; i++)
		if (edges[i].weight >= min_weight)
			a.first[(gsize)edges[i].from + 2]++;
	for (uint32_t n = 0; n < nodes_cnt; n++)
		a.first[(gsize)n + 2] += a.first[(gsize)n + 1];
	for (uint32_t i = 0; i < edges_cnt; i++)
		if (edges[i].weight >= min_weight)
			a.to[a.first[(gsize)edges[i].from + 1]++] = edges[i].to;
	return a;
}

static void adjacency_clear(struct adjacency *a)
{
	g_free(a->first);
	g_free(a->to);
}

/* Tarjan's algorithm with an explicit stack. */
struct tarjan {
	const struct adjacency *graph;
	uint32_t *order;	/* order of discovery, from 1 on; 0: undiscovered */
	uint32_t *low;		/* lowest order reachable */
	uint32_t *next;		/* next edge to visit */
	uint32_t *calls, calls_cnt;
	uint32_t *open, open_cnt;	/* discovered, but in no component yet */
	uint32_t *component;
	uint32_t met_cnt, components_cnt;
};

static void enter_node(struct tarjan *t, uint32_t node)
{
	t->order[node] = t->low[node] = ++t->met_cnt;
	t->next[node] = t->graph->first[node];
	t->open[t->open_cnt++] = node;
	t->calls[t->calls_cnt++] = node;
}

static void leave_node(struct tarjan *t, uint32_t node)
{
	uint32_t member;

	t->calls_cnt--;
	if (t->calls_cnt) {
		uint32_t caller = t->calls[t->calls_cnt - 1];

		t->low[caller] = MIN(t->low[caller], t->low[node]);
	}
	if (t->low[node] != t->order[node])
		return;
	do {
		member = t->open[--t->open_cnt];
		t->component[member] = t->components_cnt;
	} while (member != node);
	t->components_cnt++;
}

static void search_from(struct tarjan *t, uint32_t root)
{
	enter_node(t, root);
	while (t->calls_cnt) {
		uint32_t node = t->calls[t->calls_cnt - 1];

		if (t->next[node] == t->graph->first[node + 1]) {
			leave_node(t, node);
			continue;
		}
		uint32_t to = t->graph->to[t->next[node]++];
		if (!t->order[to])
			enter_node(t, to);
		else if (t->component[to] == NONE)
			t->low[node] = MIN(t->low[node], t->order[to]);
	}
}

uint32_t digraph_components(uint32_t nodes_cnt, const struct digraph_edge *edges, uint32_t edges_cnt,
			    uint64_t min_weight, uint32_t *ret_component)
{
	struct adjacency graph = adjacency_of(nodes_cnt, edges, edges_cnt, min_weight);
	g_autofree uint32_t *order = g_new0(uint32_t, (gsize)nodes_cnt + 1);
	g_autofree uint32_t *low = g_new(uint32_t, (gsize)nodes_cnt + 1);
	g_autofree uint32_t *next = g_new(uint32_t, (gsize)nodes_cnt + 1);
	g_autofree uint32_t *calls = g_new(uint32_t, (gsize)nodes_cnt + 1);
	g_autofree uint32_t *open = g_new(uint32_t, (gsize)nodes_cnt + 1);
	struct tarjan t = {
		.graph = &graph, .order = order, .low = low, .next = next, .calls = calls, .open = open,
		.component = ret_component,
	};

	for (uint32_t n = 0; n < nodes_cnt; n++)
		ret_component[n] = NONE;
	for (uint32_t n = 0; n < nodes_cnt; n++)
		if (!order[n])
			search_from(&t, n);
	adjacency_clear(&graph);
	return t.components_cnt;
}

/* The edges within a knot; its nodes are numbered from 0 on. */
struct inner {
	uint32_t nodes_cnt;
	struct digraph_edge *edges;	/* without self-loops */
	uint32_t edges_cnt;
};

/* The first edge of exactly this weight within a component of edges at least as heavy, or NONE. */
static uint32_t edge_on_cycle(const struct inner *g, uint64_t weight)
{
	g_autofree uint32_t *component = g_new(uint32_t, (gsize)g->nodes_cnt + 1);

	digraph_components(g->nodes_cnt, g->edges, g->edges_cnt, weight, component);
	for (uint32_t i = 0; i < g->edges_cnt; i++)
		if (g->edges[i].weight == weight && component[g->edges[i].from] == component[g->edges[i].to])
			return i;
	return NONE;
}

static bool has_cycle(const struct inner *g, uint64_t weight)
{
	g_autofree uint32_t *component = g_new(uint32_t, (gsize)g->nodes_cnt + 1);

	return digraph_components(g->nodes_cnt, g->edges, g->edges_cnt, weight, component) < g->nodes_cnt;
}

ORDER_NUMBERS(compare_weights, uint64_t)

/* The largest weight for which edges at least that heavy still form a cycle. */
static uint64_t tightest_weight(const struct inner *g)
{
	g_autofree uint64_t *weights = g_new(uint64_t, (gsize)g->edges_cnt + 1);
	uint32_t low = 0, high = g->edges_cnt;	/* invariant: a cycle exists at low, none at high */

	for (uint32_t i = 0; i < g->edges_cnt; i++)
		weights[i] = g->edges[i].weight;
	qsort(weights, g->edges_cnt, sizeof(*weights), compare_weights);
	while (high - low > 1) {
		uint32_t middle = low + (high - low) / 2;

		if (has_cycle(g, weights[middle]))
			low = middle;
		else
			high = middle;
	}
	return weights[low];
}

/* Appends the shortest path between two nodes over edges of at least that weight. */
static void append_way(GArray *way, const struct inner *g, uint64_t weight, uint32_t from, uint32_t to)
{
	struct adjacency graph = adjacency_of(g->nodes_cnt, g->edges, g->edges_cnt, weight);
	g_autofree uint32_t *onward = g_new(uint32_t, (gsize)g->nodes_cnt + 1);
	g_autofree uint32_t *queue = g_new(uint32_t, (gsize)g->nodes_cnt + 1);
	uint32_t head = 0, tail = 0;
	guint start = way->len;

	for (uint32_t n = 0; n < g->nodes_cnt; n++)
		onward[n] = NONE;
	onward[from] = from;
	queue[tail++] = from;
	while (head < tail && onward[to] == NONE) {
		uint32_t node = queue[head++];

		for (uint32_t i = graph.first[node]; i < graph.first[node + 1]; i++) {
			if (onward[graph.to[i]] != NONE)
				continue;
			onward[graph.to[i]] = node;
			queue[tail++] = graph.to[i];
		}
	}
	for (uint32_t node = to; onward[to] != NONE; node = onward[node]) {
		g_array_append_val(way, node);
		if (node == from)
			break;
	}
	/* it was built backwards */
	for (guint a = start, b = way->len; a + 1 < b; a++) {
		uint32_t *at = &g_array_index(way, uint32_t, a), *other = &g_array_index(way, uint32_t, --b);
		uint32_t node = *at;

		*at = *other;
		*other = node;
	}
	adjacency_clear(&graph);
}

static void find_cycle(struct knot *k, const struct inner *g)
{
	if (k->nodes->len == 1) {
		g_array_append_val(k->cycle, g_array_index(k->nodes, uint32_t, 0));
		k->cycle_weight = k->held;
		return;
	}
	k->cycle_weight = tightest_weight(g);
	uint32_t edge = edge_on_cycle(g, k->cycle_weight);
	g_assert(edge != NONE);
	append_way(k->cycle, g, k->cycle_weight, g->edges[edge].to, g->edges[edge].from);
	EACH_ROW(i, uint32_t, node, k->cycle)
		*node = g_array_index(k->nodes, uint32_t, *node);
}

FREES_DATA(knot_free, struct knot, k, g_array_unref(k->nodes); g_array_unref(k->cycle))

static int compare_knots(gconstpointer va, gconstpointer vb)
{
	const struct knot *a = *(const struct knot *const *)va, *b = *(const struct knot *const *)vb;

	if (a->held != b->held)
		return a->held < b->held ? 1 : -1;
	return g_array_index(a->nodes, uint32_t, 0) < g_array_index(b->nodes, uint32_t, 0) ? -1 : 1;
}

/* Creates a knot for each component with an edge, by component; NULL for the others. */
static struct knot **make_knots(uint32_t nodes_cnt, const struct digraph_edge *edges, uint32_t edges_cnt,
				const uint32_t *component, uint32_t components_cnt)
{
	struct knot **knots = g_new0(struct knot *, (gsize)components_cnt + 1);

	for (uint32_t i = 0; i < edges_cnt; i++) {
		uint32_t c = component[edges[i].from];

		if (c != component[edges[i].to])
			continue;
		if (!knots[c]) {
			knots[c] = g_new0(struct knot, 1);
			knots[c]->nodes = g_array_new(FALSE, FALSE, sizeof(uint32_t));
			knots[c]->cycle = g_array_new(FALSE, FALSE, sizeof(uint32_t));
		}
		knots[c]->held += edges[i].weight;
	}
	for (uint32_t n = 0; n < nodes_cnt; n++)
		if (knots[component[n]])
			g_array_append_val(knots[component[n]]->nodes, n);
	for (uint32_t i = 0; i < edges_cnt; i++)
		if (component[edges[i].from] != component[edges[i].to] && knots[component[edges[i].from]])
			knots[component[edges[i].from]]->outside += edges[i].weight;
	return knots;
}

/* Edges within components; those of component c start at first[c].  `place`: number of each node within its knot. */
static struct digraph_edge *inner_edges(const struct digraph_edge *edges, uint32_t edges_cnt, const uint32_t *component,
					const uint32_t *place, uint32_t *first, uint32_t components_cnt)
{
	struct digraph_edge *sorted = g_new(struct digraph_edge, (gsize)edges_cnt + 1);

	for (int fill = 0; fill < 2; fill++) {
		for (uint32_t i = 0; i < edges_cnt; i++) {
			const struct digraph_edge *e = &edges[i];
			uint32_t c = component[e->from];

			if (c != component[e->to] || e->from == e->to)
				continue;
			if (fill)
				sorted[first[(gsize)c + 1]++] = (struct digraph_edge){ place[e->from], place[e->to],
										       e->weight };
			else
				first[(gsize)c + 2]++;
		}
		for (uint32_t c = 0; !fill && c < components_cnt; c++)
			first[(gsize)c + 2] += first[(gsize)c + 1];
	}
	return sorted;
}

GPtrArray *knots_find(uint32_t nodes_cnt, const struct digraph_edge *edges, uint32_t edges_cnt)
{
	GPtrArray *found = g_ptr_array_new_with_free_func(knot_free);
	g_autofree uint32_t *component = g_new(uint32_t, (gsize)nodes_cnt + 1);
	g_autofree uint32_t *place = g_new0(uint32_t, (gsize)nodes_cnt + 1);
	uint32_t components_cnt = digraph_components(nodes_cnt, edges, edges_cnt, 0, component);
	g_autofree uint32_t *first = g_new0(uint32_t, (gsize)components_cnt + 2);
	g_autofree struct knot **knots = make_knots(nodes_cnt, edges, edges_cnt, component, components_cnt);

	for (uint32_t c = 0; c < components_cnt; c++)
		for (guint i = 0; knots[c] && i < knots[c]->nodes->len; i++)
			place[g_array_index(knots[c]->nodes, uint32_t, i)] = i;
	g_autofree struct digraph_edge *sorted = inner_edges(edges, edges_cnt, component, place, first, components_cnt);
	for (uint32_t c = 0; c < components_cnt; c++) {
		if (!knots[c])
			continue;
		struct inner inner = {
			.nodes_cnt = knots[c]->nodes->len, .edges = sorted + first[c],
			.edges_cnt = first[c + 1] - first[c],
		};

		find_cycle(knots[c], &inner);
		g_ptr_array_add(found, knots[c]);
	}
	g_ptr_array_sort(found, compare_knots);
	return found;
}
