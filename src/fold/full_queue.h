/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef FOLD_FULL_QUEUE_H
#define FOLD_FULL_QUEUE_H

#include "fold/sock_peers.h"
#include "profile/profile.h"

#define FULL_QUEUES_MAX 64	/* addresses that are looked at */

/*
 * Of the TCP servers of this machine that threads have waited for: is the queue of connections full that they have not
 * accepted yet?  Then the kernel drops who else connects.  Adds LIMIT_FULL for each.
 */
void full_queue_look(struct profile *p, struct net_tables *nets, struct sock_peers *peers, const char *proc_dir);

#endif
