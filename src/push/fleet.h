/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef PUSH_FLEET_H
#define PUSH_FLEET_H

#include "analyse/peers.h"
#include "features/follow/findings.h"
#include "push/target.h"

/*
 * Windows of many hosts, out of ClickHouse's tables as one profile that every view takes.  The server sums over
 * windows.  What it answers is untrusted: everything is bounded and checked as in a recording's file.
 */
struct fleet_query {
	uint64_t from_unix_ns, to_unix_ns;	/* windows that began in [from, to), so adjoining ranges add up */
	const char *host_glob;	/* * and ?; NULL: all */
	bool with_connections;	/* of one host: processes of several have the same numbers */
};

/*
 * NULL with one sentence, also where there is no such window.  Of several hosts the processes are called "NAME@HOST",
 * and the window is as long as that of the host that was seen longest.
 */
struct profile *fleet_read(struct target *t, const struct fleet_query *query, GError **error);

/* "^db\\d.*$" of a glob as a regular expression of ClickHouse's; appended. */
void fleet_regex(GString *s, const char *glob);

/* What ClickHouse's tables tell of each host in a range of time: sums of windows and of by_reason, no stacks. */

#define FLEET_HOSTS_MAX 5000	/* told; those that wait most */

struct fleet_host_row {
	char *host, *version, *kernel;
	uint32_t cpus;
	uint64_t windows;
	uint64_t last_unix_ns;		/* the end of the last window */
	uint64_t observed_ns;		/* of clock time */
	uint64_t tracer_ns;		/* CPU time that recording took, programs in the kernel included */
	uint64_t lost_ns;		/* of threads' time, that is told as lost */
	/* Off CPU and not idle; and the most of it that is of one service and reason ("": nothing) */
	uint64_t matters_ns, most_ns;
	char *most_service, *most_reason;
	/* Windows of which a report begins with a finding; the first one of the last such window, as it was told then; "" */
	uint64_t found_windows;
	char *finding;
};

struct fleet_hosts_query {
	struct fleet_query range;
	/* lists of globs with commas between them, each of which a service must match; NULL: all.  Other hosts are not told. */
	const char *only[2];
};

/* struct fleet_host_row, the one that waits most first; NULL with one sentence.  Free with g_array_unref(). */
GArray *fleet_hosts(struct target *t, const struct fleet_hosts_query *query, GError **error);

/* " AND (0 OR match(service, '^a.*$') OR match(service, '^b$'))", for each of `only`; nothing where all are. */
void fleet_append_services(GString *sql, const struct fleet_hosts_query *query);

/* Of all services of these hosts what they wait for, and their connections: sums of the server's.  False with one sentence. */
struct service_map;
bool fleet_services(struct target *t, const struct fleet_hosts_query *query, struct service_map *map, GError **error);

#define FLEET_PEERS_MAX 10000	/* rows of an answer */

/*
 * Appends a struct peer_row for each process and window, of any host, that serves that address or one of those
 * connections.  Their texts are put into `texts`.  The range of the query is that of the asker's window.
 */
bool fleet_peers(struct target *t, const struct fleet_query *q, const struct peer_ask *ask, GArray *rows,
		 GStringChunk *texts, GError **error);

/* Recordings of hosts for follow.h, each of which is read once. */
struct fleet_follow;

/* Of the windows of that range; the target is borrowed. */
struct fleet_follow *fleet_follow_new(struct target *t, const struct fleet_query *range);
void fleet_follow_free(struct fleet_follow *f);	/* NULL is fine */

/* Of all hosts that have such services, the one where they wait most, and which the source keeps.  NULL with one sentence. */
const struct profile *fleet_follow_first(struct fleet_follow *f, const struct fleet_hosts_query *query, GError **error);
struct follow_source fleet_follow_source(struct fleet_follow *f);

#endif
