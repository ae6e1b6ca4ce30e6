/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef SERVER_CONNECTIONS_H
#define SERVER_CONNECTIONS_H

#include <glib.h>
#include <microhttpd.h>

/*
 * Connections, their states, and since when.  libmicrohttpd ends silent ones.  This ends those that send a byte now
 * and then, and drops the oldest if somebody opens hundreds.
 */

struct peers;
struct peer;

enum peer_doing {
	PEER_WAITING = 0,	/* for a request or its remainder */
	PEER_ASKING,		/* a worker handles it: never ended from here */
	PEER_ANSWERING,		/* the answer is being sent */
};

struct peers *peers_new(unsigned max);
void peers_free(struct peers *peers);

/* The caller owns the socket and calls peer_remove() before closing it.  May shut another one down. */
struct peer *peer_add(struct peers *peers, int fd, gint64 now_us);
void peer_remove(struct peers *peers, struct peer *p);
void peer_does(struct peers *peers, struct peer *p, enum peer_doing doing, gint64 now_us);

/* Shuts down peers that take too long.  Call it about once a second. */
void peers_sweep(struct peers *peers, gint64 now_us);

/* Callbacks for libmicrohttpd shared by our servers: connections, their states, and forbidden headers. */

/* For MHD_OPTION_NOTIFY_CONNECTION, with a struct peers. */
void connections_changed(void *peers, struct MHD_Connection *c, void **socket_context,
			 enum MHD_ConnectionNotificationCode code);
/* Sets the connection's state from now on. */
void connection_does(struct peers *peers, struct MHD_Connection *c, enum peer_doing doing);
/* Why its header is refused with status 400, or NULL. */
const char *connection_refusal(struct MHD_Connection *c);

/*
 * Checks the fields of a request's header one by one.  Refuses what a proxy and this server could interpret
 * differently (RFC 9112, 3.2, 5.1, 6.3): who asks, and where a request ends, must be unambiguous.
 */
struct fields {
	unsigned hosts, lengths, codings;
	const char *why;
};

void fields_take(struct fields *f, const char *name, const char *value);
/* A message for status 400, or NULL. */
const char *fields_refusal(const struct fields *f);

#endif
