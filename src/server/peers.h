/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef SERVER_PEERS_H
#define SERVER_PEERS_H

#include <glib.h>

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

#endif
