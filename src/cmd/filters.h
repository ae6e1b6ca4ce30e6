/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CMD_FILTERS_H
#define CMD_FILTERS_H

#include <glib.h>
#include <stdbool.h>

#include "analyse/query.h"

/* The options of a reading command that choose threads and waits, and what they mean. */
struct filters {
	char *state, *comm, *grep, *pids, *tids, *attribute, *trace; /* as the options come */
	gboolean user, kernel;
	struct query query;
	char *states; /* what query points to */
	GArray *pid_list, *tid_list;
	GPtrArray *process_list;
};

/* The options' rows, FILTERS_OPTIONS of them, to be put among a command's own. */
#define FILTERS_OPTIONS(f)                                                                                             \
	{"state", 0, 0, G_OPTION_ARG_STRING, &(f).state, "Only waits in these states: letters, or bcc's number",       \
	 "LIST"},                                                                                                      \
		{"comm", 0, 0, G_OPTION_ARG_STRING, &(f).comm, "Only threads with such a name", "GLOB"},               \
		{"grep", 0, 0, G_OPTION_ARG_STRING, &(f).grep, "Only waits with such a frame", "REGEX"},               \
		{"attribute", 0, 0, G_OPTION_ARG_STRING, &(f).attribute, "Only waits for requests with such an attribute", "KEY=GLOB"}, \
		{"trace", 0, 0, G_OPTION_ARG_STRING, &(f).trace, "Only rows whose longest wait was for this trace", "HEX"}, \
		{"pid", 'p', 0, G_OPTION_ARG_STRING, &(f).pids, "Only these processes or services", "PID|NAME"},                  \
		{"tid", 't', 0, G_OPTION_ARG_STRING, &(f).tids, "Only these threads", "TID[,TID]"},                    \
		{"user-threads", 'u', 0, G_OPTION_ARG_NONE, &(f).user, "Only user threads", NULL},                     \
	{                                                                                                              \
		"kernel-threads", 'k', 0, G_OPTION_ARG_NONE, &(f).kernel, "Only kernel threads", NULL                  \
	}

/* Makes f->query of the options; false with a sentence about the first that is no good. */
bool filters_understand(struct filters *f, GError **error);
void filters_clear(struct filters *f);

/*
 * Makes the rules of a file, before the built-in ones, what all analyses of this process go by.  NULL: the built-in
 * ones alone. False with one sentence.
 */
bool cmd_rules_load(const char *path, GError **error);

/* Appends a rule by its name, or all that give a reason; false: there is none of that name. */
bool cmd_rules_explain(GString *out, const char *name);

#endif
