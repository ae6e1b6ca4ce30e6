/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef FOLD_CYCLE_H
#define FOLD_CYCLE_H

#include "base/net_table.h"
#include "profile/profile.h"

#define CYCLES_PAIRS_MAX 64	/* processes and whom they wait for that are looked at */

/*
 * A thread waits for an answer of another process, as the window ends, of which a connection to the thread's own process
 * waits to be accepted: each may wait for the other.  Adds LIMIT_CYCLE to that process.
 */
void cycle_look(struct profile *p, struct net_tables *nets, const char *proc_dir);

#endif
