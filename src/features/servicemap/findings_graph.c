/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <string.h>

#include "base/hash.h"
#include "base/order.h"
#include "features/follow/findings.h"
#include "features/servicemap/findings_part.h"

#define ROWS_MAX 1024		/* per address: more do not help to find who serves it */
#define REACH_HOPS_MAX 16	/* from the focused service */

struct joining {
	const struct service_map *map;
	struct service_graph *graph;
	GHashTable *nodes;	/* name -> index + 1; the key of an unrecorded service is "\n" and its address */
	GHashTable *edges;	/* both node indices in a uint64_t -> index + 1 */
	GArray *most;		/* double, for each edge: its largest contribution so far */
};

static double rate_of(const struct service_map *m, const char *host, uint64_t ns)
{
	const uint64_t *observed = g_hash_table_lookup(m->observed, host);
	const uint64_t all_ns = observed && *observed ? *observed : m->to_unix_ns - m->from_unix_ns;

	return all_ns ? (double)ns / (double)all_ns : 0;
}

static guint node_of(struct joining *j, const char *name, bool is_known)
{
	g_autofree char *key = g_strconcat(is_known ? "" : "\n", name, NULL);
	gpointer found = g_hash_table_lookup(j->nodes, key);
	const struct service_node node = { .name = g_string_chunk_insert_const(j->graph->texts, name), .is_known = is_known, .host = "" };

	if (found)
		return GPOINTER_TO_UINT(found) - 1;
	g_array_append_val(j->graph->nodes, node);
	g_hash_table_insert(j->nodes, g_steal_pointer(&key), GUINT_TO_POINTER(j->graph->nodes->len));
	return j->graph->nodes->len - 1;
}

/* --- who serves an address --- */

static void append_rows(const struct service_map *m, const char *end, GArray *ret)
{
	const GArray *rows = g_hash_table_lookup(m->by_end, end);

	for (guint i = 0; rows && i < MIN(rows->len, ROWS_MAX); i++)
		g_array_append_val(ret, g_array_index(m->rows, struct peer_row, g_array_index(rows, guint, i)));
}

/* Several hosts may run the same service. */
static bool are_one_service(const GArray *rows)
{
	for (guint i = 1; i < rows->len; i++)
		if (strcmp(g_array_index(rows, struct peer_row, i).process,
			   g_array_index(rows, struct peer_row, 0).process) != 0)
			return false;
	return rows->len > 0;
}

static struct peer find_by(const struct service_map *m, const struct service_instance *i, const char *there,
			   const char *local)
{
	const char *const locals[] = { local, NULL };
	const struct peer_ask ask = { .host = i->host,
				      .there = there,
				      .locals = locals,
				      .from_unix_ns = m->from_unix_ns,
				      .to_unix_ns = m->to_unix_ns };
	g_autoptr(GArray) rows = g_array_new(FALSE, FALSE, sizeof(struct peer_row));

	append_rows(m, there, rows);
	if (local)
		append_rows(m, local, rows);
	struct peer peer = peers_find(&ask, rows);

	if (peer.how == PEER_SEVERAL && are_one_service(rows))
		peer.how = PEER_ADDRESS;
	return peer;
}

/* Behind a load balancer each connection may lead to another host.  The service is known only if all are the same. */
static struct peer find_peer(const struct service_map *m, const struct service_instance *i, const char *there,
			     const GPtrArray *locals)
{
	struct peer found = { 0 };

	for (guint k = 0; k < locals->len; k++) {
		const struct peer peer = find_by(m, i, there, g_ptr_array_index(locals, k));

		if (peer.how != PEER_CONNECTION && peer.how != PEER_REWRITTEN)
			continue;
		if (found.how != PEER_NONE && strcmp(found.process, peer.process) != 0)
			return (struct peer){ .how = PEER_SEVERAL };
		found = found.how == PEER_NONE ? peer : found;
	}
	return found.how == PEER_NONE ? find_by(m, i, there, NULL) : found;
}

static guint target_of(struct joining *j, const struct service_instance *i, const char *there, const GPtrArray *locals,
		       enum peer_how *ret_how)
{
	const struct peer peer = find_peer(j->map, i, there, locals);
	const bool is_known = peer.how == PEER_CONNECTION || peer.how == PEER_REWRITTEN || peer.how == PEER_ADDRESS;

	*ret_how = peer.how;
	return node_of(j, is_known ? peer.process : there, is_known);
}

/* --- edges --- */

static struct service_edge *edge_of(struct joining *j, guint from, guint to, guint *ret_index)
{
	const uint64_t key = (uint64_t)from << 32 | to;
	gpointer found = g_hash_table_lookup(j->edges, &key);
	const struct service_edge edge = { .from = from, .to = to, .address = "" };
	const double most = 0;

	*ret_index = found ? GPOINTER_TO_UINT(found) - 1 : j->graph->edges->len;
	if (!found) {
		g_array_append_val(j->graph->edges, edge);
		g_array_append_val(j->most, most);
		g_hash_table_insert(j->edges, g_memdup2(&key, sizeof(key)), GUINT_TO_POINTER(j->graph->edges->len));
	}
	return service_edge(j->graph, *ret_index);
}

static void add_to_edge(struct joining *j, guint from, guint to, double threads, uint64_t ns, const char *there,
			enum peer_how how)
{
	guint index;
	struct service_edge *e = edge_of(j, from, to, &index);

	e->threads += threads;
	service_add_ns(&e->ns, ns);
	if (threads >= g_array_index(j->most, double, index)) {
		g_array_index(j->most, double, index) = threads;
		e->address = g_string_chunk_insert_const(j->graph->texts, there);
		e->how = how;
	}
}

/* Edges of threads whose waits name the other end.  Waits for the own service are left out. */
static void join_asked(struct joining *j, struct service_instance *i)
{
	const guint from = node_of(j, i->service, true);
	GHashTableIter iter;
	gpointer there, asked;

	g_hash_table_iter_init(&iter, i->asked);
	while (g_hash_table_iter_next(&iter, &there, &asked)) {
		const struct service_asked *a = asked;
		enum peer_how how;

		if (!a->ns)
			continue;
		const guint to = target_of(j, i, there, a->locals, &how);

		if (to == from)
			service_add_ns(&i->own_ns[REASON_NETWORK_RECEIVE], a->ns);
		else
			add_to_edge(j, from, to, rate_of(j->map, i->host, a->ns), a->ns, there, how);
	}
}

static double threads_of(const struct service_map *m, const struct service_instance *i, enum reason reason)
{
	return rate_of(m, i->host, i->own_ns[reason]);
}

static void sum_nodes(struct joining *j)
{
	const struct service_map *m = j->map;
	const guint cnt = j->graph->nodes->len;
	const gsize own_cnt = (gsize)cnt * REASON_COUNT + 1;
	g_autofree double *own = g_new0(double, own_cnt), *most = g_new0(double, cnt + 1);

	EACH_POINTER(k, const struct service_instance, i, m->instances) {
		const guint at = node_of(j, i->service, true);
		struct service_node *n = service_node(j->graph, at);
		double all = 0;

		for (unsigned reason = 0; reason < REASON_COUNT; reason++) {
			own[(gsize)at * REASON_COUNT + reason] += threads_of(m, i, reason);
			all += threads_of(m, i, reason);
		}
		n->hosts_cnt++;
		n->own += all;
		if (!*n->host || all > most[at])
			n->host = g_string_chunk_insert_const(j->graph->texts, i->host);
		most[at] = MAX(most[at], all);
	}
	for (guint k = 0; k < cnt; k++)
		for (unsigned reason = 0; reason < REASON_COUNT; reason++) {
			struct service_node *n = service_node(j->graph, k);

			if (own[(gsize)k * REASON_COUNT + reason] > n->of_reason) {
				n->of_reason = own[(gsize)k * REASON_COUNT + reason];
				n->reason = reason;
			}
		}
}

/* --- event loops --- */

struct loop_edge {
	guint from, to;
	double loop;	/* average threads in the loop */
	uint64_t loop_ns;
	const char *there;
	enum peer_how how;
};

static bool has_edge(struct joining *j, guint from, guint to)
{
	const uint64_t key = (uint64_t)from << 32 | to;

	return g_hash_table_contains(j->edges, &key);
}

/* Connections of event loops that have asked somebody, except where threads already have an edge. */
static GArray *loop_edges_new(struct joining *j)
{
	GArray *loops = g_array_new(FALSE, FALSE, sizeof(struct loop_edge));

	EACH_POINTER(k, const struct service_instance, i, j->map->instances) {
		GHashTableIter iter;
		gpointer there, asked;

		g_hash_table_iter_init(&iter, i->asked);
		while (i->has_asked && g_hash_table_iter_next(&iter, &there, &asked)) {
			const struct service_asked *a = asked;
			struct loop_edge e = { .from = node_of(j, i->service, true),
					       .loop = rate_of(j->map, i->host, i->loop_ns),
					       .loop_ns = i->loop_ns,
					       .there = there };

			if (a->ns || !a->locals->len)
				continue;
			e.to = target_of(j, i, there, a->locals, &e.how);
			if (e.to != e.from && !has_edge(j, e.from, e.to))
				g_array_append_val(loops, e);
		}
	}
	return loops;
}

/* How many threads of each service are busy, itself or through the services that it asks, for FOLLOW_HOPS_MAX hops. */
static double *busy_new(const struct service_graph *g, const GArray *loops)
{
	double *busy = g_new(double, g->nodes->len + 1);
	g_autofree double *before = g_new(double, g->nodes->len + 1);

	for (guint i = 0; i < g->nodes->len; i++)
		busy[i] = service_node(g, i)->own + service_node(g, i)->asks;
	for (int hop = 0; hop < FOLLOW_HOPS_MAX; hop++) {
		memcpy(before, busy, g->nodes->len * sizeof(*busy));
		for (guint i = 0; i < g->nodes->len; i++)
			busy[i] = service_node(g, i)->own + service_node(g, i)->asks;
		EACH_ROW(i, const struct loop_edge, e, loops)
			busy[e->from] += MIN(e->loop, before[e->to]);
	}
	return busy;
}

static void join_loops(struct joining *j)
{
	g_autoptr(GArray) loops = loop_edges_new(j);
	g_autofree double *busy = busy_new(j->graph, loops);

	EACH_ROW(i, const struct loop_edge, e, loops) {
		const double threads = MIN(e->loop, busy[e->to]);
		guint index;

		add_to_edge(j, e->from, e->to, threads,
			    e->loop > 0 ? (uint64_t)((double)e->loop_ns * (threads / e->loop)) : 0, e->there, e->how);
		edge_of(j, e->from, e->to, &index)->is_loop = true;
	}
}

/* --- what is drawn --- */

ORDER(compare_edges, struct service_edge, ORDER_HIGH(threads) ORDER_LOW(from) ORDER_LOW(to))

/* All nodes reachable from there, or from which it can be reached. */
static bool *reachable(const struct service_graph *g, guint focus, bool is_down)
{
	bool *in = g_new0(bool, g->nodes->len + 1);

	in[focus] = true;
	for (int hop = 0; hop < REACH_HOPS_MAX; hop++)
		for (guint i = 0; i < g->edges->len; i++) {
			const struct service_edge *e = service_edge(g, i);
			const guint near = is_down ? e->from : e->to, far = is_down ? e->to : e->from;

			in[far] = in[far] || in[near];
		}
	return in;
}

static void draw_node(struct service_graph *g, guint i)
{
	g->drawn_nodes += !service_node(g, i)->is_drawn;
	service_node(g, i)->is_drawn = true;
}

/* Draws the heaviest edges while there is room; later ones only if both ends are drawn. */
static void choose_edges(struct service_graph *g, const bool *up, const bool *down)
{
	for (guint i = 0; i < g->edges->len; i++) {
		struct service_edge *e = service_edge(g, i);
		const guint more = !service_node(g, e->from)->is_drawn + !service_node(g, e->to)->is_drawn;

		if (up && !(up[e->from] && up[e->to]) && !(down[e->from] && down[e->to]))
			continue;
		g->all += e->threads;
		if (g->drawn_nodes + more > SERVICES_DRAWN_MAX || g->drawn_edges >= SERVICE_EDGES_DRAWN_MAX)
			continue;
		draw_node(g, e->from);
		draw_node(g, e->to);
		e->is_drawn = true;
		g->drawn_edges++;
		g->drawn += e->threads;
	}
}

static void count_linked(struct service_graph *g)
{
	g_autofree bool *linked = g_new0(bool, g->nodes->len + 1);

	for (guint i = 0; i < g->edges->len; i++)
		linked[service_edge(g, i)->from] = linked[service_edge(g, i)->to] = true;
	for (guint i = 0; i < g->nodes->len; i++)
		g->linked_nodes += linked[i];
}

static void choose_drawn(struct joining *j, const char *focus)
{
	struct service_graph *g = j->graph;
	const guint at = focus ? GPOINTER_TO_UINT(g_hash_table_lookup(j->nodes, focus)) : 0;
	g_autofree bool *up = at ? reachable(g, at - 1, false) : NULL, *down = at ? reachable(g, at - 1, true) : NULL;

	if (at)
		draw_node(g, at - 1);
	if (at || !focus)
		choose_edges(g, up, down);
	count_linked(g);
}

struct service_graph *service_graph_new(const struct service_map *m, const char *focus)
{
	struct service_graph *g = g_new0(struct service_graph, 1);
	struct joining j = { .map = m,
			     .graph = g,
			     .nodes = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL),
			     .edges = g_hash_table_new_full(hash_u64, g_int64_equal, g_free, NULL),
			     .most = g_array_new(FALSE, FALSE, sizeof(double)) };

	g->nodes = g_array_new(FALSE, FALSE, sizeof(struct service_node));
	g->edges = g_array_new(FALSE, FALSE, sizeof(struct service_edge));
	g->texts = g_string_chunk_new(4096);
	for (guint i = 0; i < m->instances->len; i++)
		join_asked(&j, g_ptr_array_index(m->instances, i));
	for (guint i = 0; i < g->edges->len; i++)
		service_node(g, service_edge(g, i)->from)->asks += service_edge(g, i)->threads;
	sum_nodes(&j);
	join_loops(&j);
	g_array_sort(g->edges, compare_edges);
	choose_drawn(&j, focus);
	g_hash_table_unref(j.nodes);
	g_hash_table_unref(j.edges);
	g_array_unref(j.most);
	return g;
}

FREES(service_graph_free, struct service_graph, g, g_array_unref(g->nodes); g_array_unref(g->edges);
      g_string_chunk_free(g->texts))
