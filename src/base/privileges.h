/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef BASE_PRIVILEGES_H
#define BASE_PRIVILEGES_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * Giving up what is not needed, for good.  Called before threads are made, so that all of them have it; what was not
 * there is not taken.
 */

/* Capabilities as bits. */
#define PRIVILEGE(capability) (UINT64_C(1) << (capability))
/* What it takes to trace. */
uint64_t privileges_to_trace(void);
/* What it takes to open what other users have, and what names are made of.  with_admin: CAP_SYS_ADMIN, too. */
uint64_t privileges_to_open(bool with_admin);
/*
 * As limits, which stay when the capabilities for them are given up: threads may get a CPU among thousands that want
 * one, and buffers may be locked in memory.  The capabilities that stand for limits that may not be raised.
 */
uint64_t privileges_to_limits(void);
/* For programs that are run: no more of the first, nor of what the thread has by it just now. */
void privileges_limits_drop(void);
/* "bpf, perfmon"; free with g_free(). */
char *privileges_text(uint64_t privileges);
/*
 * Keeps those of `wanted` that there are, in all sets, and sets no_new_privs: no program that it runs can have more.
 * False with a sentence.
 */
bool privileges_drop(uint64_t wanted, GError **error);
/* What it has now: effective capabilities; 0 when it cannot be told. */
uint64_t privileges_now(void);

#endif
