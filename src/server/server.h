/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef SERVER_SERVER_H
#define SERVER_SERVER_H

#include "server/route.h"

/*
 * HTTP on one address, by libmicrohttpd.  One thread moves bytes for all clients, so none of them waits for a slow
 * one; workers find the answers.  Each request is bounded: in the size of its header, in time, and in the number of
 * those at work.
 */

struct server;

struct server_options {
	const char *address;		/* NULL: 127.0.0.1 */
	guint16 port;			/* 0: one that is free */
	const GArray *readers;		/* struct reader; none: one with a random token */
	/* A line for each request that is over: who, from where, what, its status and bytes.  NULL: none */
	void (*audit)(const char *line);
	const char *const *names;	/* by which it is called, too: "offcpu.example", ..., NULL; or NULL */
	unsigned workers;		/* routes are asked in so many threads at a time */
	const struct route *routes;
	gsize routes_cnt;
	void *ctx;			/* of the routes */
	/*
	 * Called once the address is known and before there are any threads: rights are given up here.  False with a
	 * sentence.  NULL: nothing.
	 */
	bool (*on_listening)(struct server *s, void *data, GError **error);
	void *data;
};

/* NULL with one sentence. */
struct server *server_start(const struct server_options *options, GError **error);
/* "http://127.0.0.1:4711/TOKEN/" */
const char *server_url(const struct server *s);
/* An address that leads to the first page once, and within a minute: for a command line, which others can read. */
const char *server_url_once(struct server *s, GError **error);

/* Until a signal comes that ends programs (true), or nobody has asked for idle_s seconds (false); 0: no limit. */
bool server_run(struct server *s, unsigned idle_s);
void server_stop(struct server *s);	/* NULL is fine */

#endif
