/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "session/governor.h"

#include <glib.h>

#define STEP 2
/*
 * Accounts cost time that sampling cannot save, and may alone exceed the budget. Stacks have this part of the budget
 * in any case: otherwise sampling would lose nearly all information, while the machine gains little.
 */
#define LISTING_SHARE 0.25
/* New stacks are named in the first seconds. This happens once, so it is no reason to sample. */
#define GRACE_NS 2000000000ULL
/*
 * But if the BPF programs alone take this multiple of the budget, the cause is not naming, and all programs suffer:
 * then one whole reading suffices, and the grace period ends.
 */
#define FLOOD_TIMES 2
#define FLOOD_AFTER_NS 1000000000ULL
/* Time to walk both stacks and sum a wait, until it was measured here: docs/performance-notes.md. */
#define LISTING_NS 1500
/* Minimal number of listed waits for that measurement. */
#define LISTED_MIN 32
/* To lower the scale, this part of the budget must suffice: otherwise it would rise again at once. */
#define LOWER_SHARE 0.75
/* Wakers of all sleeps cost about as much as all else: recorded again once this part of the budget suffices. */
#define ALL_WAKERS_SHARE 0.5
/* Number of readings with room for a lower scale before the scale is lowered. */
#define QUIET_READINGS 5
/* A shorter reading is not whole: the first one, which includes our own start, and those taken at once. */
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
 * Sampling saves BPF time only: where our process is the cost, as while it reads symbols, it gains nothing. limit_ns:
 * for both together.
 */
static bool is_over(double bpf_ns, double own_ns, double limit_ns)
{
	return bpf_ns + own_ns > limit_ns && (bpf_ns > own_ns || bpf_ns > limit_ns);
}

/* How many waits of that reading a scale would list. */
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
 * Cost of listing a wait: a mean over readings, so that one wait during which the host took the CPU away weighs
 * little. Where all waits are listed they are also walked as they begin, which is not measured: where each two switches
 * are a wait that is listed that is taken to be half of the total (docs/performance.md, exact against sampled), so it is
 * twice a switch without.  Of few threads on a busy machine nearly all switches are without.
 */
static double listing_ns(const struct governor *g, const struct governor_reading *r)
{
	double each_ns = g->listed_cnt < LISTED_MIN ? LISTING_NS : g->listing_ns / g->listed_cnt;

	return g->scale_ns || r->listed_cnt < LISTED_MIN
		       ? each_ns
		       : MAX(each_ns, 2 * r->bpf_ns / (r->switches + 2 * r->listed_cnt));
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

/* The lowest scale that keeps this share of the budget, or limits listing to its part of it. */
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

/* Only the next two readings show what this saves: then waits may be sampled. */
static void thin_wakers(struct governor *g)
{
	g->wakers_from_ns = GOVERNOR_WAKERS_NS;
	g->thinned_cnt++;
	g->warned_ns = 0;
	g->calm_cnt = 0;
}

static void restore_all_wakers(struct governor *g, const struct governor_reading *r)
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
 * One reading may be a burst: two must ask for more, and the lower one is used. For a flood one whole reading is
 * enough, and then any that follows it.
 */
static void raise_to(struct governor *g, uint64_t wanted_ns, bool is_whole, bool is_flood)
{
	uint64_t warned_ns = g->warned_ns;
	bool is_too_much = wanted_ns > g->scale_ns;

	/* bursty work, such as of threads that all sleep for a second, may be idle in a short reading */
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

static void add_spent(struct governor_spent *spent, const struct governor_reading *r)
{
	spent->bpf_ns += r->bpf_ns;
	spent->own_ns += r->own_ns;
	spent->machine_ns += machine_ns(r);
}

/* The very first reading includes our own start. */
static void note_spent(struct governor *g, const struct governor_reading *r)
{
	if (g->seen_ns)
		add_spent(&g->since, r);
	if (g->scale_ns == g->floor_ns && !g->wakers_from_ns)
		add_spent(&g->exact, r);
}

static void adjust(struct governor *g, const struct governor_reading *r, bool is_whole)
{
	uint64_t scale_ns = g->scale_ns, wakers_from_ns = g->wakers_from_ns;

	raise_to(g, lowest_scale(g, r, 1), is_whole, is_flood(g, r));
	if (is_whole && !g->wants_next)
		lower_to(g, lowest_scale(g, r, LOWER_SHARE));
	if (is_whole && g->wakers_from_ns)
		restore_all_wakers(g, r);
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
		adjust(g, r, is_whole);
	return g->scale_ns;
}

uint32_t governor_used_ppm(const struct governor *g, uint32_t cpus)
{
	return ppm_of(g->used_ns, (double)g->seen_ns * cpus);
}
