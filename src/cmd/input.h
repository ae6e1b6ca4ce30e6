/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CMD_INPUT_H
#define CMD_INPUT_H

#include "analyse/query.h"
#include "analyse/weight.h"
#include "profile/profile.h"

/* What `record` writes and the reading commands read where no file is named. */
#define RECORDING_DEFAULT_FILE "trace.offcpu"

/*
 * Reads what `path` holds, for every command that reads: a recording, or another tool's format, packed by gzip or
 * zstd or not; "-" is standard input.  What it is its contents tell.  perf.data is read by `perf script`.  NULL with
 * one sentence that names the file.
 */
struct profile *recording_read(const char *path, GError **error);

/*
 * The tasks of p in its place, as task_profile_new() has them, for --tasks; p is freed.  NULL with a sentence: it has
 * none.
 */
struct profile *recording_only_tasks(struct profile *p, const char *path, GError **error);
#define ONLY_TASKS_OPTION(to)                                                                                          \
	{                                                                                                              \
		"tasks", 0, 0, G_OPTION_ARG_NONE, &(to),                                                               \
			"Task time (goroutines, asyncio, Tokio, greenlets, virtual threads) in place of threads' time", NULL             \
	}

/* The row of an option for what a format does not tell. */
gboolean recording_unit_option(const char *name, const char *value, gpointer data, GError **error);
#define INPUT_OPTION                                                                                                   \
	{                                                                                                              \
		"input-unit", 0, 0, G_OPTION_ARG_CALLBACK, (gpointer)recording_unit_option,                            \
			"Unit of the numbers in collapsed and printed stacks that are read (us; ns of DTrace)", "UNIT" \
	}

/*
 * Puts samples on CPU beside the waits where they are shown, and finds the weight where none was asked for: time of
 * both where there are samples and the query's states leave them, else what *weight says.  False with a sentence where
 * they are asked for and are not there.
 */
bool recording_with_on_cpu(struct profile *p, const char *path, bool is_asked, const struct query *query,
			   enum weight *weight, GError **error);

/*
 * What to do about something that is not there: "record it with --locks", or of a history "the agent records them with
 * locks = yes in [record]"; agent_key NULL: no history keeps that.  Free with g_free().
 */
char *recording_advice(const char *option, const char *agent_key);
/* False, with a sentence, where it has none. */
bool recording_has_wakers(const struct profile *p, const char *path, GError **error);

/*
 * Does the profile know what is asked for?  False, with a sentence, for a weight or a choice that an imported one
 * cannot tell.
 */
bool recording_knows(const struct profile *p, const char *path, enum weight weight, const struct query *query,
		     GError **error);

#endif
