/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CMD_HISTORY_H
#define CMD_HISTORY_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "profile/profile.h"

/*
 * --history [DIR] of the commands that read: what an agent kept, in place of a recording.  One for the whole command.
 */

gboolean history_option(const char *name, const char *value, gpointer data, GError **error);
gboolean history_incident_option(const char *name, const char *value, gpointer data, GError **error);
#define INCIDENT_ENTRY                                                                                                 \
	{                                                                                                              \
		"incident", 0, 0, G_OPTION_ARG_CALLBACK, (gpointer)history_incident_option,                            \
			"Read what was put aside under that name; report --incidents lists them", "NAME"              \
	}
#define HISTORY_ENTRY                                                                                                                  \
	{                                                                                                                              \
		"history", 0, G_OPTION_FLAG_OPTIONAL_ARG, G_OPTION_ARG_CALLBACK, (gpointer)history_option,                             \
			"Read what offcpu agent kept, by clock times; the last hour unless --from or --to say more (/var/lib/offcpu)", \
			"DIR"                                                                                                          \
	}

bool history_is_asked(void);
/* The folder of the history, of an incident that of its history. */
const char *history_store(void);
/* The folder that was asked for; it stands for the history in messages. */
const char *history_dir(void);
/* Are these times?  NULL: not given. */
bool history_check_times(const char *from, const char *to, GError **error);
/*
 * The end of a range that is as long as another one, as a text for the others; NULL where the times are none.  Free
 * with g_free().
 */
char *history_as_long(const char *begin, const char *from, const char *to);
/* Up to now, and an hour of it, unless more is said; in CLOCK_REALTIME. */
bool history_range(const char *from, const char *to, uint64_t *ret_from_ns, uint64_t *ret_to_ns, GError **error);
/* Of the history in that folder. */
struct profile *history_read_of(const char *dir, const char *from, const char *to, GError **error);
struct profile *history_read(const char *from, const char *to, GError **error);

#endif
