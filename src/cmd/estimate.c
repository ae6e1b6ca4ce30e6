/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "cmd/estimate.h"

#include <stdio.h>

#include "cmd/cmd.h"
#include "profile/profile_file.h"

/* "0.3%", "0.04%", "12%" */
static const char *percent(double share, char text[16])
{
	snprintf(text, 16, share < 0.001 ? "%.2f%%" : share < 0.1 ? "%.1f%%" : "%.0f%%", 100 * share);
	return text;
}

static void print_cost(const struct session_shares *shares, const struct profile_info *info, bool may_sample)
{
	char now[16], exact[16], own[16], budget[16];

	if (!shares->are_known) {
		printf("cost      not known: this kernel does not count the time of BPF programs for us\n");
		return;
	}
	printf("cost      about %s of the machine's %u CPUs, of it %s our own threads", percent(shares->now, now),
	       info->cpus, percent(shares->own, own));
	if (may_sample && info->sampling.end_ns)
		printf(": above %s short waits are sampled; %s with --exact",
		       percent(info->sampling.budget_ppm / 1e6, budget), percent(shares->exact, exact));
	printf("\n");
}

int estimate_print(struct run *run)
{
	struct session_shares shares = session_shares(run->session);
	struct profile *p = session_take_profile(run->session);
	double seconds = (double)p->info.duration_ns / 1e9;
	uint64_t recorded = 0;

	for (guint i = 0; i < p->threads->len; i++)
		recorded += profile_thread(p, i)->switches;
	session_unload(run->session);
	g_autoptr(GBytes) file = profile_file_bytes(p, NULL, NULL, NULL);
	printf("An estimate, by %.1f s that were recorded and thrown away.\n", seconds);
	printf("switches  %.0f a second, %.0f of them of the %u threads that were recorded\n",
	       (double)p->info.switches / seconds, (double)recorded / seconds, p->threads->len);
	print_cost(&shares, &p->info, run->target->collect.may_raise);
	printf("start     %.0f ms of CPU, once; memory %.0f MiB\n", (double)p->info.tracer_start_cpu_ns / 1e6,
	       (double)p->info.tracer_peak_rss_bytes / (1 << 20));
	if (file)
		printf("file      %.1f MiB for these %.1f s; more time adds what is new, not as much again\n",
		       (double)g_bytes_get_size(file) / (1 << 20), seconds);
	profile_free(p);
	return EXIT_OK;
}
