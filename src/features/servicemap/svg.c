/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "render/svg/svg.h"

#include <math.h>
#include <string.h>

#include "render/svg/layers.h"

#define NODE_WIDTH 190.0
#define NODE_HEIGHT 48.0
#define ROW 74.0	/* height of a node plus gap */
#define COLUMN 290.0
#define MARGIN 10.0
#define NAME_CELLS 22
#define OWN_TOLD 0.05	/* a node whose share of its own work is below that waits for others */
#define LINE_CELLS 30
#define WIDTH_MAX 9.0	/* of an arrow */
#define MUCH 0.5		/* threads: scale of arrows and bars, if all have fewer */
#define LABEL_PART 20	/* arrows below 1/LABEL_PART of the heaviest have no label, only a title */

struct picture {
	GString *out;
	const struct service_graph *graph;
	const struct layers *layers;
	GArray *nodes, *edges;	/* guint: indices in the graph by number in the layers */
	double most, most_work;	/* threads of the largest edge, of the largest node */
	const char *focus, *link;
};

static double x_of(const struct layers_place *p)
{
	return MARGIN + COLUMN * p->layer;
}

static double y_of(const struct layers_place *p)
{
	return MARGIN + ROW * p->y;
}

static void put_number(GString *out, const char *name, double px)
{
	g_string_append_printf(out, " %s=\"", name);
	svg_px(out, px);
	g_string_append_c(out, '"');
}

static void put_point(GString *out, const char *before, double x, double y)
{
	g_string_append(out, before);
	svg_px(out, x);
	g_string_append_c(out, ' ');
	svg_px(out, y);
}

static void threads_text(GString *out, double threads)
{
	char text[G_ASCII_DTOSTR_BUF_SIZE];

	g_string_append(out, g_ascii_formatd(text, sizeof(text), threads < 9.95 ? "%.2f" : "%.0f", threads));
	g_string_append(out, " threads on average");
}

/* --- arrows --- */

static void edge_title(GString *out, const struct service_graph *g, const struct service_edge *e)
{
	g_string_append(out, "<title>");
	svg_escape(out, service_node(g, e->from)->name);
	g_string_append(out, e->is_loop ? " is connected to " : " waits for ");
	svg_escape(out, service_node(g, e->to)->name);
	g_string_append(out, " (");
	svg_escape(out, e->address);
	g_string_append(out, "): ");
	if (e->is_loop)
		g_string_append(out, e->threads > 0 ? "its event loop does not tell for how long it waits there, at most " :
						      "its event loop does not tell for how long it waits there");
	if (!e->is_loop || e->threads > 0) {
		svg_time(out, e->ns);
		g_string_append(out, ", ");
		threads_text(out, e->threads);
	}
	g_string_append(out, "</title>");
}

static void put_label(struct picture *p, const struct service_edge *e, double x, double y)
{
	if (e->threads * LABEL_PART < p->most || e->threads <= 0)
		return;
	g_string_append(p->out, "<text class=\"t\"");
	put_number(p->out, "x", x);
	put_number(p->out, "y", y - 4);
	g_string_append(p->out, e->is_loop ? ">≤ " : ">");
	svg_time(p->out, e->ns);
	g_string_append(p->out, "</text>");
}

/* From the right side of a node to the left of the next; a backward link goes around both. */
static void put_curve(GString *out, double x0, double y0, double x1, double y1)
{
	const double bend = x1 > x0 ? (x1 - x0) / 2 : COLUMN / 3, away = x1 > x0 ? 0 : ROW / 2;

	put_point(out, " C", x0 + bend, y0 + away);
	put_point(out, " ", x1 - bend, y1 + away);
	put_point(out, " ", x1, y1);
}

static void put_edge(struct picture *p, guint i)
{
	const struct service_edge *e = service_edge(p->graph, g_array_index(p->edges, guint, i));
	const GArray *path = g_ptr_array_index(p->layers->paths, i);
	const double width = 1 + (WIDTH_MAX - 1) * sqrt(e->threads / p->most);
	double x0 = 0, y0 = 0, label_x = 0, label_y = 0;

	g_string_append_printf(p->out, "<g class=\"e%s\">", e->is_loop ? " l" : "");
	edge_title(p->out, p->graph, e);
	g_string_append(p->out, "<path marker-end=\"url(#to)\"");
	put_number(p->out, "stroke-width", width);
	g_string_append(p->out, " d=\"");
	for (guint k = 0; k < path->len; k++) {
		const struct layers_place *at = &g_array_index(p->layers->places, struct layers_place,
							       g_array_index(path, guint, k));
		const double y = y_of(at), x = x_of(at);

		if (!k) {
			put_point(p->out, "M", x + NODE_WIDTH, y);
		} else {
			/* leave room for the arrow's head */
			put_curve(p->out, x0, y0, k + 1 == path->len ? x - 7 : x, y);
			label_x = k == 1 ? (x0 + x) / 2 : label_x;
			label_y = k == 1 ? (y0 + y) / 2 + (x > x0 ? 0 : ROW / 2) : label_y;
		}
		if (k && !at->is_node)
			put_point(p->out, " L", x + NODE_WIDTH, y);
		x0 = x + NODE_WIDTH;
		y0 = y;
	}
	g_string_append(p->out, "\"/>");
	put_label(p, e, label_x, label_y);
	g_string_append(p->out, "</g>\n");
}

/* --- services --- */

/* "disk sync 92%": what it does apart from waiting for others. */
static void own_text(GString *out, const struct service_node *n)
{
	const double work = n->own + n->asks;

	if (!n->is_known)
		g_string_append(out, "not recorded");
	else if (work <= 0)
		g_string_append(out, "is idle");
	else if (n->own < OWN_TOLD * work)
		g_string_append_printf(out, "%.0f%% waits for others", 100 * n->asks / work);
	else
		g_string_append_printf(out, "itself %.0f%%: %s", 100 * n->own / work, n->reason == REASON_ON_CPU ? "runs" : reason_text(n->reason));
}

static void node_title(GString *out, const struct service_node *n)
{
	g_string_append(out, "<title>");
	svg_escape(out, n->name);
	if (n->is_known) {
		g_string_append_printf(out, " on %u host%s, most on ", n->hosts_cnt, n->hosts_cnt == 1 ? "" : "s");
		svg_escape(out, n->host);
		g_string_append(out, ": for others ");
		threads_text(out, n->asks);
		g_string_append(out, " wait; itself ");
		threads_text(out, n->own);
		g_string_append(out, " run or wait");
		if (n->own > 0)
			g_string_append_printf(out, ", %.0f%% of these: %s", 100 * n->of_reason / n->own,
					       n->reason == REASON_ON_CPU ? "on CPU" : reason_text(n->reason));
	} else {
		g_string_append(out, " is not recorded: nobody is known who serves that address");
	}
	g_string_append(out, "</title>");
}

static void put_bar(GString *out, double x, double y, double width, const char *class)
{
	if (width < 0.5)
		return;
	g_string_append_printf(out, "<rect class=\"%s\" height=\"5\"", class);
	put_number(out, "x", x);
	put_number(out, "y", y);
	put_number(out, "width", width);
	g_string_append(out, "/>");
}

static void put_line(GString *out, const char *class, double x, double y, const char *text, unsigned cells)
{
	g_string_append_printf(out, "<text class=\"%s\"", class);
	put_number(out, "x", x);
	put_number(out, "y", y);
	g_string_append_c(out, '>');
	svg_escape_cut(out, text, cells);
	g_string_append(out, "</text>");
}

static void put_node(struct picture *p, guint i)
{
	const struct service_node *n = service_node(p->graph, g_array_index(p->nodes, guint, i));
	const struct layers_place *at = &g_array_index(p->layers->places, struct layers_place, i);
	const double x = x_of(at), y = y_of(at) - NODE_HEIGHT / 2, scale = (NODE_WIDTH - 16) / p->most_work;
	const bool is_focus = p->focus && n->is_known && !strcmp(p->focus, n->name);
	g_autoptr(GString) own = g_string_new(NULL), name = g_string_new(n->name);
	g_autofree char *escaped = g_uri_escape_string(n->name, NULL, FALSE);

	own_text(own, n);
	if (n->hosts_cnt > 1)
		g_string_append_printf(own, " · %u hosts", n->hosts_cnt);
	if (n->is_known)
		g_string_append_printf(p->out, "<a href=\"%s%s\">", p->link, escaped);
	g_string_append_printf(p->out, "<g class=\"n%s%s\">", n->is_known ? "" : " u", is_focus ? " f" : "");
	node_title(p->out, n);
	g_string_append(p->out, "<rect class=\"b\" rx=\"7\"");
	put_number(p->out, "x", x);
	put_number(p->out, "y", y);
	put_number(p->out, "width", NODE_WIDTH);
	put_number(p->out, "height", NODE_HEIGHT);
	g_string_append(p->out, "/>");
	put_line(p->out, "s", x + 8, y + 18, name->str, NAME_CELLS);
	put_line(p->out, "o", x + 8, y + 34, own->str, LINE_CELLS);
	put_bar(p->out, x + 8, y + NODE_HEIGHT - 9, n->own * scale, "own");
	put_bar(p->out, x + 8 + n->own * scale, y + NODE_HEIGHT - 9, n->asks * scale, "asks");
	g_string_append(p->out, n->is_known ? "</g></a>\n" : "</g>\n");
}

/* Numbers the drawn nodes and edges, and finds the largest. */
static void number_parts(struct picture *p, GArray *links)
{
	g_autofree guint *number = g_new0(guint, p->graph->nodes->len + 1);

	for (guint i = 0; i < p->graph->nodes->len; i++) {
		const struct service_node *n = service_node(p->graph, i);

		if (!n->is_drawn)
			continue;
		number[i] = p->nodes->len;
		p->most_work = MAX(p->most_work, n->own + n->asks);
		g_array_append_val(p->nodes, i);
	}
	for (guint i = 0; i < p->graph->edges->len; i++) {
		const struct service_edge *e = service_edge(p->graph, i);
		const struct layers_link link = { number[e->from], number[e->to] };

		if (!e->is_drawn)
			continue;
		p->most = MAX(p->most, e->threads);
		g_array_append_val(p->edges, i);
		g_array_append_val(links, link);
	}
}

static void put_head(GString *out, const struct layers *l)
{
	const double width = 2 * MARGIN + COLUMN * (l->cnt - 1) + NODE_WIDTH, height = 2 * MARGIN + ROW * l->height;

	g_string_append(out, "<svg class=\"services\" xmlns=\"http://www.w3.org/2000/svg\" role=\"img\" aria-label=\"Who waits for whom\"");
	put_number(out, "width", width);
	put_number(out, "height", height);
	g_string_append(out, " viewBox=\"");
	put_point(out, "0 0 ", width, height);
	g_string_append(out, "\">\n<defs><marker id=\"to\" viewBox=\"0 0 8 8\" refX=\"1\" refY=\"4\" markerWidth=\"8\" markerHeight=\"8\" "
			     "markerUnits=\"userSpaceOnUse\" orient=\"auto\"><path d=\"M0 0 L8 4 L0 8 z\"/></marker></defs>\n");
}

void svg_services(GString *out, const struct service_graph *g, const char *focus, const char *link)
{
	struct picture p = { .out = out, .graph = g, .focus = focus, .link = link, .most = MUCH, .most_work = MUCH };
	g_autoptr(GArray) links = g_array_new(FALSE, FALSE, sizeof(struct layers_link));
	g_autoptr(GArray) nodes = g_array_new(FALSE, FALSE, sizeof(guint)),
			  edges = g_array_new(FALSE, FALSE, sizeof(guint));

	p.nodes = nodes;
	p.edges = edges;
	number_parts(&p, links);
	struct layers *l = layers_new(nodes->len, (const struct layers_link *)(void *)links->data, links->len);

	p.layers = l;
	put_head(out, l);
	for (guint i = edges->len; i-- > 0;)	/* the heaviest on top */
		put_edge(&p, i);
	for (guint i = 0; i < nodes->len; i++)
		put_node(&p, i);
	g_string_append(out, "</svg>\n");
	layers_free(l);
}
