/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef PUSH_FLEET_HOSTS_H
#define PUSH_FLEET_HOSTS_H

#include "push/fleet.h"

/* What ClickHouse's tables tell of each host in a range of time: sums of windows and of by_reason, no stacks. */

#define FLEET_HOSTS_MAX 5000	/* told; those that wait most */

struct fleet_host_row {
	char *host, *version, *kernel;
	uint32_t cpus;
	uint64_t windows;
	uint64_t last_unix_ns;		/* the end of the last window */
	uint64_t observed_ns;		/* of clock time */
	uint64_t tracer_ns;		/* CPU time that recording took, programs in the kernel included */
	uint64_t lost_ns;		/* of threads' time, that is told as lost */
	/* Off CPU and not idle; and the most of it that is of one service and reason ("": nothing) */
	uint64_t matters_ns, most_ns;
	char *most_service, *most_reason;
	/* Windows of which a report begins with a finding; the first one of the last such window, as it was told then; "" */
	uint64_t found_windows;
	char *finding;
};

struct fleet_hosts_query {
	struct fleet_query range;
	/* lists of globs with commas between them, each of which a service must match; NULL: all.  Other hosts are not told. */
	const char *only[2];
};

/* struct fleet_host_row, the one that waits most first; NULL with one sentence.  Free with g_array_unref(). */
GArray *fleet_hosts(struct target *t, const struct fleet_hosts_query *query, GError **error);

#endif
