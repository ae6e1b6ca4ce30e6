/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef FOLD_NAGLE_H
#define FOLD_NAGLE_H

#include "fold/sock_peers.h"
#include "profile/profile.h"

#define NAGLE_PROCESSES_MAX 16	/* whose sockets are looked at */

/*
 * Of processes that wait again and again for as long as TCP delays an acknowledgement: does a connection of theirs to
 * there hold back a small write meanwhile?  Adds LIMIT_NAGLE then.
 */
void nagle_look(struct profile *p, struct net_tables *nets, struct sock_peers *peers, const char *proc_dir);

#endif
