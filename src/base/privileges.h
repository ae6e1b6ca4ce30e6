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
/* What the agent goes on with once it records.  with_admin: CAP_SYS_ADMIN, too. */
uint64_t privileges_wanted(bool with_admin);
/*
 * Keeps those of `wanted` that there are, in all sets, and sets no_new_privs: no program that it runs can have more.
 * False with a sentence.
 */
bool privileges_drop(uint64_t wanted, GError **error);
/* What it has now: effective capabilities; 0 when it cannot be told. */
uint64_t privileges_now(void);

#endif
