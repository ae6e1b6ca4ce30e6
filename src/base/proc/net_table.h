/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef BASE_PROC_NET_TABLE_H
#define BASE_PROC_NET_TABLE_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/*
 * The TCP and UDP sockets of a process's network namespace, from /proc/PID/net. The kernel's answers (sock_diag) are
 * faster, but limited to the caller's namespace: TCP of our own comes from there.
 */

#define NET_TABLE_BYTES (4U << 20)	/* of each of the kernel's four tables; the rest is not read */

struct net_end {
	uint8_t address[16];	/* in IPv6 format: IPv4 after ::ffff: */
	uint16_t port;
};

struct net_socket {
	struct net_end local, remote;
	uint64_t inode;		/* 0: it belongs to no process any more */
	uint8_t state;		/* TCP_ESTABLISHED, TCP_LISTEN, ... */
	bool is_tcp;
	bool is_shut_out;	/* it has data to send, and the peer's window is closed */
	uint32_t queued;	/* of TCP_LISTEN: connections not accepted yet */
	uint32_t dropped;	/* UDP: datagrams that the kernel dropped since the socket was made, mostly for want of room */
};

struct net_tables;

struct net_tables *net_tables_new(const char *proc_dir);
void net_tables_free(struct net_tables *t);	/* NULL is fine */

/*
 * struct net_socket: those of the process's namespace, read again after at least a second, valid until the next call.
 * NULL: unreadable.
 */
const GArray *net_tables_of(struct net_tables *t, uint32_t pid);
/* Is the process in our own network namespace? False: no, or unknown. */
bool net_tables_are_ours(const char *proc_dir, uint32_t pid);

/*
 * struct unix_socket: the stream sockets of our own namespace, read again after at least a second. NULL: the kernel
 * does not tell.
 */
const GArray *net_tables_unix(struct net_tables *t);

/* Parses such a table's text and appends struct net_socket; other lines are ignored. */
void net_table_add(GArray *sockets, FILE *file, bool is_tcp);

/* address: 4 or 16 bytes, in network byte order. */
struct net_end net_end_of(const uint8_t *address, size_t bytes, uint16_t port);
bool net_end_is_any(const struct net_end *e);	/* the address; any port */
char *net_end_text(const struct net_end *e);	/* "127.0.0.1:80", "[::1]:80"; free with g_free() */
/* Do two texts begin with the same address? A blank may follow each. */
static inline bool net_text_is_same(const char *a, const char *b)
{
	size_t len = strcspn(a, " ");

	return len == strcspn(b, " ") && !strncmp(a, b, len);
}
/* Does a text begin with an address of this machine in every network? */
static inline bool net_text_is_loopback(const char *text)
{
	return !strncmp(text, "127.", 4) || !strncmp(text, "[::1]", 5);
}
/* Parses the address at the beginning, before a blank: "127.0.0.1:80 (nginx)". False: there is none. */
bool net_end_read(const char *text, struct net_end *ret);

/* The socket at the other end of that connection; NULL: not among these. */
const struct net_socket *net_table_peer(const GArray *sockets, bool is_tcp, const struct net_end *local,
					const struct net_end *remote);
/* The TCP socket that listens at that address; NULL: not among these. */
const struct net_socket *net_table_listener(const GArray *sockets, const struct net_end *there);
bool net_table_has_port(const GArray *sockets, uint16_t port);

/*
 * The Unix stream sockets of our own network namespace, from sock_diag: /proc/net/unix does not show which two are
 * connected. Inodes are unique over all namespaces, so looking up a foreign one finds nothing.
 */

#define UNIX_NAME_BYTES 109

struct unix_socket {
	uint64_t inode, peer;	/* peer 0: not accepted yet, or without one */
	uint32_t queued;	/* of a listening one: connections not accepted yet */
	bool listens;
	char name[UNIX_NAME_BYTES];	/* address that it was bound to, with '@' before an abstract name; "": none */
};

GArray *unix_table_new(void);	/* struct unix_socket; NULL: the kernel does not answer */
const struct unix_socket *unix_table_find(const GArray *sockets, uint64_t inode);	/* NULL: not among these */

#endif
