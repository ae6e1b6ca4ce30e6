/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "render/html/html.h"

#include <inttypes.h>

#include "explain/text.h"
#include "features/follow/findings.h"
#include "render/html/web.h"
#include "render/svg/svg.h"

#define ROWS_MAX 100

void html_plain_head(GString *out, const char *title)
{
	g_string_append_printf(out, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
				    "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>%s</title>\n"
				    "<link rel=\"icon\" href=\"data:,\">\n<style>%s</style>\n</head>\n<body>\n",
			       title, web_fleet_css);
}

static void put_head(GString *out, const struct html_services *page)
{
	html_plain_head(out, "Who waits for whom");
	g_string_append(out, "<h1>Who waits for whom");
	if (page->focus) {
		g_string_append(out, ": ");
		svg_escape_cut(out, page->focus, 48);
	}
	g_string_append(out, "</h1>\n<p class=\"soft\">");
	text_clock_as(out, page->from_unix_ns, "%F %T");
	g_string_append(out, " to ");
	text_clock_as(out, page->to_unix_ns, text_same_day(page->from_unix_ns, page->to_unix_ns) ? "%T" : "%F %T");
	g_string_append(out, "</p>\n");
}

static void put_ways(GString *out, const struct html_services *page, const char *range)
{
	if (!page->home && !page->focus)
		return;
	g_string_append(out, "<p>");
	if (page->focus)
		g_string_append_printf(out, "<a href=\"?%s\">All services</a> ", range);
	if (page->home)
		g_string_append_printf(out, "<a href=\"%s?%s\">%s</a>", page->home, range, page->home_text);
	g_string_append(out, "</p>\n");
}

/* What there is, and how much of it is left out. */
static void put_summary(GString *out, const struct service_graph *g, const struct html_services *page)
{
	const guint services = page->focus ? 0 : g->linked_nodes - g->drawn_nodes;

	if (!g->drawn_edges) {
		g_string_append(out, page->focus ? "<p>Nothing is known of whom it waits for, or who waits for it.</p>\n" :
						   "<p>No wait of one service for another is known. Services are joined by their TCP connections, "
						   "which are recorded with objects (--objects).</p>\n");
		return;
	}
	g_string_append(out, "<p>An arrow leads from who waits to whom it waits for, and tells how long its threads did. "
			     "A dashed one is of an event loop, which does not tell when it waits for an answer: the service there was at work "
			     "for that long at most. In a box, the orange bar is what a service does itself, the grey one that it waits for others. ");
	if (!page->focus)
		g_string_append(out, "A box leads to its service. ");
	if (g->drawn_edges < g->edges->len && !page->focus)
		g_string_append_printf(
			out,
			"Of %u services that wait or are waited for %u are drawn, of %u connections the %u with most time: "
			"%.0f%% of it. The other %u services are folded.",
			g->linked_nodes, g->drawn_nodes, g->edges->len, g->drawn_edges,
			g->all > 0 ? 100 * g->drawn / g->all : 100.0, services);
	else if (g->all > g->drawn)
		g_string_append_printf(out, "Drawn is %.0f%% of the time of its neighbours' connections; the rest is folded.",
				       100 * g->drawn / g->all);
	g_string_append(out, "</p>\n");
}

static void put_chains(GString *out, const struct html_services *page)
{
	if (!page->chains)
		return;
	g_string_append(out, "<h2>Followed</h2>\n");
	if (!page->chains->len)
		g_string_append(out, "<p>Little of the time that matters is waited for a connection.</p>\n");
	EACH_POINTER(i, const struct follow_chain, c, page->chains) {
		g_string_append(out, "<ol class=\"chain\">");
		for (guint k = 0; k < c->hops->len; k++) {
			g_string_append(out, "<li>");
			svg_escape(out, g_array_index(c->hops, struct follow_hop, k).sentence);
			g_string_append(out, "</li>");
		}
		if (c->end) {
			g_string_append(out, "<li class=\"soft\">");
			svg_escape(out, c->end);
			g_string_append(out, "</li>");
		}
		g_string_append(out, "</ol>\n");
	}
}

static void put_cell(GString *out, const char *text)
{
	g_string_append(out, "<td>");
	svg_escape_cut(out, text, 60);
	g_string_append(out, "</td>");
}

static void put_row(GString *out, const struct service_graph *g, const struct service_edge *e)
{
	char threads[G_ASCII_DTOSTR_BUF_SIZE];

	g_string_append(out, "<tr>");
	put_cell(out, service_node(g, e->from)->name);
	put_cell(out, service_node(g, e->to)->name);
	g_string_append(out, e->is_loop ? "<td class=\"n\">≤ " : "<td class=\"n\">");
	svg_time(out, e->ns);
	g_string_append_printf(out, "</td><td class=\"n\">%s</td>", g_ascii_formatd(threads, sizeof(threads), "%.2f", e->threads));
	put_cell(out, e->address);
	put_cell(out, !service_node(g, e->to)->is_known ? "not recorded" : e->how == PEER_CONNECTION ? "connection" :
		      e->how == PEER_REWRITTEN ? "connection, address rewritten" : "address");
	g_string_append(out, "</tr>\n");
}

static void put_table(GString *out, const struct service_graph *g, bool drawn_only)
{
	guint rows = 0, left = 0;

	if (!g->drawn_edges)
		return;
	g_string_append(out, "<table><thead><tr><th>Waits</th><th>For</th><th class=\"n\">Time</th><th class=\"n\">Threads</th><th>Address</th>"
			     "<th>Found by</th></tr></thead>\n<tbody>\n");
	for (guint i = 0; i < g->edges->len; i++) {
		const struct service_edge *e = service_edge(g, i);

		if (drawn_only && !e->is_drawn)
			continue;
		if (rows++ < ROWS_MAX)
			put_row(out, g, e);
		else
			left++;
	}
	g_string_append(out, "</tbody></table>\n");
	if (left)
		g_string_append_printf(out, "<p>and %u more with less time each</p>\n", left);
}

void html_services_page(GString *out, const struct service_graph *g, const struct html_services *page)
{
	g_autofree char *host = page->host ? g_uri_escape_string(page->host, NULL, FALSE) : NULL;
	g_autofree char *range = g_strdup_printf("from=%" PRIu64 "&amp;to=%" PRIu64 "%s%s", page->from_unix_ns, page->to_unix_ns,
						 host ? "&amp;host=" : "", host ? host : "");
	g_autofree char *link = g_strdup_printf("?%s&amp;of=", range);

	put_head(out, page);
	put_ways(out, page, range);
	put_summary(out, g, page);
	if (g->drawn_nodes) {
		g_string_append(out, "<div class=\"picture\">");
		svg_services(out, g, page->focus, link);
		g_string_append(out, "</div>\n");
	}
	put_chains(out, page);
	put_table(out, g, page->focus != NULL);
	g_string_append(out, "</body>\n</html>\n");
}
