/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "collect/governor.h"

#include <glib.h>

#define STEP 4
/* Of two scales between which less than this part of a switch's cost lies, the lower one: what is left is no stack's. */
#define MIN_GAIN 0.01
/*
 * Listing may take this part of the budget: errors shrink with the root of what is listed only.  Of a percent of two
 * CPUs these are 1,000 waits a second; where there are no more than that, all are listed.
 */
#define LISTING_OF_BUDGET 0.05
/* To walk both stacks, remembered, and to sum, where few waits are listed and so all of it is in no cache: docs/performance.md. */
#define LISTING_NS 1000
/* Until it climbs again, where no scale keeps the budget. */
#define HOLD_READINGS 30
/* So many readings with room for what the scale below would list, and down it goes. */
#define QUIET_READINGS 5
/* A reading over less is no second: the first one, which also holds our own start, and those taken at once. */
#define WHOLE_READING_NS 500000000ULL

void governor_init(struct governor *g, uint32_t budget_ppm, bool may_act, uint64_t scale_ns)
{
	*g = (struct governor){
		.budget_ppm = budget_ppm, .may_act = may_act, .scale_ns = scale_ns, .floor_ns = scale_ns,
	};
}

static uint32_t ppm_of(double used_ns, double machine_ns)
{
	return machine_ns > 0 ? (uint32_t)MIN(used_ns / machine_ns * 1e6 + 0.5, 4e9) : 0;
}

static void set_scale(struct governor *g, uint64_t scale_ns)
{
	if (scale_ns > g->scale_ns)
		g->raised_cnt++;
	else if (scale_ns < g->scale_ns)
		g->lowered_cnt++;
	g->scale_ns = scale_ns;
}

/*
 * No scale keeps the budget: back to the lowest one that saves what can be saved.  The cost of a switch scatters
 * by more than that within so short a reading; how many waits are listed does not, and what listing one costs is
 * known well enough.
 */
static void settle(struct governor *g, double switch_ns)
{
	double least = g->climb[0].listed_each;
	unsigned at = 0;

	for (unsigned i = 1; i < g->climb_cnt; i++)
		least = MIN(least, g->climb[i].listed_each);
	while (at + 1 < g->climb_cnt && (g->climb[at].listed_each - least) * LISTING_NS >= switch_ns * MIN_GAIN)
		at++;
	set_scale(g, g->climb[at].scale_ns);
	g->climb_cnt = 0;
	g->hold_cnt = HOLD_READINGS;
}

/* A step up, noting what the scale so far came to; after the last one down to where it pays. */
static void climb(struct governor *g, const struct governor_reading *r)
{
	if (r->switch_ns <= 0)
		return;
	g->climb[g->climb_cnt++] = (struct governor_step){ .scale_ns = g->scale_ns, .listed_each = r->listed_each };
	if (g->scale_ns >= GOVERNOR_TOP_NS || g->climb_cnt == G_N_ELEMENTS(g->climb))
		settle(g, r->switch_ns);
	else
		set_scale(g, g->scale_ns ? MIN(g->scale_ns * STEP, GOVERNOR_TOP_NS) : GOVERNOR_FIRST_NS);
}

static uint64_t scale_below(const struct governor *g)
{
	uint64_t scale_ns = g->scale_ns / STEP;

	return MAX(scale_ns < GOVERNOR_FIRST_NS ? 0 : scale_ns, g->floor_ns);
}

/* What listing so many waits a switch costs, against what it may. */
static bool is_dear(const struct governor *g, const struct governor_reading *r, double listed_each)
{
	double switches = r->switch_ns > 0 ? r->bpf_ns / r->switch_ns : 0;
	double budget_ns = (double)r->elapsed_ns * r->cpus * g->budget_ppm / 1e6;

	return switches * listed_each * LISTING_NS > budget_ns * LISTING_OF_BUDGET;
}

/* Would the scale below keep half the budget, and list no more than it may?  It lists up to STEP times as many waits; or all. */
static bool may_lower(const struct governor *g, const struct governor_reading *r, uint32_t used_ppm)
{
	double listed_each = scale_below(g) ? MIN(r->listed_each * STEP, 1) : 1;
	double more_ns = MAX(listed_each - r->listed_each, 0) * LISTING_NS;

	if (r->switch_ns <= 0)
		return used_ppm < g->budget_ppm / 2;
	return used_ppm * (1 + more_ns / r->switch_ns) * 2 < g->budget_ppm && !is_dear(g, r, listed_each);
}

uint64_t governor_take(struct governor *g, const struct governor_reading *r)
{
	double used_ns = r->bpf_ns + r->own_ns;
	double machine_ns = (double)r->elapsed_ns * r->cpus;
	uint32_t used_ppm = ppm_of(used_ns, machine_ns), bpf_ppm = ppm_of(r->bpf_ns, machine_ns);
	/* Sampling saves BPF time only: where our process is the cost, as while it reads symbols, it would gain nothing. */
	bool is_over = g->budget_ppm && used_ppm > g->budget_ppm &&
		       (r->bpf_ns > used_ns / 2 || bpf_ppm > g->budget_ppm);
	bool is_too_much = is_over || is_dear(g, r, r->listed_each), is_whole = r->elapsed_ns >= WHOLE_READING_NS;

	g->seen_ns += r->elapsed_ns;
	g->used_ns += used_ns;
	g->over_cnt += is_over;
	if (is_whole)
		g->peak_ppm = MAX(g->peak_ppm, used_ppm);
	if (!g->may_act || !g->budget_ppm)
		return g->scale_ns;
	g->quiet_cnt = may_lower(g, r, used_ppm) ? g->quiet_cnt + 1 : 0;
	if (g->hold_cnt)
		g->hold_cnt--;
	/* Not at the first such reading: that may be the first walks of each thread, as at the start. */
	bool may_climb = is_too_much && !g->hold_cnt && (g->climb_cnt || g->scale_ns < GOVERNOR_TOP_NS);

	if (!is_too_much)
		g->climb_cnt = 0;
	if (may_climb && (g->is_warned || g->climb_cnt || g->scale_ns > g->floor_ns))
		climb(g, r);
	else if (!may_climb && g->quiet_cnt >= QUIET_READINGS && g->scale_ns > g->floor_ns) {
		g->quiet_cnt = 0;
		set_scale(g, scale_below(g));
	}
	g->wants_next = may_climb && !g->hold_cnt;
	/* Work that comes in bursts, as of threads that all sleep for a second, may be quiet in a reading that is short. */
	if (is_whole || g->wants_next)
		g->is_warned = g->wants_next;
	return g->scale_ns;
}

uint32_t governor_used_ppm(const struct governor *g, uint32_t cpus)
{
	return ppm_of(g->used_ns, (double)g->seen_ns * cpus);
}
