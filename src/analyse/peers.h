/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef ANALYSE_PEERS_H
#define ANALYSE_PEERS_H

#include "analyse/query.h"
#include "profile/profile.h"

/*
 * Who is at the other end of a TCP connection, in recordings of other hosts.  The two ends name each other, so both together
 * are one connection.  Where those that connect are not told apart, or the server's are not, the served address alone tells:
 * then the waiter is one of its clients.  Clocks of hosts differ.  So of times only whether windows overlap is asked.
 */

#define PEERS_MAX 64	/* processes of one host that serve an address: forked workers */

/* A process that serves an address in a window.  Rows come from anybody. */
struct peer_row {
	const char *host, *process;
	uint32_t pid;
	const char *local, *remote;	/* as in struct connection */
	uint64_t from_unix_ns, to_unix_ns;
};

struct peer_ask {
	const char *host;	/* of who asks: an address of loopback is this host's own */
	const char *there;	/* "10.0.0.5:3306" */
	const char *const *locals;	/* the own ends of its connections to there; NULL ends them */
	uint64_t from_unix_ns, to_unix_ns;
};

enum peer_how {
	PEER_NONE,	/* nobody is known there */
	PEER_CONNECTION,	/* by both ends */
	PEER_REWRITTEN,	/* by the own end, while the served address is rewritten on the way (NAT, an address of a service) */
	PEER_ADDRESS,	/* by the served address: one of its clients asks */
	PEER_APART,	/* a host serves it, but in no window that overlaps: another time, or its clock is off */
	PEER_SEVERAL,	/* several hosts have that address */
	PEER_HOW_COUNT
};

struct peer {
	enum peer_how how;
	const char *host;	/* the rows'; of PEER_SEVERAL one of them; NULL: nobody */
	const char *process, *local;	/* of the first row */
	uint32_t pids[PEERS_MAX];
	guint pid_cnt;
	uint64_t gap_ns;	/* of PEER_APART: between its windows and the asker's, at least */
};

/* rows: struct peer_row. */
struct peer peers_find(const struct peer_ask *ask, const GArray *rows);
const char *peer_how_name(enum peer_how how);	/* "connection" */

/* "10.0.0.5:3306" of what a wait was for, to where its process connected, for g_free(); NULL: it is for no such thing. */
char *peers_address_of(const struct object *o);
/* ":3306 from 10.0.0.9": for the next request of a client, or until it has read. */
bool peers_is_for_client(const struct object *o);
/* The own ends of connections to there, borrowed; the last one is NULL.  selection NULL: of all.  Free with g_free(). */
const char **peers_locals(const struct profile *p, const struct selection *selection, const char *there);
/* Is it a recording of that host, and one that has the process, as others of the host need not? */
bool peers_has(const struct profile *p, const struct peer *peer);
/* The first of these of which that holds; NULL: none. */
const struct profile *peers_recording(const GPtrArray *profiles, const struct peer *peer);
/* Appends a struct peer_row for each process of the recording that serves that address, or one of those connections. */
void peers_add_rows(GArray *rows, const struct profile *p, const struct peer_ask *ask);

#endif
