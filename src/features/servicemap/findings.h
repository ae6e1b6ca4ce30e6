/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef FEATURES_SERVICEMAP_FINDINGS_H
#define FEATURES_SERVICEMAP_FINDINGS_H

#include "analyse/peers.h"
#include "analyse/reason/reason.h"

/*
 * Services of one or many hosts, and how long they wait for one another.  peers.h finds who serves an address,
 * follow/findings.h what counts as waiting for somebody else.  A service is identified by its name, on any host.
 *
 * An event loop waits in the same way for answers and for work.  Its edges tell how long the services that it has
 * asked are working, at most as long as the loop waits.
 */

struct service_map;

struct service_map *service_map_new(uint64_t from_unix_ns, uint64_t to_unix_ns);
void service_map_free(struct service_map *m);	/* NULL is fine */

/* How long that host was observed. */
void service_map_add_host(struct service_map *m, const char *host, uint64_t observed_ns);

/* Time of a service's threads on a host: on CPU, or waiting for that reason. */
struct service_time {
	const char *host, *service;
	enum reason reason;
	const struct object *object;	/* NULL: unknown */
	bool is_idle;
	uint64_t ns;
};
void service_map_add_time(struct service_map *m, const struct service_time *t);
/* A connection of a process of the service row->process. */
void service_map_add_connection(struct service_map *m, const struct peer_row *row, enum connection_side side);

/* Adds everything of a profile's selected threads; NULL: all. */
void service_map_add_profile(struct service_map *m, const struct profile *p, const struct selection *selection);
/* The service of a thread, or a placeholder. */
static inline const char *service_name(const struct thread *t) { return t->service ? t->service : t->process; }

/* Selects the threads of that service; free with selection_free(). */
struct selection *service_select(const struct profile *p, const char *service);

struct service_node {
	const char *name;	/* of the service; the address if it was not recorded */
	bool is_known;		/* it was recorded */
	guint hosts_cnt;
	const char *host;	/* the host where it is most active */
	/* average number of threads that wait for others, and that run or wait for something else */
	double asks, own;
	enum reason reason;	/* the largest part of `own`: REASON_ON_CPU, or a wait */
	double of_reason;
	bool is_drawn;
};

struct service_edge {
	guint from, to;		/* indices of nodes */
	double threads;		/* average number of waiting threads; 0: unknown */
	uint64_t ns;		/* the same as threads' time */
	bool is_loop;		/* an upper bound, from event loops: see above */
	enum peer_how how;	/* how most of it was found */
	const char *address;	/* the address that most of it was for */
	bool is_drawn;
};

/* What is drawn, and how much is left out. */
struct service_graph {
	GArray *nodes;	/* struct service_node */
	GArray *edges;	/* struct service_edge, largest first */
	guint drawn_nodes, drawn_edges, linked_nodes;	/* linked_nodes: nodes with an edge */
	double drawn, all;	/* average threads of edges */
	GStringChunk *texts;
};

#define SERVICES_DRAWN_MAX 24
#define SERVICE_EDGES_DRAWN_MAX 40

/* focus: only those that wait, also indirectly, for that service, and those it waits for; NULL: all. */
struct service_graph *service_graph_new(const struct service_map *m, const char *focus);
void service_graph_free(struct service_graph *g);	/* NULL is fine */

static inline struct service_node *service_node(const struct service_graph *g, guint i)
{
	return &g_array_index(g->nodes, struct service_node, i);
}
static inline struct service_edge *service_edge(const struct service_graph *g, guint i)
{
	return &g_array_index(g->edges, struct service_edge, i);
}

#endif
