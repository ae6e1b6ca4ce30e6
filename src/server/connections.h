/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef SERVER_CONNECTIONS_H
#define SERVER_CONNECTIONS_H

#include <glib.h>
#include <microhttpd.h>

/*
 * The connections there are, and for how long each has done what it does.  libmicrohttpd ends one that is silent; this
 * ends one that sends a byte now and then, and has the oldest make room where somebody opens hundreds.
 */

struct peers;
struct peer;

enum peer_doing {
	PEER_WAITING = 0,	/* for a request, or for the rest of it */
	PEER_ASKING,		/* a worker is at it: never ended from here */
	PEER_ANSWERING,		/* the answer is on its way */
};

struct peers *peers_new(unsigned max);
void peers_free(struct peers *peers);

/* The socket stays the caller's, who says peer_remove() before it is closed.  May shut another one down. */
struct peer *peer_add(struct peers *peers, int fd, gint64 now_us);
void peer_remove(struct peers *peers, struct peer *p);
void peer_does(struct peers *peers, struct peer *p, enum peer_doing doing, gint64 now_us);

/* Shuts down whoever takes too long.  About once a second. */
void peers_sweep(struct peers *peers, gint64 now_us);

/* What every server of ours asks of libmicrohttpd: who is connected, for how long, and what a header must not be. */

/* For MHD_OPTION_NOTIFY_CONNECTION, of a struct peers. */
void connections_changed(void *peers, struct MHD_Connection *c, void **socket_context,
			 enum MHD_ConnectionNotificationCode code);
/* From now on. */
void connection_does(struct peers *peers, struct MHD_Connection *c, enum peer_doing doing);
/* Why its header is refused with 400, or NULL. */
const char *connection_refusal(struct MHD_Connection *c);

/*
 * The fields of a request's header, taken one by one.  What two programs on the way, as a proxy and this server, could
 * read in two ways is refused (RFC 9112, 3.2, 5.1, 6.3): who asks, and where a request ends, must be one thing.
 */
struct fields {
	unsigned hosts, lengths, codings;
	const char *why;
};

void fields_take(struct fields *f, const char *name, const char *value);
/* A sentence for a 400, or NULL. */
const char *fields_refusal(const struct fields *f);

#endif
