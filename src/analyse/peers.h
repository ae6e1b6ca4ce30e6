/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef ANALYSE_PEERS_H
#define ANALYSE_PEERS_H

#include "analyse/query.h"
#include "profile/profile.h"

/*
 * Finds the other end of a TCP connection in recordings of other hosts.  Both ends together identify a connection.  If
 * the ends of clients or servers were merged, only the served address identifies it: the waiter is one of its clients.
 * Clocks of hosts differ, so times are used only to check whether windows overlap.
 */

#define PEERS_MAX 64	/* processes of one host that serve an address, such as forked workers */

/* A process that serves an address in a window.  Untrusted. */
struct peer_row {
	const char *host, *process;
	uint32_t pid;
	const char *local, *remote;	/* as in struct connection */
	uint64_t from_unix_ns, to_unix_ns;
};

struct peer_ask {
	const char *host;	/* the asking host: loopback addresses are its own */
	const char *there;	/* "10.0.0.5:3306" */
	const char *const *locals;	/* local ends of its connections to that address, ended by NULL */
	uint64_t from_unix_ns, to_unix_ns;
};

enum peer_how {
	PEER_NONE,	/* not found */
	PEER_CONNECTION,	/* by both ends of the connection */
	/* by the client's end; the served address is rewritten on the way (NAT, a service's address) */
	PEER_REWRITTEN,
	PEER_ADDRESS,	/* by the served address: the asker is one of its clients */
	PEER_APART,	/* a host serves it, but in no window that overlaps: another time, or its clock is off */
	PEER_SEVERAL,	/* several hosts have that address */
	PEER_HOW_COUNT
};

struct peer {
	enum peer_how how;
	const char *host;	/* from the rows; for PEER_SEVERAL one of them; NULL: none */
	const char *process, *local;	/* from the first row */
	uint32_t pids[PEERS_MAX];
	guint pid_cnt;
	uint64_t gap_ns;	/* for PEER_APART: minimum distance between its windows and the asker's */
};

/* rows: struct peer_row. */
struct peer peers_find(const struct peer_ask *ask, const GArray *rows);
const char *peer_how_name(enum peer_how how);	/* "connection" */

/*
 * "10.0.0.5:3306": the address that a wait was for, which its process connected to.  Free with g_free().  NULL: the
 * wait was for something else.
 */
char *peers_address_of(const struct object *o);
/* ":3306 from 10.0.0.9": whether a server waits for a client, to send a request or to read. */
bool peers_is_for_client(const struct object *o);
/*
 * Local ends of connections to that address, borrowed and ended by NULL.  selection NULL: of all processes.  Free with
 * g_free().
 */
const char **peers_locals(const struct profile *p, const struct selection *selection, const char *there);
/* The first of these recordings that is of that host and contains the process; NULL: none. */
const struct profile *peers_recording(const GPtrArray *profiles, const struct peer *peer);
/* Appends a struct peer_row for each process of the recording that serves that address or one of those connections. */
void peers_add_rows(GArray *rows, const struct profile *p, const struct peer_ask *ask);

/* TCP connections that a process had as the recording ended. */
struct peer_ends {
	uint32_t clients_cnt;	/* that it had accepted */
	uint32_t asked_cnt;	/* that it had made */
	bool is_one;	/* the latter all go to one place */
	bool listens;
};
struct peer_ends peer_ends_of(const struct profile *p, uint32_t pid);

/* Others have connected to it, or may. */
bool peers_serves(const struct profile *p, uint32_t pid);

/*
 * The process that this one waits longest for: by pipe or socket; asks: by a connection that it has made. 0: none is
 * known.
 */
uint32_t peers_awaited(const struct profile *p, uint32_t pid, bool asks);

/* Ids of processes that serve: others wait for their answers, or they have accepted connections. */
GHashTable *peers_servers_new(const struct profile *p);

#define PEER_UNASKED_NS 50000000	/* on average: what comes sooner may be one answer in pieces */

/* Nothing had been sent since the last data came, in most of these waits: the peer sends when it has something. */
bool peer_sends_unasked(const struct tcp_wait *t);
/* The same of all that the process's epoll sets wait for, for PEER_UNASKED_NS at a time and more. */
bool peers_send_unasked(const struct profile *p, uint32_t pid);

#endif
