/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef AGENT_PRIVILEGES_H
#define AGENT_PRIVILEGES_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * What the agent goes on with once it records: it reads other users' programs all the time, so it may do no more than that takes.
 * Called before threads are made, so that all of them have it; what was not there is not taken.
 */

/* The capabilities of which it keeps those that it has, as bits.  with_stats: the kernel lets only CAP_SYS_ADMIN count the programs' time. */
uint64_t privileges_wanted(bool with_stats);
/* Gives up the others, in all sets, for good: no program that it runs can have more.  False with a sentence. */
bool privileges_drop(uint64_t wanted, GError **error);
/* What it has now: effective capabilities; 0 when it cannot be told. */
uint64_t privileges_now(void);

#endif
