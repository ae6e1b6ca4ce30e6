/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef FOLD_SOCK_PEERS_H
#define FOLD_SOCK_PEERS_H

#include <stdbool.h>
#include <stdint.h>

#include "abi/target_abi.h"

/* Of TCP and UDP sockets: who is at the other end on this machine, as the kernel's own tables say (sock_diag). */
struct sock_peers;

/* NULL: the kernel does not answer such questions. */
struct sock_peers *sock_peers_new(const char *proc_dir);
void sock_peers_free(struct sock_peers *s);	/* NULL is fine */

/*
 * Inode of the socket at the other end; 0: it is not on this machine, or gone, or in another network namespace than
 * ours, which cannot be asked about.
 */
uint64_t sock_peers_inode(struct sock_peers *s, const struct offcpu_rec_target *rec);

/* Did the other end connect to this one?  Some socket listens at this one's port, or its port says so. */
bool sock_peers_is_server(struct sock_peers *s, const struct offcpu_rec_target *rec);

#endif
