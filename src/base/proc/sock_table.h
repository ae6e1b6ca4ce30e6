/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef BASE_PROC_SOCK_TABLE_H
#define BASE_PROC_SOCK_TABLE_H

#include "base/proc/net_table.h"

#define SOCK_TABLE_MAX 65536	/* number of sockets */

struct nlmsghdr;

/*
 * Asks the kernel for all sockets of our own network namespace (sock_diag); `take` appends the one of an answer. The
 * body of a request depends on the family. False: the kernel does not answer.
 */
bool sock_table_add(GArray *sockets, const void *body, size_t bytes,
		    void (*take)(const struct nlmsghdr *head, GArray *sockets));

/*
 * Appends struct net_socket: the TCP sockets of our own network namespace that are in one of the states, a set of
 * 1 << TCP_LISTEN and the like.  The kernel takes a fortieth of the time that it takes for the text in /proc.
 */
bool tcp_table_add(GArray *sockets, uint32_t states);

#endif
