/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef FOLD_POOL_H
#define FOLD_POOL_H

#include "base/net_table.h"
#include "profile/limits.h"
#include "fold/sock_peers.h"
#include "profile/profile.h"

#define POOL_SOCKETS_MAX 4096	/* of a process; one with more descriptors is not looked at */

/*
 * Of a process that others wait for: how many connections it has from clients, and how many it made itself and where
 * most of these go; by TCP, and by Unix sockets of our own network namespace.  Adds LIMIT_POOL where the clients are
 * more, else nothing.  peers NULL: how many clients wait is not known.
 */
void pool_look(struct profile *p, struct net_tables *nets, struct sock_peers *peers, const char *proc_dir, uint32_t pid);

/*
 * Inodes of the sockets that a process has (uint64_t *, a set); NULL: it has none, too many, or is gone.  Free with
 * g_hash_table_unref().
 */
GHashTable *pool_sockets_new(const char *proc_dir, uint32_t pid);
/* By port: somebody listens there, so who has a connection there did not make it.  Free with g_free(). */
bool *pool_served_ports_new(const GArray *sockets);

#define BACKLOG_MIN 2	/* connections: a single one may have come just now */

/*
 * Do connections wait to be accepted by that process, as its workers are all busy?  Adds LIMIT_BACKLOG for the socket
 * at which most wait, else nothing.
 */
void backlog_look(struct profile *p, struct net_tables *nets, const char *proc_dir, uint32_t pid);

#endif
