/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef FOLD_UPSTREAM_H
#define FOLD_UPSTREAM_H

#include <stdbool.h>
#include <stdint.h>

#include "base/net_table.h"
#include "fold/net_homes.h"

#define UPSTREAM_WATCHED_MAX 1024
#define UPSTREAM_SOCKETS_MAX 64

/* A TCP socket that an epoll set watches; remote.port 0: it listens. */
struct upstream_socket {
	struct net_end local, remote;
	bool is_server;	/* the other end connected to it */
};

struct upstream {
	char *address;	/* "127.0.0.1:8081", "/run/app.sock"; free with g_free() */
	unsigned cnt;	/* connections to there */
	uint64_t inode;	/* of the socket there, or of the one that listens; 0: not on this machine */
	uint64_t listener;	/* who accepts there, as connections are short; 0: not known, or not on this machine */
};

/*
 * Whom an event loop has asked: the far end of most of the TCP or Unix connections that an epoll set watches and that this
 * process made itself.  False: it watches no such connection.
 * sockets: of struct upstream_socket, to which at most UPSTREAM_SOCKETS_MAX of what it watches are added.
 */
bool upstream_find(struct net_tables *tables, struct net_homes *homes, const char *proc_dir, uint32_t pid, int epoll_fd,
		   struct upstream *ret, GArray *sockets);

/* The socket that listens at "127.0.0.1:8081"; 0: not on this machine, or it is no such address. */
uint64_t upstream_listener(struct net_tables *tables, struct net_homes *homes, uint32_t pid, const char *there);

#endif
