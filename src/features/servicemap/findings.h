/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef FEATURES_SERVICEMAP_FINDINGS_H
#define FEATURES_SERVICEMAP_FINDINGS_H

#include "analyse/peers.h"
#include "analyse/reason/reason.h"

/*
 * Services of one host or of many, and who waits how long for whom.  Who serves an address is found as in peers.h, and what
 * is a wait for somebody else as in follow.h.  A service is known by its name, wherever it runs.
 *
 * An event loop waits the same way for an answer and for work.  Its edges tell for how long those whom it has asked are at
 * work, at most as long as it waits.
 */

struct service_map;

struct service_map *service_map_new(uint64_t from_unix_ns, uint64_t to_unix_ns);
void service_map_free(struct service_map *m);	/* NULL is fine */

/* So long that host was observed. */
void service_map_add_host(struct service_map *m, const char *host, uint64_t observed_ns);

/* Time of threads of a service on a host: on CPU, or for that reason. */
struct service_time {
	const char *host, *service;
	enum reason reason;
	const struct object *object;	/* NULL: not known */
	bool is_idle;
	uint64_t ns;
};
void service_map_add_time(struct service_map *m, const struct service_time *t);
/* Of a process of the service that row->process names. */
void service_map_add_connection(struct service_map *m, const struct peer_row *row, enum connection_side side);

/* All of that of a profile, of the chosen threads; NULL: of all. */
void service_map_add_profile(struct service_map *m, const struct profile *p, const struct selection *selection);
/* What stands for the name of a thread's service. */
static inline const char *service_name(const struct thread *t) { return t->service ? t->service : t->process; }

/* The threads of that service, as they were chosen; for selection_free(). */
struct selection *service_select(const struct profile *p, const char *service);

struct service_node {
	const char *name;	/* of the service; of who is not recorded, the address */
	bool is_known;		/* it is recorded */
	guint hosts_cnt;
	const char *host;	/* where it does most */
	/* threads on average: that wait for others, and that run or wait for something else */
	double asks, own;
	enum reason reason;	/* the most of `own`: REASON_ON_CPU, or what it waits for */
	double of_reason;
	bool is_drawn;
};

struct service_edge {
	guint from, to;		/* nodes */
	double threads;		/* that wait, on average; 0: not known */
	uint64_t ns;		/* the same as time of threads */
	bool is_loop;		/* at most so much: see above */
	enum peer_how how;	/* by what most of it was found */
	const char *address;	/* where most of it was asked */
	bool is_drawn;
};

/* What is drawn, and how much is not. */
struct service_graph {
	GArray *nodes;	/* struct service_node */
	GArray *edges;	/* struct service_edge, who waits most first */
	guint drawn_nodes, drawn_edges, linked_nodes;	/* linked: that have an edge */
	double drawn, all;	/* threads, of edges */
	GStringChunk *texts;
};

#define SERVICES_DRAWN_MAX 24
#define SERVICE_EDGES_DRAWN_MAX 40

/* focus: only those who wait for that service, and for whom it waits, over others, too; NULL: all. */
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
