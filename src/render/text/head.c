/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "render/text/head.h"

#include "render/text/text.h"
#include "explain/text.h"

void text_target(GString *s, const struct findings *f)
{
	const struct finding_class *c = f->classes->len ? &g_array_index(f->classes, struct finding_class, 0) : NULL;

	if (f->classes->len != 1) {
		uint32_t all = 0;

		for (guint i = 0; i < f->classes->len; i++)
			all += g_array_index(f->classes, struct finding_class, i).processes_cnt;
		g_string_append_printf(s, "%u processes", all);
		return;
	}
	text_safe(s, c->process);
	if (c->pid)
		g_string_append_printf(s, " (%u)", c->pid);
	else if (c->processes_cnt > 1)
		g_string_append_printf(s, " (%u processes)", c->processes_cnt);
}

void text_verdict(GString *s, const struct profile *p)
{
	double lost = text_lost_percent(p);

	if (p->info.looks.rounds)
		text_looks_rate(s, &p->info);
	else
		g_string_append(s, profile_is_sampled(p) ? "short waits sampled" : "exact");
	g_string_append(s, ", ");
	if (lost > 0)
		g_string_append_printf(s, "%.1f%% lost", lost);
	else
		g_string_append(s, p->info.history.gap_cnt ? "complete but for gaps" : "complete");
}
