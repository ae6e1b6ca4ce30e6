/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CMD_RANGE_H
#define CMD_RANGE_H

#include <glib.h>

#include "profile/profile.h"

/* --from and --to of the commands that read a recording. */
struct range_args {
	char *from, *to;
};

#define RANGE_ENTRIES(args)                                                                                            \
	{ "from", 0, 0, G_OPTION_ARG_STRING, &(args).from,                                                             \
	  "Only from then on: seconds into the window, -5s before its end, or a clock time", "TIME" },                 \
	{ "to", 0, 0, G_OPTION_ARG_STRING, &(args).to, "Only up to then, the same", "TIME" }

void range_args_clear(struct range_args *a);
bool range_is_asked(const struct range_args *a);
/* False, with one sentence, when they are no times. */
bool range_args_check(const struct range_args *a, GError **error);
/* The recording, or what of it lies in the range: profile_file_read() and profile_cut(). */
struct profile *range_read_profile(const char *path, const struct range_args *a, GError **error);

#endif
