/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef SERVER_SERVER_H
#define SERVER_SERVER_H

#include "server/route.h"

/*
 * HTTP on one address, by libmicrohttpd.  One thread does the I/O for all clients, so that nobody waits for a slow
 * client; workers make the answers.  Requests are bounded in header size, time and number.
 */

struct server;

struct server_options {
	const char *address;		/* NULL: 127.0.0.1 */
	guint16 port;			/* 0: any free one */
	const GArray *readers;		/* struct reader; empty: one reader with a random token */
	/* Called with a line for each finished request: who, from where, what, status and bytes.  NULL: none */
	void (*audit)(const char *line);
	const char *const *names;	/* further names of the server: "offcpu.example", ..., NULL; or NULL */
	unsigned workers;		/* number of threads that call routes */
	const struct route *routes;
	gsize routes_cnt;
	void *ctx;			/* passed to routes */
	/*
	 * Called once the address is known, before any thread starts: drop privileges here.  False on error.  May be
	 * NULL.
	 */
	bool (*on_listening)(struct server *s, void *data, GError **error);
	void *data;
};

/* NULL on error. */
struct server *server_start(const struct server_options *options, GError **error);
/* "http://127.0.0.1:4711/TOKEN/" */
const char *server_url(const struct server *s);
/* An address that leads to the first page once and within a minute: safe on command lines, which others can read. */
const char *server_url_once(struct server *s, GError **error);

/* Runs until a terminating signal (true), or until nobody has asked for idle_s seconds (false); 0: no limit. */
bool server_run(struct server *s, unsigned idle_s);
void server_stop(struct server *s);	/* NULL is fine */

#endif
