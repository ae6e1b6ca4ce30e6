/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "explain/limits.h"

#include "explain/sentence.h"
#include "explain/text.h"

#define PART 2	/* of the recording's time: who is answered sooner goes on */

bool silent_append_most(GString *s, const struct findings *f)
{
	uint64_t most_ns = f->profile->info.duration_ns / PART;
	const char *most_there = NULL;
	uint32_t pid = 0;

	EACH_ROW(i, const struct profile_limit, l, f->profile->limits) {
		const char *there;
		uint64_t ns = limit_silent_read(l, &there);

		if (ns <= most_ns || !selection_has_process(f->selection, f->profile, l->pid))
			continue;
		most_ns = ns;
		most_there = there;
		pid = l->pid;
	}
	if (!most_there)
		return false;
	text_safe_cut(s, finding_process_name(f, pid) ?: "a process", FINDING_NAME_COLUMNS);
	g_string_append(s, " has sent something to ");
	text_safe_cut(s, most_there, FINDING_NAME_COLUMNS);
	g_string_append_printf(s, ", and nothing has come from there since, for %s of %s. If that was a request look at who answers it, and "
			       "give it a time limit.", TEXT_NS(MIN(most_ns, f->profile->info.duration_ns)),
			       TEXT_NS(f->profile->info.duration_ns));
	return true;
}
