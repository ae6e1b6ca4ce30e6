/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef FEATURES_WAKERS_TEXT_H
#define FEATURES_WAKERS_TEXT_H

#include "features/waitgraph/analysis.h"
#include "render/text/text.h"

/*
 * `offcpu report --wakers`: who woke whom, cycles of waiting, and who ended the longest sleeps. The caller writes
 * header and coverage.
 */
void wakers_text(GString *s, const struct waitgraph *g, const struct text_options *options);

/* "sysbench (8 threads)": an actor's name and size. width 0: not cut. Returns the columns. */
unsigned actor_text(GString *s, const struct actor *a, unsigned width);

/*
 * Why wakers are unknown: the losses that can cause it, one line each, with this indentation. Nothing without such
 * losses.
 */
void unknown_wakers_text(GString *s, const struct profile *p, const struct text_options *options, unsigned indent);

/*
 * The wait-for graph for graphviz: arrows from waiting to awaited actors, as thick as the time, red within a cycle.
 * The `top` heaviest edges, 0: all; the caption says what is left out.
 */
void waitgraph_dot(GString *s, const struct waitgraph *g, unsigned top);

/* The whole graph as JSON: docs/wait-graph.md. */
void waitgraph_json(GString *out, const struct waitgraph *g);

/* Appends a quoted DOT string as one line, escaping any bytes. */
void dot_quote(GString *s, const char *text);

#endif
