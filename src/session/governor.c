/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "session/governor.h"

#include <glib.h>

#define STEP 2
/*
 * What accounts cost is no stack's, and may alone be more than is allowed.  Stacks have this part of the budget in any
 * case: without it they would be sampled until next to nothing is known of them, and the machine hardly gain by it.
 */
#define LISTING_SHARE 0.25
/* New stacks are named in the first seconds, which a recording has once: they are no reason to sample. */
#define GRACE_NS 2000000000ULL
/*
 * But where the BPF programs alone take so many times what is allowed, it is no naming, and everyone pays: then one
 * whole reading is enough, and the first ones count from here on.
 */
#define FLOOD_TIMES 2
#define FLOOD_AFTER_NS 1000000000ULL
/* What walking both stacks and summing takes, until it was measured here: docs/performance-notes.md. */
#define LISTING_NS 1500
/* By fewer of them it is not told. */
#define LISTED_MIN 32
/* To go down, this part of all that is allowed must do: else it would be up again at once. */
#define LOWER_SHARE 0.75
/* Wakers of all sleeps cost about as much as all else: they are back where this part of all that is allowed did. */
#define ALL_WAKERS_SHARE 0.5
/* So many readings with room for a scale below, and down it goes. */
#define QUIET_READINGS 5
/* A reading over less is no second: the first one, which also holds our own start, and those taken at once. */
#define WHOLE_READING_NS 500000000ULL

void governor_init(struct governor *g, uint32_t budget_ppm, bool may_act, uint64_t scale_ns)
{
	*g = (struct governor){
		.budget_ppm = budget_ppm, .may_act = may_act, .scale_ns = scale_ns, .floor_ns = scale_ns,
		.grace_ns = GRACE_NS,
	};
}

static uint32_t ppm_of(double used_ns, double machine_ns)
{
	return machine_ns > 0 ? (uint32_t)MIN(used_ns / machine_ns * 1e6 + 0.5, 4e9) : 0;
}

static void forget_room(struct governor *g)
{
	g->quiet_cnt = 0;
	g->room_ns = 0;
}

static void set_scale(struct governor *g, uint64_t scale_ns)
{
	if (scale_ns > g->scale_ns)
		g->raised_cnt++;
	else if (scale_ns < g->scale_ns)
		g->lowered_cnt++;
	g->scale_ns = scale_ns;
	forget_room(g);
}

static double machine_ns(const struct governor_reading *r)
{
	return (double)r->elapsed_ns * r->cpus;
}

static double budget_ns(const struct governor *g, const struct governor_reading *r)
{
	return machine_ns(r) * g->budget_ppm / 1e6;
}

/*
 * Sampling saves BPF time only: where our process is the cost, as while it reads symbols, it would gain nothing.
 * limit_ns: what both may take.
 */
static bool is_over(double bpf_ns, double own_ns, double limit_ns)
{
	return bpf_ns + own_ns > limit_ns && (bpf_ns > own_ns || bpf_ns > limit_ns);
}

/* Of the waits of that reading, how many a scale would list. */
static double listed_at(const struct governor_reading *r, uint64_t scale_ns)
{
	double listed = 0;

	for (unsigned i = 0; i < OFFCPU_HIST_SLOTS; i++) {
		uint64_t mean_ns = 3ULL << i >> 1;

		listed += r->waits[i] *
			  (mean_ns < scale_ns ? (double)sample_chance_ns(mean_ns, scale_ns) / (double)scale_ns : 1);
	}
	return listed;
}

/*
 * What listing a wait takes.  It is the mean of some readings: one wait during which the host took the CPU away weighs
 * little. Where all waits are listed they are walked as they begin, too, outside of what was measured: half of all is
 * theirs then (docs/performance.md, exact against sampled).
 */
static double listing_ns(const struct governor *g, const struct governor_reading *r)
{
	double each_ns = g->listed_cnt < LISTED_MIN ? LISTING_NS : g->listing_ns / g->listed_cnt;

	return g->scale_ns || r->listed_cnt < LISTED_MIN ? each_ns : MAX(each_ns, r->bpf_ns / 2 / r->listed_cnt);
}

static void learn_cost(struct governor *g, const struct governor_reading *r)
{
	g->listed_cnt = g->listed_cnt / 2 + r->listed_cnt;
	g->listing_ns = g->listing_ns / 2 + r->listing_ns;
}

static uint64_t scale_above(uint64_t scale_ns)
{
	return scale_ns ? MIN(scale_ns * STEP, GOVERNOR_TOP_NS) : GOVERNOR_FIRST_NS;
}

/* The lowest scale that keeps this share of the budget, or lists waits for no more than their part of it. */
static uint64_t lowest_scale(const struct governor *g, const struct governor_reading *r, double share)
{
	double limit_ns = budget_ns(g, r) * share, each_ns = listing_ns(g, r);
	double listed_now = listed_at(r, g->scale_ns);
	uint64_t scale_ns = g->floor_ns;

	for (; scale_ns < GOVERNOR_TOP_NS; scale_ns = scale_above(scale_ns)) {
		double listed = listed_at(r, scale_ns), bpf_ns = r->bpf_ns + (listed - listed_now) * each_ns;

		if (!is_over(bpf_ns, r->own_ns, limit_ns) || listed * each_ns <= limit_ns * LISTING_SHARE)
			break;
	}
	return scale_ns;
}

/* What this saves only the next reading tells, and the one after: then waits may be sampled. */
static void thin_wakers(struct governor *g)
{
	g->wakers_from_ns = GOVERNOR_WAKERS_NS;
	g->thinned_cnt++;
	g->warned_ns = 0;
	g->calm_cnt = 0;
}

static void take_all_wakers(struct governor *g, const struct governor_reading *r)
{
	bool is_calm = g->scale_ns == g->floor_ns && !is_over(r->bpf_ns, r->own_ns, budget_ns(g, r) * ALL_WAKERS_SHARE);

	g->calm_cnt = is_calm ? g->calm_cnt + 1 : 0;
	if (g->calm_cnt >= QUIET_READINGS)
		g->wakers_from_ns = 0;
}

static bool is_flood(const struct governor *g, const struct governor_reading *r)
{
	return g->seen_ns >= FLOOD_AFTER_NS && r->bpf_ns > FLOOD_TIMES * budget_ns(g, r);
}

/*
 * Not at the first reading that asks for more, which may be a burst.  Two must, and the lesser of both is taken.  For a
 * flood one is enough that is whole, and any that follows such a one.
 */
static void raise_to(struct governor *g, uint64_t wanted_ns, bool is_whole, bool is_flood)
{
	uint64_t warned_ns = g->warned_ns;
	bool is_too_much = wanted_ns > g->scale_ns;

	/*
	 * Work that comes in bursts, as of threads that all sleep for a second, may be quiet in a reading that is
	 * short.
	 */
	if (is_whole || is_too_much)
		g->warned_ns = is_too_much ? wanted_ns : 0;
	bool is_sudden = is_flood && (is_whole || g->was_flood);
	bool is_certain = is_too_much && (is_sudden || warned_ns > g->scale_ns);
	if (is_certain && g->may_thin && !g->wakers_from_ns)
		thin_wakers(g);
	else if (is_certain)
		set_scale(g, is_sudden ? wanted_ns : MIN(wanted_ns, warned_ns));
	g->was_flood = is_sudden;
	g->wants_next = wanted_ns > g->scale_ns;
}

static void lower_to(struct governor *g, uint64_t wanted_ns)
{
	if (wanted_ns >= g->scale_ns) {
		forget_room(g);
		return;
	}
	g->room_ns = MAX(g->room_ns, wanted_ns);
	if (++g->quiet_cnt >= QUIET_READINGS)
		set_scale(g, g->room_ns);
}

static void spend(struct governor_spent *spent, const struct governor_reading *r)
{
	spent->bpf_ns += r->bpf_ns;
	spent->own_ns += r->own_ns;
	spent->machine_ns += machine_ns(r);
}

/* The first reading of all holds our own start. */
static void note_spent(struct governor *g, const struct governor_reading *r)
{
	if (g->seen_ns)
		spend(&g->since, r);
	if (g->scale_ns == g->floor_ns && !g->wakers_from_ns)
		spend(&g->exact, r);
}

static void act(struct governor *g, const struct governor_reading *r, bool is_whole)
{
	uint64_t scale_ns = g->scale_ns, wakers_from_ns = g->wakers_from_ns;

	raise_to(g, lowest_scale(g, r, 1), is_whole, is_flood(g, r));
	if (is_whole && !g->wants_next)
		lower_to(g, lowest_scale(g, r, LOWER_SHARE));
	if (is_whole && g->wakers_from_ns)
		take_all_wakers(g, r);
	if (g->scale_ns != scale_ns || g->wakers_from_ns != wakers_from_ns) {
		g->before = g->since.machine_ns > 0 ? g->since : g->before;
		g->since = (struct governor_spent){ 0 };
	}
}

uint64_t governor_take(struct governor *g, const struct governor_reading *r)
{
	double used_ns = r->bpf_ns + r->own_ns;
	uint32_t used_ppm = ppm_of(used_ns, machine_ns(r));
	bool is_whole = r->elapsed_ns >= WHOLE_READING_NS;

	note_spent(g, r);
	g->seen_ns += r->elapsed_ns;
	g->used_ns += used_ns;
	g->over_cnt += g->budget_ppm && is_over(r->bpf_ns, r->own_ns, budget_ns(g, r));
	if (is_whole)
		g->peak_ppm = MAX(g->peak_ppm, used_ppm);
	if (!g->may_act || !g->budget_ppm)
		return g->scale_ns;
	learn_cost(g, r);
	if (g->seen_ns - r->elapsed_ns >= g->grace_ns || is_flood(g, r))
		act(g, r, is_whole);
	return g->scale_ns;
}

uint32_t governor_used_ppm(const struct governor *g, uint32_t cpus)
{
	return ppm_of(g->used_ns, (double)g->seen_ns * cpus);
}
