/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CMD_INPUT_H
#define CMD_INPUT_H

#include "analyse/query.h"
#include "analyse/weight.h"
#include "profile/profile.h"

/* Default file that `record` writes and reading commands read. */
#define RECORDING_DEFAULT_FILE "trace.offcpu"

/*
 * Reads any input of the reading commands: a recording, or another tool's format, optionally compressed by gzip or
 * zstd; "-" is standard input.  The format is detected by contents.  perf.data is read by `perf script`.  NULL on
 * error; the message names the file.
 */
struct profile *recording_read(const char *path, GError **error);

/*
 * Replaces p by a profile of its tasks, see task_profile_new(), for --tasks; frees p.  NULL on error: it has no tasks.
 */
struct profile *recording_only_tasks(struct profile *p, const char *path, GError **error);
#define ONLY_TASKS_OPTION(to)                                                                                          \
	{                                                                                                              \
		"tasks", 0, 0, G_OPTION_ARG_NONE, &(to),                                                               \
			"Task time (goroutines, asyncio, Tokio, greenlets, virtual threads) in place of threads' time", NULL             \
	}

/* Option entry for what a format does not state. */
gboolean recording_unit_option(const char *name, const char *value, gpointer data, GError **error);
#define INPUT_OPTION                                                                                                   \
	{                                                                                                              \
		"input-unit", 0, 0, G_OPTION_ARG_CALLBACK, (gpointer)recording_unit_option,                            \
			"Unit of the numbers in collapsed and printed stacks that are read (us; ns of DTrace)", "UNIT" \
	}

/*
 * Adds on-CPU samples to the waits where they are shown.  If no weight was given, sets it to WEIGHT_TIME if there are
 * samples and the query's states include them.  False on error: samples were asked for, but there are none.
 */
bool recording_with_on_cpu(struct profile *p, const char *path, bool is_asked, const struct query *query,
			   enum weight *weight, GError **error);

/*
 * Advice on missing data: "record it with --locks", or for a history "the agent records them with locks = yes in
 * [record]"; agent_key NULL: histories never have it.  Free with g_free().
 */
char *recording_advice(const char *option, const char *agent_key);
/* False on error: it has no wakers. */
bool recording_has_wakers(const struct profile *p, const char *path, GError **error);

/* Whether the profile has the data for this weight and query.  False on error: an imported profile lacks it. */
bool recording_knows(const struct profile *p, const char *path, enum weight weight, const struct query *query,
		     GError **error);

#endif
