/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <inttypes.h>

#include "profile/profile.h"
#include "render/text/text.h"
#include "explain/text.h"

static void append_ppm(GString *s, uint32_t ppm)
{
	g_string_append_printf(s, "%.*f%%", ppm < 9995 ? 2 : 1, (double)ppm / 1e4);
}

static const char *times_word(uint32_t cnt)
{
	return cnt == 1 ? "time" : "times";
}

/* Explains what was sampled, why, and what that means for the numbers. */
static void sampling_line(GString *s, const struct profile_sampling *sampling, const char *indent)
{
	g_string_append_printf(s, "%ssampled   only a part of the waits below ", indent);
	text_duration(s, sampling->max_ns);
	g_string_append_printf(s, " was looked at%s. Their stacks are estimates; errors above 1%% are shown. Totals and the "
			       "sums of threads are exact.\n", sampling->raised_cnt ? ", to keep the budget" : "");
}

/* Before it samples waits, the governor drops wakers of short waits. */
static void wakers_line(GString *s, const struct profile *p, const char *indent)
{
	if (p->info.has_wakers && !p->info.sampling.max_ns && profile_find_loss(p, "waker_sampled"))
		g_string_append_printf(
			s, "%swakers    who ended sleeps below 1 ms was left out for a while, to keep the budget\n",
			indent);
}

static void append_budget(GString *s, const struct profile_sampling *sampling)
{
	append_ppm(s, sampling->used_ppm);
	g_string_append(s, " of all CPUs' time");
	/*
	 * no reading may have been long enough, or the worst second was the start, which costs less than one reading
	 */
	if (sampling->peak_ppm > sampling->used_ppm) {
		g_string_append(s, " (");
		append_ppm(s, sampling->peak_ppm);
		g_string_append(s, " in the worst second)");
	}
	g_string_append(s, "; the budget is ");
	append_ppm(s, sampling->budget_ppm);
}

/* Silent if the budget was kept.  Also silent if only our own process exceeded it, which it does only at the start. */
static void budget_line(GString *s, const struct profile_sampling *sampling, const char *indent)
{
	if (!sampling->budget_ppm || !sampling->has_used || !(sampling->over_cnt || sampling->raised_cnt))
		return;
	g_string_append_printf(s, "%sbudget    tracing cost ", indent);
	append_budget(s, sampling);
	if (sampling->over_cnt)
		g_string_append_printf(s, ". It was exceeded %u %s", sampling->over_cnt, times_word(sampling->over_cnt));
	if (sampling->raised_cnt)
		g_string_append_printf(s, ". So fewer short waits were looked at, %u %s", sampling->raised_cnt,
				       times_word(sampling->raised_cnt));
	if (sampling->raised_cnt && sampling->lowered_cnt)
		g_string_append_printf(s, ", and more again, %u %s", sampling->lowered_cnt, times_word(sampling->lowered_cnt));
	else if (!sampling->raised_cnt && !sampling->max_ns)
		g_string_append(s, ", but all waits were looked at");
	g_string_append(s, ".\n");
}

#define FEW_ROUNDS 20	/* with fewer, their number is more informative than the rate */

void text_looks_rate(GString *s, const struct profile_info *info)
{
	double hz = profile_looks_hz(info);

	g_string_append_printf(s, "sampled at %.*f Hz", hz < 9.5 ? hz < 0.95 ? 2 : 1 : 0, hz);
	if (info->looks.rounds < FEW_ROUNDS)
		g_string_append_printf(s, " (%" PRIu64 " look%s at each thread)", info->looks.rounds,
				       info->looks.rounds == 1 ? "" : "s");
}

/* For recordings without tracing. */
static void looks_line(GString *s, const struct profile_info *info, const char *indent)
{
	double asked = info->looks.asked_ns ? 1e9 / (double)info->looks.asked_ns : 0;

	g_string_append_printf(s, "%ssampled   %s times: each time counts as what the thread was seen to do in it (",
			       indent, TEXT_COUNT(info->looks.rounds));
	text_looks_rate(s, info);
	if (profile_looks_hz(info) < asked * 0.95)
		g_string_append_printf(s, " in place of %g, to keep to %g%% of a CPU", asked,
				       info->looks.budget_ppm / 1e4);
	g_string_append(s, "); numbers and lengths of waits are not known\n");
}

/* On-CPU samples beside the waits. */
static void on_cpu_line(GString *s, const struct profile *p, const char *indent)
{
	uint64_t samples = 0;

	if (!profile_has_on_cpu(p))
		return;
	for (guint i = 0; i < p->on_cpu->len; i++)
		samples += g_array_index(p->on_cpu, struct on_cpu_sample, i).samples;
	g_string_append_printf(s, "%son CPU    %s samples, %u a second on each CPU", indent, TEXT_COUNT(samples),
			       p->info.on_cpu_hz);
	if (p->info.on_cpu_end_hz != p->info.on_cpu_hz)
		g_string_append_printf(s, ", in the end %u, to keep the budget", p->info.on_cpu_end_hz);
	g_string_append(s, "; each thread's sum is exact, its stacks are estimates\n");
}

void text_sampling(GString *s, const struct profile *p, const char *indent)
{
	const struct profile_sampling *sampling = &p->info.sampling;

	if (p->info.looks.rounds)
		looks_line(s, &p->info, indent);
	if (sampling->max_ns)
		sampling_line(s, sampling, indent);
	wakers_line(s, p, indent);
	budget_line(s, sampling, indent);
	on_cpu_line(s, p, indent);
}
