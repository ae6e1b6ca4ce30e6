/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CMD_RANGE_H
#define CMD_RANGE_H

#include <glib.h>

#include "cmd/history.h"
#include "profile/profile.h"

/* --from, --to and --history of the commands that read a recording. */
struct range_args {
	char *from, *to;
};

#define RANGE_ENTRIES(args) \
	{ "from", 0, 0, G_OPTION_ARG_STRING, &(args).from, \
	  "Only from then on: seconds into the window, -5s before its end, or a clock time", "TIME" }, \
	{ "to", 0, 0, G_OPTION_ARG_STRING, &(args).to, "Only up to then, the same", "TIME" }, HISTORY_ENTRY, INCIDENT_ENTRY

void range_args_clear(struct range_args *a);
bool range_is_asked(const struct range_args *a);
/* False, with one sentence, when they are no times. */
bool range_args_check(const struct range_args *a, GError **error);
/*
 * What is read: the file that was given or RECORDING_DEFAULT_FILE, or with --history that, which is its folder.
 * False: both were asked for.
 */
bool range_source(const char *given, const char **ret_path, GError **error);
/* The recording, or what of it lies in the range: recording_read() and profile_cut(); or that part of the history. */
struct profile *range_read_profile(const char *path, const struct range_args *a, GError **error);
/*
 * Two of them at the same time: of two recordings of 20,000 stacks reading is a quarter of what a diff takes.  is_one:
 * they are one, read once.  False: one is NULL, and the error is of the first of them.
 */
bool range_read_two(const char *const path[2], const struct range_args range[2], bool is_one, struct profile *ret[2],
		    GError **error);

#endif
