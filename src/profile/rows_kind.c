/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <glib.h>

#include "profile/profile.h"

char *profile_imported_text(const struct profile_info *info)
{
	const struct rows_kind *kind = profile_rows_kind(info->rows_are);

	if (!info->imported || (kind && !kind->what))
		return NULL;
	return kind ? g_strdup_printf("%s: %s", kind->what, info->imported) : g_strdup(info->imported);
}

char *profile_unknown_text(uint32_t unknown, bool has_wakers)
{
	static const struct {
		uint32_t what;
		const char *text;
	} texts[] = {
		{ UNKNOWN_STATES, "states" },
		{ UNKNOWN_PARTS, "blocked and run-queue time apart" },
		{ UNKNOWN_COUNTS, "numbers of waits" },
		{ UNKNOWN_DURATIONS, "single durations" },
		{ UNKNOWN_ACCOUNTS, "on-CPU time" },
		{ UNKNOWN_IDS, "thread ids" },
		{ UNKNOWN_WINDOW, "the window" },
		{ UNKNOWN_HOST, "the host" },
		{ UNKNOWN_STACK_ENDS, "how stacks end" },
	};
	GString *s = g_string_new(NULL);

	for (size_t i = 0; i < G_N_ELEMENTS(texts); i++)
		if (unknown & texts[i].what)
			g_string_append_printf(s, "%s%s", s->len ? ", " : "", texts[i].text);
	if (!has_wakers)
		g_string_append_printf(s, "%swakers", s->len ? ", " : "");
	return g_string_free(s, FALSE);
}

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
