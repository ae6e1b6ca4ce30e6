/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CMD_FOLLOW_H
#define CMD_FOLLOW_H

#include "cmd/filters.h"
#include "cmd/fleet_input.h"
#include "cmd/range.h"

/*
 * report --follow: what others wait for meanwhile, of whom the chosen threads wait, on their hosts.  Of recordings, the
 * first of which is the one that is followed, or of what hosts pushed.
 */
struct follow_args {
	const struct filters *filters;	/* understood */
	const struct range_args *range;
	const struct fleet_args *fleet;
	const char *const *paths;	/* without --clickhouse; NULL ends them */
	bool json;
};

/* Prints it; the exit status. */
int follow_report(const struct follow_args *a);

#endif
