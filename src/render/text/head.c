/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */

#include "render/text/text.h"
#include "explain/text.h"

#define DEAR_PPM 50000	/* of all CPUs' time: more is reported as expensive */
#define TARGETS_NAMED 5	/* with more, only their number is given */

static bool is_shown(const struct findings *f, uint32_t i)
{
	return (!f->selection || f->selection->threads[i]) &&
	       (f->has_kernel_only || !(profile_thread(f->profile, i)->flags & THREAD_KERNEL));
}

/* " (12, 15)": pids of that process name, in recording order. */
static void append_pids(GString *s, const struct findings *f, const char *process)
{
	g_autoptr(GHashTable) seen = g_hash_table_new(NULL, NULL);

	EACH_ROW(i, const struct thread, t, f->profile->threads)
		if (f->programs[i] == process && is_shown(f, i) && g_hash_table_add(seen, GUINT_TO_POINTER(t->pid)))
			g_string_append_printf(s, "%s%u", g_hash_table_size(seen) > 1 ? ", " : " (", t->pid);
	if (g_hash_table_size(seen))
		g_string_append_c(s, ')');
}

void text_target(GString *s, const struct findings *f)
{
	uint32_t all = 0;

	for (guint i = 0; i < f->classes->len; i++)
		all += g_array_index(f->classes, struct finding_class, i).processes_cnt;
	if (f->classes->len != 1 && (!all || all > TARGETS_NAMED)) {
		g_string_append_printf(s, "%u processes", all);
		return;
	}
	EACH_ROW(i, const struct finding_class, c, f->classes) {
		g_string_append(s, i ? ", " : "");
		text_safe(s, c->process);
		if (all > TARGETS_NAMED)
			g_string_append_printf(s, " (%u processes)", c->processes_cnt);
		else if (c->pid || c->processes_cnt > 1)
			append_pids(s, f, c->process);
	}
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
	/* tracing itself was a reason to wait */
	if (p->info.sampling.has_used && p->info.sampling.used_ppm >= DEAR_PPM)
		g_string_append_printf(s, ", tracing took %.0f%% of all CPUs", (double)p->info.sampling.used_ppm / 1e4);
}
