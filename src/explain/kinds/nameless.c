/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Functions that a runtime compiles have names only by a map, which it must be told to write. */
#include "explain/sentence.h"

#include <string.h>

#include "analyse/plumbing.h"
#include "base/module.h"
#include "explain/limits.h"
#include "explain/findings_part.h"

#define MAPPED "[jit]"	/* named by a map */

static const struct { const char *file, *option; } maps[] = {
	{ "mono", "`mono --jitmap` (MONO_ENV_OPTIONS=--jitmap)" },
	{ "mono-sgen", "`mono --jitmap` (MONO_ENV_OPTIONS=--jitmap)" },
	{ "libmonosgen-", "MONO_ENV_OPTIONS=--jitmap" },
	{ "libcoreclr.so", "DOTNET_PerfMapEnabled=1" },
	{ "beam.smp", "`erl +JPperf true`" },
};

bool sentence_is_nameless(const struct findings *f, const struct finding *row)
{
	const struct frame *fr = row->frame >= 0 ? profile_get_frame(f->profile, (uint32_t)row->frame) : NULL;

	return fr && !fr->name && g_strcmp0(fr->module, "[anon]") == 0;
}

/* What makes the runtime on this stack write a map; NULL: none that is known. */
static const char *option_of(const struct profile *p, uint32_t user)
{
	for (uint32_t n = user; n; n = profile_get_node(p, n)->parent) {
		const char *file = module_base_name(profile_get_frame(p, profile_get_node(p, n)->frame)->module);

		for (size_t i = 0; file && i < G_N_ELEMENTS(maps); i++)
			if (!strcmp(file, maps[i].file) || (g_str_has_suffix(maps[i].file, "-") && g_str_has_prefix(file, maps[i].file)))
				return maps[i].option;
	}
	return NULL;
}

static bool has_map(const struct profile *p, uint32_t pid)
{
	EACH_ROW(i, const struct wait, w, p->waits) {
		if (profile_thread(p, w->thread)->pid != pid)
			continue;
		for (uint32_t n = w->user; n; n = profile_get_node(p, n)->parent)
			if (g_strcmp0(profile_get_frame(p, profile_get_node(p, n)->frame)->module, MAPPED) == 0)
				return true;
	}
	return false;
}

void nameless_append_evidence(GString *s, const struct findings *f, const struct finding *row)
{
	const uint32_t user = profile_wait(f->profile, row->wait)->user;
	const bool is_nameless = sentence_is_nameless(f, row);
	const char *option = option_of(f->profile, user);

	const bool is_below = option && plumbing_user_parent_is_outer(reasons_plumbing(f->reasons), user);

	if (sentence_is_for_cpu(row) || (!is_nameless && !is_below))
		return;
	const bool is_late = option && has_map(f->profile, finding_pid(f, row));

	if (is_nameless)
		g_string_append(s, "; functions that were compiled at run time have no names here");
	else if (is_late)
		g_string_append(s, "; functions below that one have no names yet");
	if (is_late)
		g_string_append(s, ", as the map lags behind (`offcpu doctor -p PID`)");
	else if (is_nameless && option)
		g_string_append_printf(s, ": %s gives them", option);
}
