/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef RENDER_WAITGRAPH_DOT_H
#define RENDER_WAITGRAPH_DOT_H

#include "analyse/waitgraph.h"

/*
 * The wait-for graph for graphviz: an arrow from who waited to whom for, as thick as the time is long, red
 * within a knot.  The `top` heaviest edges, 0: all; what is left out is said in the caption.
 */
void waitgraph_dot(GString *s, const struct waitgraph *g, unsigned top);

/* The whole of it as JSON: docs/wait-graph.md. */
void waitgraph_json(GString *out, const struct waitgraph *g);

/* Appends a quoted string of the DOT language: one line of text, whatever bytes it has. */
void dot_quote(GString *s, const char *text);

#endif
