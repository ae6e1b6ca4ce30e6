/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef RENDER_WAKERS_TEXT_H
#define RENDER_WAKERS_TEXT_H

#include "features/waitgraph/analysis.h"
#include "render/text/text.h"

/*
 * `offcpu report --wakers`: who woke whom, who waits in a circle, and of the longest sleeps
 * who ended them.  Header and coverage are the caller's.
 */
void wakers_text(GString *s, const struct waitgraph *g, const struct text_options *options);

/* "sysbench (8 threads)": an actor's name, and how many it is.  width 0: not cut.  Returns the columns. */
unsigned actor_text(GString *s, const struct actor *a, unsigned width);

/*
 * Why wakers are unknown: the recording's counted losses that can be it, a line each, indented so far.  Nothing
 * without any.
 */
void unknown_wakers_text(GString *s, const struct profile *p, const struct text_options *options, unsigned indent);

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
