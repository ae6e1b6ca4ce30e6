/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef FOLD_TARGETS_SOCK_PEERS_H
#define FOLD_TARGETS_SOCK_PEERS_H

#include <stdbool.h>
#include <stdint.h>

#include "abi/target_abi.h"
#include "base/proc/net_table.h"

/*
 * Of TCP and UDP sockets: who is at the other end on this machine.  The kernel is asked (sock_diag); of another network
 * namespace than ours, which it does not answer for, its tables are read.
 */
struct sock_peers;

/* NULL: the kernel does not answer such questions.  Borrows the tables. */
struct sock_peers *sock_peers_new(const char *proc_dir, struct net_tables *tables);
void sock_peers_free(struct sock_peers *s);	/* NULL is fine */

/* Inode of the socket at the other end; 0: it is not in the process's network namespace, or gone. */
uint64_t sock_peers_inode(struct sock_peers *s, const struct offcpu_rec_target *rec);

/* Did the other end connect to this one?  Some socket listens at this one's port, or its port says so. */
bool sock_peers_is_server(struct sock_peers *s, const struct offcpu_rec_target *rec);

/*
 * How long ago that established TCP socket of a process received and sent data, to some milliseconds.  False: the kernel
 * does not say, as of a network namespace that is not ours.
 */
bool sock_peers_last_data(struct sock_peers *s, uint32_t pid, const struct net_socket *socket,
			  uint64_t *ret_received_ns, uint64_t *ret_sent_ns);

/*
 * Has that established TCP socket of a process received something since it last sent anything?  Then *ret_received_ns is
 * how long ago that was.  False: as above, too.
 */
bool sock_peers_owes(struct sock_peers *s, uint32_t pid, const struct net_socket *socket, uint64_t *ret_received_ns);

/*
 * Does that established TCP socket of a process hold back a small write until an earlier one is acknowledged (Nagle's
 * algorithm)?  False: as above, too.
 */
bool sock_peers_holds_back(struct sock_peers *s, uint32_t pid, const struct net_socket *socket);

/* How many connections that listening socket keeps until they are accepted.  False: as above. */
bool sock_peers_room(struct sock_peers *s, uint32_t pid, const struct net_socket *listener, uint32_t *ret_room);

#endif
