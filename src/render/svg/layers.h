/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef RENDER_SVG_LAYERS_H
#define RENDER_SVG_LAYERS_H

#include <glib.h>
#include <stdbool.h>

/*
 * Places for a small directed graph in layers, in the manner of Sugiyama: links lead to the right, but for those that
 * close a cycle, the lightest of it.  A link over several layers has a place of its own in each, so that it passes
 * beside the nodes.
 */
struct layers_link {
	guint from, to;	/* nodes, not the same */
};

struct layers_place {
	guint layer;
	double y;	/* of its middle, in heights of a node with the gap below it */
	bool is_node;
};

struct layers {
	GArray *places;	/* struct layers_place: the nodes first */
	GPtrArray *paths;	/* GArray of guint, for each link: its places, from its first to its last node */
	guint cnt;	/* of layers */
	double height;
};

/* The heaviest link first. */
struct layers *layers_new(guint nodes_cnt, const struct layers_link *links, guint links_cnt);
void layers_free(struct layers *l);

#endif
