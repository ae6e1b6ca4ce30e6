/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef PUSH_FLEET_H
#define PUSH_FLEET_H

#include "analyse/peers.h"
#include "features/follow/findings.h"
#include "push/target.h"

/*
 * Windows of many hosts, read from ClickHouse's tables as one profile for any view.  The server adds up windows.  Its
 * answers are untrusted: everything is bounded and checked as when reading a recording.
 */
struct fleet_query {
	uint64_t from_unix_ns, to_unix_ns;	/* windows that began in [from, to), so that adjacent ranges add up */
	const char *host_glob;	/* * and ?; NULL: all */
	bool with_connections;	/* for a single host only: processes of several hosts may have the same pids */
};

/*
 * NULL on error, also if there is no such window.  With several hosts, processes are called "NAME@HOST", and the
 * window is as long as that of the host observed longest.
 */
struct profile *fleet_read(struct target *t, const struct fleet_query *query, GError **error);

/* Appends a glob as a regular expression for ClickHouse: "^db\\d.*$". */
void fleet_regex(GString *s, const char *glob);

/* A summary of each host in a time range: sums of windows and by_reason, without stacks. */

#define FLEET_HOSTS_MAX 5000	/* hosts listed, those that wait most */

struct fleet_host_row {
	char *host, *version, *kernel;
	uint32_t cpus;
	uint64_t windows;
	uint64_t last_unix_ns;		/* end of the last window */
	uint64_t observed_ns;		/* wall-clock time */
	uint64_t tracer_ns;		/* CPU time of the recorder, including programs in the kernel */
	uint64_t lost_ns;		/* threads' time that is reported as lost */
	/* Off-CPU time that is not idle, and the largest part of it of one service and reason ("": none) */
	uint64_t matters_ns, most_ns;
	char *most_service, *most_reason;
	/*
	 * Number of windows whose report begins with a finding, and the first finding of the last such window ("":
	 * none)
	 */
	uint64_t found_windows;
	char *finding;
};

struct fleet_hosts_query {
	struct fleet_query range;
	/*
	 * lists of globs separated by commas: a service must match each list; NULL: all.  Hosts without such services
	 * are omitted
	 */
	const char *only[2];
};

/* struct fleet_host_row, largest wait first; NULL on error.  Free with g_array_unref(). */
GArray *fleet_hosts(struct target *t, const struct fleet_hosts_query *query, GError **error);

/* " AND (0 OR match(service, '^a.*$') OR match(service, '^b$'))" for each list in `only`; nothing if all match. */
void fleet_append_services(GString *sql, const struct fleet_hosts_query *query);

/* What all services of these hosts wait for, and their connections, summed by the server.  False on error. */
struct service_map;
bool fleet_services(struct target *t, const struct fleet_hosts_query *query, struct service_map *map, GError **error);

#define FLEET_PEERS_MAX 10000	/* rows of an answer */

/*
 * Appends a struct peer_row for each process and window, of any host, that serves that address or one of those
 * connections.  Texts are stored in `texts`.  The query's range is that of the asking window.
 */
bool fleet_peers(struct target *t, const struct fleet_query *q, const struct peer_ask *ask, GArray *rows,
		 GStringChunk *texts, GError **error);

/* A source for follow/findings.h: recordings of hosts, each read once. */
struct fleet_follow;

/* Reads windows of that range.  Borrows the target. */
struct fleet_follow *fleet_follow_new(struct target *t, const struct fleet_query *range);
void fleet_follow_free(struct fleet_follow *f);	/* NULL is fine */

/* Of the hosts with such services, the one where they wait most.  The source owns it.  NULL on error. */
const struct profile *fleet_follow_first(struct fleet_follow *f, const struct fleet_hosts_query *query, GError **error);
struct follow_source fleet_follow_source(struct fleet_follow *f);

#endif
