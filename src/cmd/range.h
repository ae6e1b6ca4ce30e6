/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CMD_RANGE_H
#define CMD_RANGE_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "agent/config.h"
#include "cmd/answering.h"
#include "profile/profile.h"

/* --history [DIR] of reading commands: reads an agent's store instead of a recording.  One per process. */

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
/* The folder of the history; for an incident, that of its own history. */
const char *history_store(void);
/* The folder given by the user; stands for the history in messages. */
const char *history_dir(void);
/* Whether these are valid times; NULL: not given. */
bool history_check_times(const char *from, const char *to, GError **error);
/* The end of a range of the same length as another one, as text; NULL: invalid times.  Free with g_free(). */
char *history_as_long(const char *begin, const char *from, const char *to);
/* Defaults to the last hour; in CLOCK_REALTIME. */
bool history_range(const char *from, const char *to, uint64_t *ret_from_ns, uint64_t *ret_to_ns, GError **error);
/* Reads the history in that folder. */
struct profile *history_read_of(const char *dir, const char *from, const char *to, GError **error);
struct profile *history_read(const char *from, const char *to, GError **error);

/* --from, --to and --history of commands that read a recording. */
struct range_args {
	char *from, *to;
};

#define RANGE_ENTRIES(args) \
	{ "from", 0, 0, G_OPTION_ARG_STRING, &(args).from, \
	  "Only from then on: seconds into the window, -5s before its end, or a clock time", "TIME" }, \
	{ "to", 0, 0, G_OPTION_ARG_STRING, &(args).to, "Only up to then, the same", "TIME" }, HISTORY_ENTRY, INCIDENT_ENTRY

void range_args_clear(struct range_args *a);
bool range_is_asked(const struct range_args *a);
/* False on error: invalid times. */
bool range_args_check(const struct range_args *a, GError **error);
/*
 * *ret_path: the given file or RECORDING_DEFAULT_FILE, or the folder of --history.  False on error: both were given.
 */
bool range_source(const char *given, const char **ret_path, GError **error);
/* The recording, cut to the range: recording_read() and profile_cut(); or that part of the history. */
struct profile *range_read_profile(const char *path, const struct range_args *a, GError **error);
/*
 * Reads two at the same time, since reading takes a quarter of a diff of two recordings of 20,000 stacks.  is_one:
 * both are the same and read once.  False on error: at least one is NULL, and the error is of the first of these.
 */
bool range_read_two(const char *const path[2], const struct range_args range[2], bool is_one, struct profile *ret[2],
		    GError **error);

/* `report --history --requests`: latency over time.  Prints; returns an exit status. */
int history_requests(const struct range_args *range, bool is_json);
/* Requests per second of that name; NULL: of the only name.  0: unknown, or there are several names. */
double history_request_rate(const struct range_args *range, const char *name);

/* `report --incidents` and `agent --keep`. */

/* Prints the incidents of a history, as text or JSON; returns an exit status. */
int incidents_show(const char *dir, bool is_json, const struct answer_args *answer);

struct incident_request {
	/* from, to: as with --history; said NULL: kept manually; recording NULL: none */
	char *name, *from, *to, *said, *recording;
	gboolean may_replace;
};
int incidents_keep(const struct agent_config *c, const struct incident_request *r);

#endif
