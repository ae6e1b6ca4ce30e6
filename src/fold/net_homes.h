/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef FOLD_NET_HOMES_H
#define FOLD_NET_HOMES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/net_table.h"

/*
 * Which network namespace of this machine has which address: of a connection between two containers the other end is in
 * another namespace's tables.  Those are dear to read, so only where an address leads there.
 */
struct net_homes;

/* Borrows the tables. */
struct net_homes *net_homes_new(const char *proc_dir, struct net_tables *tables);
void net_homes_free(struct net_homes *h);	/* NULL is fine */

/* The namespace of that process is known from now on. */
void net_homes_note(struct net_homes *h, uint32_t pid);
/* struct net_end, without ports: the addresses of that process's namespace but loopback's.  NULL: it is not known. */
const GArray *net_homes_addresses(struct net_homes *h, uint32_t pid);
/* Processes may have moved, and namespaces got addresses: they are looked at again as they are noted. */
void net_homes_forget(struct net_homes *h);

/* The window ends: for NET_HOMES_END_US there are no pauses. */
#define NET_HOMES_END_US 300000
void net_homes_end(struct net_homes *h);

/*
 * Inodes, of the socket with the same two ends the other way round, and of that which listens there.  0: no namespace
 * that is known has it, or several do, as where addresses were given twice.
 */
uint64_t net_homes_peer(struct net_homes *h, bool is_tcp, const struct net_end *local, const struct net_end *remote);
uint64_t net_homes_listener(struct net_homes *h, const struct net_end *there);

#endif
