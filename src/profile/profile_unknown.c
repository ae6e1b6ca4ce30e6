/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "profile/profile.h"

#include <string.h>

static const struct {
	const char *many, *one;
} rows_words[] = { { "requests", "request" }, { "operations", "operation" }, { "tasks", "task" } };

const char *profile_rows_known(const char *text)
{
	for (size_t i = 0; text && i < G_N_ELEMENTS(rows_words); i++)
		if (strcmp(text, rows_words[i].many) == 0)
			return rows_words[i].many;
	return NULL;
}

const char *profile_rows_word(const char *rows_are, uint64_t cnt)
{
	for (size_t i = 0; rows_are && i < G_N_ELEMENTS(rows_words); i++)
		if (strcmp(rows_are, rows_words[i].many) == 0)
			return cnt == 1 ? rows_words[i].one : rows_words[i].many;
	return cnt == 1 ? "wait" : "waits";
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
