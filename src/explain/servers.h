/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef EXPLAIN_SERVERS_H
#define EXPLAIN_SERVERS_H

/* Where a server that is waited for tells what it does: of "127.0.0.1:5432 (postgres)"; NULL: it is none that is known. */
const char *servers_advice(const char *peer);

#endif
