/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef FOLD_CONNECTIONS_H
#define FOLD_CONNECTIONS_H

#include "base/net_table.h"
#include "fold/net_homes.h"
#include "profile/profile.h"

/*
 * TCP connections of processes as rows of a window.  A port that the kernel chose tells one connection from another, which
 * matters where several processes serve one address.  A process that connects anew for each request would have thousands.
 * So of each process and address that is served CONNECTIONS_APART are told, and one row for the others.
 */
#define CONNECTIONS_APART 8

struct connections;

/* Both are borrowed. */
struct connections *connections_new(struct profile *profile, struct net_homes *homes);
void connections_free(struct connections *c);	/* NULL is fine */

/* side: enum connection_side, of that process. */
void connections_add(struct connections *c, uint32_t pid, uint8_t side, const struct net_end *local, const struct net_end *remote);
/* It accepts connections there; of no address at all those of its network namespace. */
void connections_add_listener(struct connections *c, uint32_t pid, const struct net_end *local);
void connections_next_window(struct connections *c);

#endif
