/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
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
