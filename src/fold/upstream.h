/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef FOLD_UPSTREAM_H
#define FOLD_UPSTREAM_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Whom an event loop has asked: the far end of most of the TCP connections that an epoll set watches and that this
 * process made itself, as /proc/PID/net/tcp tells.  That table is read at most once a second for a network namespace,
 * and to UPSTREAM_TABLE_BYTES.
 */
struct upstreams;

#define UPSTREAM_TABLE_BYTES (4u << 20)
#define UPSTREAM_WATCHED_MAX 1024

struct upstreams *upstreams_new(const char *proc_dir);
void upstreams_free(struct upstreams *u);	/* NULL is fine */

struct upstream {
	char *address;	/* "127.0.0.1:8081"; free with g_free() */
	unsigned cnt;	/* connections to there */
	uint64_t inode;	/* of the socket there, or of the one that listens; 0: not on this machine */
};

/* False: it watches no such connection. */
bool upstreams_find(struct upstreams *u, uint32_t pid, int epoll_fd, struct upstream *ret);

#endif
