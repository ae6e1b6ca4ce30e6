/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef FEATURES_WAITGRAPH_ANALYSIS_COMPONENTS_H
#define FEATURES_WAITGRAPH_ANALYSIS_COMPONENTS_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * Knots of a directed graph with weights: strongly connected components, in which everybody
 * waits, by way of others, for himself.  No recursion, time and memory linear in the graph
 * (times its logarithm for the cycles), whatever it looks like.
 */

struct digraph_edge {
	uint32_t from, to;	/* below nodes_cnt */
	uint64_t weight;
};

/*
 * Writes the component of each node to ret_component[nodes_cnt] and returns how many there are.
 * A component's number is above that of each one it has edges to (Tarjan's order).  Edges
 * lighter than min_weight are as if they were not there.
 */
uint32_t digraph_components(uint32_t nodes_cnt, const struct digraph_edge *edges, uint32_t edges_cnt,
			    uint64_t min_weight, uint32_t *ret_component);

struct knot {
	GArray *nodes;		/* uint32_t, ascending */
	uint64_t held;		/* weight of the edges within, edges from a node to itself included */
	uint64_t outside;	/* of those that leave it: 0 means that it waits for nobody else */
	/*
	 * The cycle that holds most tightly: of all cycles within of two nodes or more, one whose
	 * lightest edge is the heaviest.  Each waits for the next, the last for the first.  One
	 * node: it alone, waiting for itself.
	 */
	GArray *cycle;		/* uint32_t */
	uint64_t cycle_weight;	/* its lightest edge */
};

/* All components that hold an edge, the heaviest first; ties by their first node. */
/* struct knot * */
GPtrArray *knots_find(uint32_t nodes_cnt, const struct digraph_edge *edges, uint32_t edges_cnt);

#endif
