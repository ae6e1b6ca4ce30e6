/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* The governor against a machine that answers with a cost for each scale. */
#include "collect/governor.h"

#include <glib.h>
#include <math.h>

#define SECOND 1000000000ULL
#define CPUS 2
#define PERCENT 10000

/* A switch costs fixed_ns, and stack_ns more for its stacks until the scale has taken them away; of stacks there are as many as cost that. */
struct machine {
	double switches, fixed_ns, stack_ns, own_ns;
};

#define STACKS_NS 1000

static double switch_ns(const struct machine *m, uint64_t scale_ns)
{
	/* each step, four times the scale, halves what stacks cost */
	return m->fixed_ns + (scale_ns ? m->stack_ns / 2 * sqrt((double)GOVERNOR_FIRST_NS / (double)scale_ns) : m->stack_ns);
}

static uint64_t seconds(struct governor *g, const struct machine *m, unsigned cnt)
{
	for (unsigned i = 0; i < cnt; i++) {
		double each_ns = m->switches > 0 ? switch_ns(m, g->scale_ns) : 0;
		const struct governor_reading r = {
			.elapsed_ns = SECOND, .cpus = CPUS, .own_ns = m->own_ns, .switch_ns = each_ns,
			.bpf_ns = each_ns * m->switches, .listed_each = each_ns > 0 ? (each_ns - m->fixed_ns) / STACKS_NS : 0,
		};
		governor_take(g, &r);
	}
	return g->scale_ns;
}

/* 50 ms a second at first; the budget is 20. */
static const struct machine busy = { .switches = 100000, .fixed_ns = 50, .stack_ns = 450 };

static void test_raises_until_within(void)
{
	struct governor g;

	governor_init(&g, PERCENT, true, 0);
	g_assert_cmpuint(seconds(&g, &busy, 1), ==, 0);	/* one reading is none */
	g_assert_cmpuint(seconds(&g, &busy, 1), ==, GOVERNOR_FIRST_NS);
	g_assert_cmpuint(seconds(&g, &busy, 1), ==, 4 * GOVERNOR_FIRST_NS);
	/* 16 ms a second, within the budget; but 11 of them are stacks, so on until these take no more than 1: 0.7 */
	seconds(&g, &busy, 10);
	g_assert_cmpuint(g.scale_ns, ==, 1024 * GOVERNOR_FIRST_NS);
	g_assert_cmpuint(g.raised_cnt, ==, 6);
	g_assert_cmpuint(g.lowered_cnt, ==, 0);
	g_assert_cmpuint(g.peak_ppm, ==, 25000);
	/* and stays there: what the scale below lists would be too much again */
	seconds(&g, &busy, 87);
	g_assert_cmpuint(g.scale_ns, ==, 1024 * GOVERNOR_FIRST_NS);
	g_assert_cmpuint(g.raised_cnt, ==, 6);
	g_assert_cmpuint(g.lowered_cnt, ==, 0);
}

/* A step that saves nothing may lie before one that does: long waits and short ones, none between. */
static void test_climbs_over_a_gap(void)
{
	struct governor g;

	governor_init(&g, PERCENT, true, 0);
	for (unsigned i = 0; i < 11; i++) {
		double listed = !g.scale_ns ? 0.9 : g.scale_ns < 200 * GOVERNOR_FIRST_NS ? 0.5 : 0.1;
		const struct governor_reading r = {
			.elapsed_ns = SECOND, .cpus = CPUS, .switch_ns = 200 + listed * STACKS_NS,
			.bpf_ns = 1e6 * (200 + listed * STACKS_NS), .listed_each = listed,
		};
		governor_take(&g, &r);
	}
	g_assert_cmpuint(g.scale_ns, ==, 256 * GOVERNOR_FIRST_NS);
}

/* What comes in bursts is met by whole readings, and missed by each that is taken at once. */
static void test_bursts(void)
{
	struct governor g;

	governor_init(&g, PERCENT, true, 0);
	for (unsigned i = 0; i < 3; i++) {
		const struct governor_reading whole = {
			.elapsed_ns = SECOND, .cpus = CPUS, .switch_ns = 2000, .bpf_ns = 4e7, .listed_each = 0.5,
		}, quiet = { .elapsed_ns = SECOND / 20, .cpus = CPUS };

		g_assert_cmpuint(g.scale_ns, ==, i < 2 ? 0 : GOVERNOR_FIRST_NS);
		governor_take(&g, &whole);
		g_assert_true(g.wants_next);
		governor_take(&g, &quiet);
		g_assert_false(g.wants_next);
	}
	g_assert_cmpuint(g.scale_ns, ==, 4 * GOVERNOR_FIRST_NS);
	/* once, and then a quiet second: that was the start */
	governor_init(&g, PERCENT, true, 0);
	for (unsigned i = 0; i < 4; i++) {
		const struct governor_reading r = {
			.elapsed_ns = SECOND, .cpus = CPUS, .switch_ns = 2000, .bpf_ns = i % 2 ? 1e6 : 4e7, .listed_each = 0.5,
		};

		governor_take(&g, &r);
	}
	g_assert_cmpuint(g.scale_ns, ==, 0);
}

/* What no sampling can save is not paid for with precision. */
static void test_stops_where_it_gains_nothing(void)
{
	const struct machine m = { .switches = 1000000, .fixed_ns = 200, .stack_ns = 20 };
	struct governor g;

	governor_init(&g, PERCENT, true, 0);
	seconds(&g, &m, 11);
	/* 220, 210, 205, 202.5, 201.3, 200.6, 200.3: 201.3 are less than 1 % above the least */
	g_assert_cmpuint(g.scale_ns, ==, 64 * GOVERNOR_FIRST_NS);
	g_assert_cmpuint(g.raised_cnt, ==, 8);
	g_assert_cmpuint(g.lowered_cnt, ==, 1);
	g_assert_cmpuint(governor_used_ppm(&g, CPUS), >, PERCENT);
}

static void test_lowers_when_quiet(void)
{
	struct machine m = busy;
	struct governor g;

	governor_init(&g, PERCENT, true, 0);
	seconds(&g, &m, 10);
	g_assert_cmpuint(g.scale_ns, ==, 1024 * GOVERNOR_FIRST_NS);
	m.switches = 100;
	/* five readings for a step */
	g_assert_cmpuint(seconds(&g, &m, 4), ==, 1024 * GOVERNOR_FIRST_NS);
	g_assert_cmpuint(seconds(&g, &m, 1), ==, 256 * GOVERNOR_FIRST_NS);
	g_assert_cmpuint(seconds(&g, &m, 5), ==, 64 * GOVERNOR_FIRST_NS);
	g_assert_cmpuint(seconds(&g, &m, 20), ==, 0);
	g_assert_cmpuint(seconds(&g, &m, 50), ==, 0);
	g_assert_cmpuint(g.lowered_cnt, ==, 6);
}

/* Far within the budget, but with more stacks than are of use. */
static void test_lists_what_is_of_use(void)
{
	const struct machine m = { .switches = 10000, .fixed_ns = 200, .stack_ns = 400 };
	struct governor g;

	governor_init(&g, PERCENT, true, 0);
	seconds(&g, &m, 100);
	/* 4, 2 and 1 ms a second */
	g_assert_cmpuint(g.scale_ns, ==, 4 * GOVERNOR_FIRST_NS);
	g_assert_cmpuint(g.over_cnt, ==, 0);
	g_assert_cmpuint(g.raised_cnt, ==, 2);
	g_assert_cmpuint(g.lowered_cnt, ==, 0);
}

/* So few waits that all are listed, and all again where there are so few again. */
static void test_stays_exact(void)
{
	struct machine m = { .switches = 2000, .fixed_ns = 200, .stack_ns = 490 };
	struct governor g;

	governor_init(&g, PERCENT, true, 0);
	g_assert_cmpuint(seconds(&g, &m, 20), ==, 0);
	m.switches = 10000;
	g_assert_cmpuint(seconds(&g, &m, 20), >, 0);
	m.switches = 900;
	g_assert_cmpuint(seconds(&g, &m, 20), ==, 0);
}

/* Not below what the user began with, nor above the top. */
static void test_keeps_to_its_bounds(void)
{
	struct machine m = { .switches = 1e7, .fixed_ns = 0, .stack_ns = 4500 };
	struct governor g;

	governor_init(&g, PERCENT, true, 50000);
	g_assert_cmpuint(seconds(&g, &m, 40), ==, GOVERNOR_TOP_NS);
	m.switches = 0;
	g_assert_cmpuint(seconds(&g, &m, 100), ==, 50000);
}

/* An exact recording stays exact, and what it cost is known. */
static void test_exact(void)
{
	const struct machine m = { .switches = 1e6, .fixed_ns = 50, .stack_ns = 450 };
	struct governor g;

	governor_init(&g, PERCENT, false, 0);
	g_assert_cmpuint(seconds(&g, &m, 20), ==, 0);
	g_assert_cmpuint(g.raised_cnt, ==, 0);
	g_assert_cmpuint(g.over_cnt, ==, 20);
	g_assert_cmpuint(governor_used_ppm(&g, CPUS), ==, 250000);
}

/* Where our own process is the cost, as it is while symbols are read, no wait need be dropped. */
static void test_own_cost(void)
{
	const struct machine m = { .switches = 2000, .fixed_ns = 50, .stack_ns = 450, .own_ns = 5e8 };
	struct governor g;

	governor_init(&g, PERCENT, true, 0);
	g_assert_cmpuint(seconds(&g, &m, 20), ==, 0);
	g_assert_cmpuint(g.peak_ppm, ==, 250500);
	g_assert_cmpuint(g.over_cnt, ==, 0);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/governor/raises-until-within", test_raises_until_within);
	g_test_add_func("/governor/stops-where-it-gains-nothing", test_stops_where_it_gains_nothing);
	g_test_add_func("/governor/bursts", test_bursts);
	g_test_add_func("/governor/climbs-over-a-gap", test_climbs_over_a_gap);
	g_test_add_func("/governor/lowers-when-quiet", test_lowers_when_quiet);
	g_test_add_func("/governor/lists-what-is-of-use", test_lists_what_is_of_use);
	g_test_add_func("/governor/stays-exact", test_stays_exact);
	g_test_add_func("/governor/keeps-to-its-bounds", test_keeps_to_its_bounds);
	g_test_add_func("/governor/exact", test_exact);
	g_test_add_func("/governor/own-cost", test_own_cost);
	return g_test_run();
}
