/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "features/waitgraph/analysis_components.h"

#include <string.h>

#define NODES 9
#define GRAPHS 3000

struct graph {
	uint32_t nodes_cnt, edges_cnt;
	struct digraph_edge edges[NODES * NODES];
};

/* At most one edge from a node to another; weights few, so that many are equal. */
static void random_graph(struct graph *g)
{
	double density = g_test_rand_double();

	g->nodes_cnt = (uint32_t)g_test_rand_int_range(1, NODES + 1);
	g->edges_cnt = 0;
	for (uint32_t a = 0; a < g->nodes_cnt; a++) {
		for (uint32_t b = 0; b < g->nodes_cnt; b++) {
			if (g_test_rand_double() * 2 < density)
				g->edges[g->edges_cnt++] =
					(struct digraph_edge){ a, b, (uint64_t)g_test_rand_int_range(1, 8) };
		}
	}
}

/* Whether b can be reached from a over one edge or more, by trying all ways. */
static void reach(const struct graph *g, uint64_t min_weight, bool self, bool ret[NODES][NODES])
{
	memset(ret, 0, sizeof(bool) * NODES * NODES);
	for (uint32_t i = 0; i < g->edges_cnt; i++)
		if (g->edges[i].weight >= min_weight && (self || g->edges[i].from != g->edges[i].to))
			ret[g->edges[i].from][g->edges[i].to] = true;
	for (uint32_t k = 0; k < g->nodes_cnt; k++)
		for (uint32_t a = 0; a < g->nodes_cnt; a++)
			for (uint32_t b = 0; b < g->nodes_cnt; b++)
				ret[a][b] = ret[a][b] || (ret[a][k] && ret[k][b]);
}

static void test_components(void)
{
	bool can[NODES][NODES];
	uint32_t component[NODES];
	struct graph g;

	for (int i = 0; i < GRAPHS; i++) {
		uint64_t min_weight = (uint64_t)g_test_rand_int_range(0, 8);

		random_graph(&g);
		uint32_t cnt = digraph_components(g.nodes_cnt, g.edges, g.edges_cnt, min_weight, component);
		reach(&g, min_weight, true, can);
		for (uint32_t a = 0; a < g.nodes_cnt; a++) {
			g_assert_cmpuint(component[a], <, cnt);
			for (uint32_t b = 0; b < g.nodes_cnt; b++) {
				bool together = a == b || (can[a][b] && can[b][a]);

				g_assert_cmpint(component[a] == component[b], ==, together);
				if (can[a][b] && !together)
					g_assert_cmpuint(component[a], >, component[b]);
			}
		}
	}
}

static uint64_t weight_between(const struct graph *g, uint32_t from, uint32_t to)
{
	for (uint32_t i = 0; i < g->edges_cnt; i++)
		if (g->edges[i].from == from && g->edges[i].to == to)
			return g->edges[i].weight;
	return 0;
}

/* The heaviest weight at which two of the knot's nodes still reach each other. */
static uint64_t tightest_of(const struct graph *g, const struct knot *k)
{
	bool can[NODES][NODES];

	for (uint64_t weight = 8; weight > 0; weight--) {
		reach(g, weight, false, can);
		for (guint i = 0; i < k->nodes->len; i++)
			if (can[g_array_index(k->nodes, uint32_t, i)][g_array_index(k->nodes, uint32_t, i)])
				return weight;
	}
	return 0;
}

static void check_cycle(const struct graph *g, const struct knot *k)
{
	uint64_t lightest = G_MAXUINT64;
	bool seen[NODES] = { false };

	g_assert_cmpuint(k->cycle->len, >=, k->nodes->len == 1 ? 1 : 2);
	for (guint i = 0; i < k->cycle->len; i++) {
		uint32_t from = g_array_index(k->cycle, uint32_t, i);
		uint64_t weight = weight_between(g, from, g_array_index(k->cycle, uint32_t, (i + 1) % k->cycle->len));

		g_assert_false(seen[from]);
		seen[from] = true;
		g_assert_cmpuint(weight, >, 0);
		lightest = MIN(lightest, weight);
	}
	g_assert_cmpuint(lightest, ==, k->cycle_weight);
	if (k->nodes->len > 1)
		g_assert_cmpuint(lightest, ==, tightest_of(g, k));
}

static void test_knots(void)
{
	bool can[NODES][NODES];
	struct graph g;

	for (int i = 0; i < GRAPHS; i++) {
		bool in[NODES] = { false };
		uint64_t last = G_MAXUINT64;

		random_graph(&g);
		reach(&g, 0, true, can);
		g_autoptr(GPtrArray) knots = knots_find(g.nodes_cnt, g.edges, g.edges_cnt);
		for (guint n = 0; n < knots->len; n++) {
			const struct knot *k = g_ptr_array_index(knots, n);
			uint64_t held = 0, outside = 0;
			bool mine[NODES] = { false };

			for (guint m = 0; m < k->nodes->len; m++) {
				mine[g_array_index(k->nodes, uint32_t, m)] = in[g_array_index(k->nodes, uint32_t, m)] = true;
				g_assert_true(can[g_array_index(k->nodes, uint32_t, 0)][g_array_index(k->nodes, uint32_t, m)]);
			}
			for (uint32_t e = 0; e < g.edges_cnt; e++) {
				held += mine[g.edges[e].from] && mine[g.edges[e].to] ? g.edges[e].weight : 0;
				outside += mine[g.edges[e].from] && !mine[g.edges[e].to] ? g.edges[e].weight : 0;
			}
			g_assert_cmpuint(k->held, ==, held);
			g_assert_cmpuint(k->outside, ==, outside);
			g_assert_cmpuint(k->held, <=, last);
			last = k->held;
			check_cycle(&g, k);
		}
		/* who can come back to himself is in a knot, and nobody else */
		for (uint32_t a = 0; a < g.nodes_cnt; a++)
			g_assert_cmpint(in[a], ==, can[a][a]);
	}
}

/* A chain and a circle so long that a search by recursion would run out of stack. */
static void test_long(void)
{
	const uint32_t cnt = 1000000;
	g_autofree struct digraph_edge *edges = g_new(struct digraph_edge, cnt);

	for (uint32_t i = 0; i < cnt; i++)
		edges[i] = (struct digraph_edge){ i, (i + 1) % cnt, 1 + i % 3 };
	g_autoptr(GPtrArray) chain = knots_find(cnt, edges, cnt - 1);
	g_autoptr(GPtrArray) circle = knots_find(cnt, edges, cnt);
	g_assert_cmpuint(chain->len, ==, 0);
	g_assert_cmpuint(circle->len, ==, 1);
	const struct knot *k = g_ptr_array_index(circle, 0);
	g_assert_cmpuint(k->nodes->len, ==, cnt);
	g_assert_cmpuint(k->cycle->len, ==, cnt);
	g_assert_cmpuint(k->cycle_weight, ==, 1);
}

static void test_nothing(void)
{
	g_autoptr(GPtrArray) none = knots_find(0, NULL, 0);
	g_autoptr(GPtrArray) alone = knots_find(3, NULL, 0);

	g_assert_cmpuint(none->len, ==, 0);
	g_assert_cmpuint(alone->len, ==, 0);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/knots/components", test_components);
	g_test_add_func("/knots/knots", test_knots);
	g_test_add_func("/knots/long", test_long);
	g_test_add_func("/knots/nothing", test_nothing);
	return g_test_run();
}
