/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef FOLD_BACKLOG_H
#define FOLD_BACKLOG_H

#include "base/net_table.h"
#include "profile/profile.h"

#define BACKLOG_MIN 2	/* connections: a single one may have come just now */

/*
 * Do connections wait to be accepted by that process, as its workers are all busy?  Adds LIMIT_BACKLOG for the socket
 * at which most wait, else nothing.
 */
void backlog_look(struct profile *p, struct net_tables *nets, const char *proc_dir, uint32_t pid);

#endif
