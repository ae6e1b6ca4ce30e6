/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "features/wakers/text.h"

#include <inttypes.h>

#include "explain/text.h"
#include "features/waitgraph/analysis_components.h"

#define KNOTS_NAMED 3		/* in the caption */
#define NAME_COLUMNS 48
#define PEN_MAX 6.0

/*
 * In a DOT string a backslash begins an escape (\N is the node's name) and an ampersand an entity; a line break is
 * "\n". text_safe() handles control characters.
 */
static void append_escaped(GString *s, const char *safe)
{
	for (const char *c = safe; *c; c++) {
		if (*c == '"' || *c == '\\')
			g_string_append_c(s, '\\');
		if (*c == '&')
			g_string_append(s, "&amp;");
		else
			g_string_append_c(s, *c);
	}
}

void dot_quote(GString *s, const char *text)
{
	g_autoptr(GString) safe = g_string_new(NULL);

	text_safe(safe, text);
	g_string_append_c(s, '"');
	append_escaped(s, safe->str);
	g_string_append_c(s, '"');
}

/* A name of bounded length; the caller writes the quotes. */
static void append_name(GString *s, const char *name)
{
	g_autoptr(GString) safe = g_string_new(NULL);

	text_safe_cut(safe, name, NAME_COLUMNS);
	append_escaped(s, safe->str);
}

struct painter {
	GString *s;
	const struct waitgraph *g;
	GPtrArray *knots;
	uint32_t *knot_of;	/* per actor: number of its knot from 1 on; 0: none */
	bool *drawn;		/* per actor */
	unsigned edges_cnt;	/* drawn */
};

static void node(const struct painter *pt, uint32_t i)
{
	const struct actor *a = actors_get(pt->g->actors, i);
	GString *s = pt->s;

	g_string_append_printf(s, "  n%u [label=\"", i);
	append_name(s, a->name);
	if (a->threads_cnt > 1)
		g_string_append_printf(s, "\\n%u threads", a->threads_cnt);
	if (a->threads_cnt)
		g_string_append_printf(s, "\\non CPU %s, waited %s", TEXT_NS(a->on_cpu_ns),
				       TEXT_NS(pt->g->waited_ns[i]));
	g_string_append_c(s, '"');
	if (a->kind == ACTOR_INTERRUPT)
		g_string_append(s, ", shape=ellipse, style=filled, fillcolor=\"#dde7f3\"");
	else if (a->kind == ACTOR_UNKNOWN)
		g_string_append(s, ", shape=ellipse, style=dashed");
	else if (a->is_kernel)
		g_string_append(s, ", fillcolor=\"#e3e3e3\"");
	if (pt->knot_of[i])
		g_string_append(s, ", color=\"#b03020\"");
	g_string_append(s, "];\n");
}

static void edge(const struct painter *pt, const struct wait_edge *e)
{
	const struct wait_place *top = waitgraph_place(pt->g, e->places_first);
	double share = pt->g->blocked_ns ? (double)e->blocked_ns / (double)pt->g->blocked_ns : 0;
	bool inside = pt->knot_of[e->from] && pt->knot_of[e->from] == pt->knot_of[e->to];
	GString *s = pt->s;
	g_autoptr(GString) tip = g_string_new(top->wait);

	g_string_append_printf(s, "  n%u -> n%u [label=\"%s", e->from, e->to, TEXT_NS(e->blocked_ns));
	g_string_append_printf(s, "\\n%" PRIu64 "x\", penwidth=%.2f", e->count, 0.7 + (PEN_MAX - 0.7) * share);
	if (inside)
		g_string_append(s, ", color=\"#b03020\", fontcolor=\"#b03020\"");
	if (*top->waker)
		g_string_append_printf(tip, " until %s", top->waker);
	g_string_append(s, ", tooltip=");
	dot_quote(s, tip->str);
	g_string_append(s, "];\n");
}

static void caption_knot(const struct painter *pt, const struct knot *k)
{
	GString *s = pt->s;

	g_string_append_printf(s, "\\lknot of %s: ", TEXT_NS(k->held));
	for (guint i = 0; i <= k->cycle->len; i++) {
		if (i)
			g_string_append(s, " -> ");
		append_name(s, actors_get(pt->g->actors, g_array_index(k->cycle, uint32_t, i % k->cycle->len))->name);
	}
}

static void caption(const struct painter *pt)
{
	const struct waitgraph *g = pt->g;
	uint64_t rest_ns = g->blocked_ns;
	GString *s = pt->s;

	for (unsigned i = 0; i < pt->edges_cnt; i++)
		rest_ns -= waitgraph_edge(g, i)->blocked_ns;
	g_string_append_printf(s, "  label=\"Who waited for whom, by %s, in %s: %s asleep until they were woken",
			       actor_by_name(g->actors->by), TEXT_NS(g->profile->info.duration_ns),
			       TEXT_NS(g->blocked_ns));
	if (pt->edges_cnt < g->edges->len)
		g_string_append_printf(s, "; %u lighter edges, %s, are not drawn", g->edges->len - pt->edges_cnt,
				       TEXT_NS(rest_ns));
	if (g->all_asleep_ns)
		g_string_append_printf(s, ";\\lbesides, %s asleep that nobody had ended as the window ended",
				       TEXT_NS(g->all_asleep_ns));
	for (guint i = 0; i < MIN(pt->knots->len, KNOTS_NAMED); i++)
		caption_knot(pt, g_ptr_array_index(pt->knots, i));
	g_string_append(s, "\\l\";\n");
}

static void mark_knots(struct painter *pt)
{
	EACH_POINTER(i, const struct knot, k, pt->knots) {
		for (guint n = 0; n < k->nodes->len; n++)
			pt->knot_of[g_array_index(k->nodes, uint32_t, n)] = i + 1;
	}
}

void waitgraph_dot(GString *s, const struct waitgraph *g, unsigned top)
{
	gsize actors_cnt = g->actors->rows->len;
	g_autoptr(GPtrArray) knots = waitgraph_knots(g);
	g_autofree uint32_t *knot_of = g_new0(uint32_t, actors_cnt + 1);
	g_autofree bool *drawn = g_new0(bool, actors_cnt + 1);
	struct painter pt = {
		.s = s, .g = g, .knots = knots, .knot_of = knot_of, .drawn = drawn,
		.edges_cnt = top ? MIN(top, g->edges->len) : g->edges->len,
	};

	mark_knots(&pt);
	g_string_append(
		s,
		"digraph offcpu {\n  rankdir=LR;\n  labeljust=l;\n  fontname=\"sans-serif\";\n  fontsize=11;\n"
		"  node [shape=box, style=\"rounded,filled\", fillcolor=\"#fbf3e0\", fontname=\"sans-serif\", fontsize=11];\n"
		"  edge [fontname=\"sans-serif\", fontsize=9, color=\"#555555\"];\n");
	caption(&pt);
	for (unsigned i = 0; i < pt.edges_cnt; i++)
		drawn[waitgraph_edge(g, i)->from] = drawn[waitgraph_edge(g, i)->to] = true;
	for (uint32_t i = 0; i < actors_cnt; i++)
		if (drawn[i])
			node(&pt, i);
	for (unsigned i = 0; i < pt.edges_cnt; i++)
		edge(&pt, waitgraph_edge(g, i));
	g_string_append(s, "}\n");
}
