/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef BASE_PROC_NET_TABLE_H
#define BASE_PROC_NET_TABLE_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/*
 * The TCP and UDP sockets of a process's network namespace, as /proc/PID/net tells.  The kernel's answers about single
 * ones (sock_diag) are quicker, but only of the namespace that the question is asked in.
 */

#define NET_TABLE_BYTES (4U << 20)	/* of each of the kernel's four tables; what is beyond is not read */

struct net_end {
	uint8_t address[16];	/* as IPv6 has it: of IPv4 behind ::ffff: */
	uint16_t port;
};

struct net_socket {
	struct net_end local, remote;
	uint64_t inode;		/* 0: it belongs to no process any more */
	uint8_t state;		/* TCP_ESTABLISHED, TCP_LISTEN, ... */
	bool is_tcp;
	uint32_t queued;	/* of TCP_LISTEN: connections that nobody has accepted yet */
};

struct net_tables;

struct net_tables *net_tables_new(const char *proc_dir);
void net_tables_free(struct net_tables *t);	/* NULL is fine */

/*
 * struct net_socket: those of the process's namespace, read anew after a second at the earliest, and valid until the next
 * call.  NULL: they cannot be read.
 */
const GArray *net_tables_of(struct net_tables *t, uint32_t pid);

/*
 * struct unix_socket: the stream sockets of our own namespace, read anew after a second at the earliest.  NULL: the
 * kernel does not tell.
 */
const GArray *net_tables_unix(struct net_tables *t);

/* Appends struct net_socket of the text of such a table; what is no line of one is left out. */
void net_table_add(GArray *sockets, FILE *file, bool is_tcp);

/* address: 4 or 16 bytes, in the network's order. */
struct net_end net_end_of(const uint8_t *address, size_t bytes, uint16_t port);
bool net_end_is_any(const struct net_end *e);	/* whatever its port */
char *net_end_text(const struct net_end *e);	/* "127.0.0.1:80", "[::1]:80"; free with g_free() */
/* Do two texts begin with the same one?  Each goes on with a blank, if at all. */
static inline bool net_text_is_same(const char *a, const char *b)
{
	size_t len = strcspn(a, " ");

	return len == strcspn(b, " ") && !strncmp(a, b, len);
}
/* Of such a text, and of what begins so: is it this machine, whatever its network? */
static inline bool net_text_is_loopback(const char *text)
{
	return !strncmp(text, "127.", 4) || !strncmp(text, "[::1]", 5);
}
/* The same back, of what begins so and goes on with a blank, if at all: "127.0.0.1:80 (nginx)".  False: it does not. */
bool net_end_read(const char *text, struct net_end *ret);

/* The socket at the other end of that connection; NULL: it is none of these. */
const struct net_socket *net_table_peer(const GArray *sockets, bool is_tcp, const struct net_end *local,
					const struct net_end *remote);
/* The TCP socket that listens for connections to there; NULL: none of these. */
const struct net_socket *net_table_listener(const GArray *sockets, const struct net_end *there);
bool net_table_has_port(const GArray *sockets, uint16_t port);

/*
 * The Unix stream sockets of our own network namespace, as the kernel answers (sock_diag): /proc/net/unix does not tell
 * which two belong together. Inodes are unique over all namespaces, so who looks up a foreign one finds nothing.
 */

#define UNIX_TABLE_MAX 65536	/* sockets */
#define UNIX_NAME_BYTES 109

struct unix_socket {
	uint64_t inode, peer;	/* peer 0: not accepted yet, or it has none */
	uint32_t queued;	/* of one that listens: connections that nobody has accepted yet */
	bool listens;
	char name[UNIX_NAME_BYTES];	/* what it was bound to, '@' in front of an abstract name; "": nothing */
};

GArray *unix_table_new(void);	/* struct unix_socket; NULL: the kernel does not answer */
const struct unix_socket *unix_table_find(const GArray *sockets, uint64_t inode);	/* NULL: none of these */

#endif
