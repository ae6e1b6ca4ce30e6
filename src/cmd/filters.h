/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CMD_FILTERS_H
#define CMD_FILTERS_H

#include <glib.h>
#include <stdbool.h>

#include "analyse/query.h"

/* Options of reading commands that select threads and waits. */
struct filters {
	char *state, *comm, *grep, *pids, *tids, *attribute, *trace; /* option values */
	gboolean user, kernel;
	struct query query;
	char *states; /* storage that query points to */
	GArray *pid_list, *tid_list;
	GPtrArray *process_list;
};

/* Option entries, FILTERS_OPTIONS of them, to include among a command's own. */
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

/* Sets f->query from the options; false on error, for the first invalid one. */
bool filters_understand(struct filters *f, GError **error);
void filters_clear(struct filters *f);

/*
 * Loads a rules file, in front of the built-in rules, for all analyses of this process.  NULL: built-in rules only.
 * False on error.
 */
bool cmd_rules_load(const char *path, GError **error);

/* Appends a rule by its name, or all rules that give a reason; false: unknown name. */
bool cmd_rules_explain(GString *out, const char *name);

#endif
