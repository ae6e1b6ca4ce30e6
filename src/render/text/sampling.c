/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "profile/on_cpu.h"
#include "render/text/text.h"
#include "render/text/util.h"

static void append_ppm(GString *s, uint32_t ppm)
{
	g_string_append_printf(s, "%.*f%%", ppm < 9995 ? 2 : 1, (double)ppm / 1e4);
}

static const char *times(uint32_t cnt)
{
	return cnt == 1 ? "time" : "times";
}

/* In plain words: what was not looked at, why, and what that means for the figures. */
static void sampling_line(GString *s, const struct profile_sampling *sampling, const char *indent)
{
	g_string_append_printf(s, "%ssampled   of waits shorter than ", indent);
	text_duration(s, sampling->max_ns);
	g_string_append_printf(s, " only some were looked at%s; threads and totals are exact, stacks are estimates "
			       "(errors above 1%% are shown)\n", sampling->raised_cnt ? ", to keep the budget" : "");
}

static void append_budget(GString *s, const struct profile_sampling *sampling)
{
	append_ppm(s, sampling->used_ppm);
	g_string_append(s, " of all CPUs' time");
	/* or no reading was long enough to tell, or the start was the worst, which takes less than one */
	if (sampling->peak_ppm > sampling->used_ppm) {
		g_string_append(s, ", ");
		append_ppm(s, sampling->peak_ppm);
		g_string_append(s, " in the worst second");
	}
	g_string_append(s, "; the budget is ");
	append_ppm(s, sampling->budget_ppm);
}

/* Kept in silence, and exceeded by our own process as well: that passes with the start. */
static void budget_line(GString *s, const struct profile_sampling *sampling, const char *indent)
{
	if (!sampling->budget_ppm || !sampling->has_used || !(sampling->over_cnt || sampling->raised_cnt))
		return;
	g_string_append_printf(s, "%sbudget    tracing cost ", indent);
	append_budget(s, sampling);
	if (sampling->over_cnt)
		g_string_append_printf(s, ", exceeded in %u reading%s", sampling->over_cnt, sampling->over_cnt == 1 ? "" : "s");
	if (sampling->raised_cnt)
		g_string_append_printf(s, "; sampling was raised %u %s, lowered %u %s", sampling->raised_cnt,
				       times(sampling->raised_cnt), sampling->lowered_cnt, times(sampling->lowered_cnt));
	else if (!sampling->max_ns)
		g_string_append(s, "; nothing was sampled");
	g_string_append_c(s, '\n');
}

/* Beside the waits: what the threads did on CPU. */
static void on_cpu_line(GString *s, const struct profile *p, const char *indent)
{
	uint64_t samples = 0;

	if (!profile_has_on_cpu(p))
		return;
	for (guint i = 0; i < p->on_cpu->len; i++)
		samples += g_array_index(p->on_cpu, struct on_cpu_sample, i).samples;
	g_string_append_printf(s, "%son CPU    ", indent);
	text_thousands(s, samples);
	g_string_append_printf(s, " samples, %u a second on each CPU", p->info.on_cpu_hz);
	if (p->info.on_cpu_end_hz != p->info.on_cpu_hz)
		g_string_append_printf(s, ", in the end %u, to keep the budget", p->info.on_cpu_end_hz);
	g_string_append(s, "; each thread's sum is exact, its stacks are estimates\n");
}

void text_sampling(GString *s, const struct profile *p, const char *indent)
{
	const struct profile_sampling *sampling = &p->info.sampling;

	if (sampling->max_ns)
		sampling_line(s, sampling, indent);
	budget_line(s, sampling, indent);
	on_cpu_line(s, p, indent);
}
