/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef FOLD_TARGETS_SOCK_PEERS_H
#define FOLD_TARGETS_SOCK_PEERS_H

#include <stdbool.h>
#include <stdint.h>

#include "abi/target_abi.h"
#include "base/proc/net_table.h"

/*
 * Finds the other end of TCP and UDP sockets on this machine. The kernel is queried (sock_diag). It does not answer
 * for other network namespaces, whose tables are read instead.
 */
struct sock_peers;

/* The ends of a socket in a record of the kernel. */
#define ADDRESS_BYTES(rec) ((rec)->family == AF_INET ? 4 : 16)
#define LOCAL_END(rec) net_end_of((rec)->local, ADDRESS_BYTES(rec), (rec)->local_port)
#define REMOTE_END(rec) net_end_of((rec)->remote, ADDRESS_BYTES(rec), (rec)->remote_port)

/* NULL: the kernel does not support the query. Borrows the tables. */
struct sock_peers *sock_peers_new(const char *proc_dir, struct net_tables *tables);
void sock_peers_free(struct sock_peers *s);	/* NULL is fine */

/* Inode of the socket at the other end. 0: not in the process's network namespace, or gone. */
uint64_t sock_peers_inode(struct sock_peers *s, const struct offcpu_rec_target *rec);

/* Did the other end make the connection? Either something listens at this end's port, or the port is not ephemeral. */
bool sock_peers_is_server(struct sock_peers *s, const struct offcpu_rec_target *rec);

/*
 * Time since an established TCP socket of the process received and sent data, accurate to a few ms. False: unknown,
 * as in other network namespaces.
 */
bool sock_peers_last_data(struct sock_peers *s, uint32_t pid, const struct net_socket *socket,
			  uint64_t *ret_received_ns, uint64_t *ret_sent_ns);

enum owes {
	OWES_NOT,	/* or unknown */
	OWES_MAYBE,	/* both happened within one clock tick, and no acknowledgement of an answer came later */
	OWES,
};
/*
 * Has an established TCP socket of the process received data after it last sent any? `received_ns` is the time since,
 * the others are segments with data.
 */
struct client {
	enum owes owes;
	uint64_t received_ns;
	uint32_t received_cnt, sent_cnt;
	uint32_t unread_bytes;	/* of what it received; unknown at the other end */
	bool is_held_back;	/* a small write waits for an acknowledgement (Nagle's algorithm); unknown at the other end */
};
struct client sock_peers_client(struct sock_peers *s, uint32_t pid, const struct net_socket *socket);
/* The same seen from the other end, which the process asks: does that owe it an answer? */
struct client sock_peers_asked(struct sock_peers *s, uint32_t pid, const struct net_socket *socket);

/* The same, also where both happened within one clock tick and no acknowledgement of an answer came later. */
bool sock_peers_may_owe(struct sock_peers *s, uint32_t pid, const struct net_socket *socket);

/*
 * Has an established TCP socket of the process sent something, and received nothing since? Then *ret_sent_ns is how long
 * ago that was. False: no, or unknown.
 */
bool sock_peers_is_silent(struct sock_peers *s, uint32_t pid, const struct net_socket *socket, uint64_t *ret_sent_ns);

/* The length of the listening socket's accept queue. False: unknown. */
bool sock_peers_room(struct sock_peers *s, uint32_t pid, const struct net_socket *listener, uint32_t *ret_room);

#endif
