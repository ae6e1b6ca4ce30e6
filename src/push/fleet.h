/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef PUSH_FLEET_H
#define PUSH_FLEET_H

#include "push/target.h"

/*
 * Windows of many hosts, out of ClickHouse's tables as one profile that every view takes.  The server sums over
 * windows.  What it answers is untrusted: everything is bounded and checked as in a recording's file.
 */
struct fleet_query {
	uint64_t from_unix_ns, to_unix_ns;	/* windows that began in [from, to), so adjoining ranges add up */
	const char *host_glob;	/* * and ?; NULL: all */
	bool with_connections;	/* of one host: processes of several have the same numbers */
};

/*
 * NULL with one sentence, also where there is no such window.  Of several hosts the processes are called "NAME@HOST",
 * and the window is as long as that of the host that was seen longest.
 */
struct profile *fleet_read(struct target *t, const struct fleet_query *query, GError **error);

/* "^db\\d.*$" of a glob as a regular expression of ClickHouse's; appended. */
void fleet_regex(GString *s, const char *glob);

#endif
