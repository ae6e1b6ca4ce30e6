/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CMD_FLEET_INPUT_H
#define CMD_FLEET_INPUT_H

#include "cmd/filters.h"
#include "cmd/range.h"
#include "push/fleet.h"
#include "push/target.h"

/* --clickhouse of commands that read a recording: reads windows of many hosts instead. */
struct fleet_args {
	char *clickhouse, *host, *database, *credentials, *ca;
};

#define FLEET_ENTRIES(args) \
	{ "clickhouse", 0, 0, G_OPTION_ARG_STRING, &(args).clickhouse, \
	  "Read what hosts pushed there, in place of FILE; with --from and --to", "URL" }, \
	{ "host", 0, 0, G_OPTION_ARG_STRING, &(args).host, "Of --clickhouse: only hosts of such a name", "GLOB" }, \
	{ "database", 0, 0, G_OPTION_ARG_STRING, &(args).database, "Of --clickhouse (" TARGET_DATABASE ")", "NAME" }, \
	{ "credentials", 0, 0, G_OPTION_ARG_FILENAME, &(args).credentials, \
	  "Of --clickhouse: a file with \"user NAME\" and \"password SECRET\"", "FILE" }, \
	{ "ca", 0, 0, G_OPTION_ARG_FILENAME, &(args).ca, "Of --clickhouse: certificates to trust", "FILE" }

void fleet_args_clear(struct fleet_args *a);
static inline bool fleet_is_asked(const struct fleet_args *a) { return a->clickhouse != NULL; }
/* False on error: options exclude each other. */
bool fleet_args_check(const struct fleet_args *a, const struct range_args *range, bool has_file, GError **error);
/* Opens the engine and sets the query; NULL on error. */
struct target *fleet_open(const struct fleet_args *a, const struct range_args *range, struct fleet_query *ret,
			  GError **error);
/* The windows that began in the range, by default the last hour; NULL on error. */
struct profile *fleet_read_profile(const struct fleet_args *a, const struct range_args *range, GError **error);

/*
 * report --follow: what the threads that are waited for wait for themselves, also on other hosts.  Reads recordings
 * and histories, beginning with the first one, or what hosts have pushed.
 */
struct follow_args {
	const struct filters *filters;	/* parsed */
	const struct range_args *range;
	const struct fleet_args *fleet;
	const char *const *paths;	/* without --clickhouse; folders are histories; ended by NULL */
	bool json;
};

/* Prints the chains; returns the exit status. */
int follow_report(const struct follow_args *a);

#endif
