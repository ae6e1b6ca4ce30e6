/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "profile/rows_kind.h"

#include <glib.h>

static const struct rows_kind kinds[] = {
	{ ROWS_REQUESTS, "request", NULL, "Block I/O time by stack", "off_cpu", "events" },
	{ ROWS_OPERATIONS, "operation", NULL, "File I/O time by stack", "off_cpu", "events" },
	{ ROWS_TASKS, "task", NULL, "Task time by stack", "task_time", "tasks" },
	{ ROWS_CPU, "CPU sample", "a CPU profile", "CPU time by stack", "cpu", "samples" },
	{ ROWS_WALL, "wall-clock sample", "samples of wall-clock time", "Wall-clock time by stack", "wall", "samples" },
	{ ROWS_CONTENTIONS, "contention", "a profile of lock contention", "Lock contention by stack", "delay", "contentions" },
	{ ROWS_GOROUTINES, "wait of a goroutine", "a profile of what goroutines wait for", "Time goroutines wait by stack", "delay",
	  "contentions" },
	{ ROWS_SAMPLES, "sample", "stacks with times of a kind that it does not name", "Time by stack", "time",
	  "samples" },
	{ ROWS_LOOKS, "look at a thread", "where threads stood, not for how long", "Looks at threads by stack", NULL, "looks" },
};

const struct rows_kind *profile_rows_kind(const char *rows_are)
{
	for (size_t i = 0; rows_are && i < G_N_ELEMENTS(kinds); i++)
		if (g_strcmp0(rows_are, kinds[i].many) == 0)
			return &kinds[i];
	return NULL;
}

bool profile_rows_are_counted(const char *rows_are)
{
	const struct rows_kind *kind = profile_rows_kind(rows_are);

	return kind && !kind->time_type;
}

const char *profile_rows_known(const char *text)
{
	const struct rows_kind *kind = profile_rows_kind(text);

	return kind ? kind->many : NULL;
}

const char *profile_rows_word(const char *rows_are, uint64_t cnt)
{
	const struct rows_kind *kind = profile_rows_kind(rows_are);

	if (!kind)
		return cnt == 1 ? "wait" : "waits";
	return cnt == 1 ? kind->one : kind->many;
}
