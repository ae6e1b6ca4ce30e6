/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef EXPLAIN_SERVERS_H
#define EXPLAIN_SERVERS_H

#include "analyse/reason/reasons.h"

/*
 * Where a server that is waited for tells what it does: of "127.0.0.1:5432 (postgres)"; NULL: it is none that is known.
 * is_busy: it has run meanwhile.
 */
const char *servers_advice(const char *peer, bool is_busy);
/*
 * The same of a wait for data from that object (or NULL), or of who ends it: "(mariadbd)", NULL; unless the rule of the wait
 * has an advice of its own.
 */
const char *servers_advice_of_wait(const struct reasons *r, uint32_t wait, const struct object *o, const char *by, bool is_busy);

#endif
