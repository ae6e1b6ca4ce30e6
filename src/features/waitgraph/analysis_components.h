/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef FEATURES_WAITGRAPH_ANALYSIS_COMPONENTS_H
#define FEATURES_WAITGRAPH_ANALYSIS_COMPONENTS_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * Knots of a weighted directed graph: strongly connected components, in which everybody waits for itself by way of
 * others.  No recursion; time and memory are linear in the graph (times its logarithm for cycles), even for hostile
 * input.
 */

struct digraph_edge {
	uint32_t from, to;	/* below nodes_cnt */
	uint64_t weight;
};

/*
 * Writes each node's component to ret_component[nodes_cnt] and returns their number.  A component has a higher number
 * than those its edges lead to (Tarjan's order).  Edges lighter than min_weight are ignored.
 */
uint32_t digraph_components(uint32_t nodes_cnt, const struct digraph_edge *edges, uint32_t edges_cnt,
			    uint64_t min_weight, uint32_t *ret_component);

struct knot {
	GArray *nodes;		/* uint32_t, ascending */
	uint64_t held;		/* weight of edges within, including self-loops */
	uint64_t outside;	/* weight of edges that leave it; 0: it waits for nobody else */
	/*
	 * The tightest cycle: of all cycles of two nodes or more, the one whose lightest edge is heaviest.  Each node
	 * waits for the next, the last for the first.  A single node waits for itself.
	 */
	GArray *cycle;		/* uint32_t */
	uint64_t cycle_weight;	/* of its lightest edge */
};

/* All components with an edge, heaviest first, then by first node. */
/* struct knot * */
GPtrArray *knots_find(uint32_t nodes_cnt, const struct digraph_edge *edges, uint32_t edges_cnt);

#endif
