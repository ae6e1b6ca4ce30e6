/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef RENDER_SVG_LAYERS_H
#define RENDER_SVG_LAYERS_H

#include <glib.h>
#include <stdbool.h>

/*
 * Layered layout of a small directed graph, after Sugiyama.  Links lead to the right, except the lightest link of each
 * cycle.  A link across several layers gets a place in each, so that it passes beside the nodes.
 */
struct layers_link {
	guint from, to;	/* two different nodes */
};

struct layers_place {
	guint layer;
	double y;	/* of its centre, in units of a node's height plus gap */
	bool is_node;
};

struct layers {
	GArray *places;	/* struct layers_place: nodes first */
	GPtrArray *paths;	/* GArray of guint for each link: its places from the first to the last node */
	guint cnt;	/* number of layers */
	double height;
};

/* Links must be sorted, heaviest first. */
struct layers *layers_new(guint nodes_cnt, const struct layers_link *links, guint links_cnt);
void layers_free(struct layers *l);

#endif
