/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* The governor against a machine whose waits are known. */
#include "session/governor.h"

#include <glib.h>
#include <math.h>

#define SECOND 1000000000ULL
#define CPUS 2
#define PERCENT 10000
#define BUDGET_NS 2e7	/* a percent of two CPUs, in a second */
#define LISTING_NS 1500

/* In a second: so many context switches, and waits of two durations, 1.5 times 2^slot ns. */
struct machine {
	double switches, fixed_ns, listing_ns, own_ns;
	struct {
		unsigned slot;
		double cnt;
	} waits[2];
};

#define SHORT 13	/* 12.3 us */
#define LONG 23		/* 12.6 ms */
#define SLEEP 29	/* 0.8 s */

/* As abi/sample.h has it. */
static double listed(const struct machine *m, uint64_t scale_ns)
{
	double sum = 0, least = ldexp((double)scale_ns, -SAMPLE_COUNTS_SHIFT);

	for (unsigned i = 0; i < G_N_ELEMENTS(m->waits); i++) {
		double ns = 1.5 * (double)(1ULL << m->waits[i].slot);

		sum += m->waits[i].cnt * (ns < (double)scale_ns ? MAX(ns, least) / (double)scale_ns : 1);
	}
	return sum;
}

static double bpf_ns(const struct machine *m, uint64_t scale_ns)
{
	return m->switches * m->fixed_ns + listed(m, scale_ns) * (m->listing_ns > 0 ? m->listing_ns : LISTING_NS);
}

static struct governor_reading reading(const struct machine *m, uint64_t scale_ns, uint64_t elapsed_ns)
{
	double seconds = (double)elapsed_ns / (double)SECOND;
	struct governor_reading r = {
		.elapsed_ns = elapsed_ns, .cpus = CPUS, .own_ns = m->own_ns * seconds,
		.bpf_ns = bpf_ns(m, scale_ns) * seconds, .switches = m->switches * seconds,
	};

	for (unsigned i = 0; i < G_N_ELEMENTS(m->waits); i++)
		r.waits[m->waits[i].slot] += m->waits[i].cnt * seconds;
	if (m->listing_ns > 0) {
		r.listed_cnt = listed(m, scale_ns) * seconds;
		r.listing_ns = r.listed_cnt * m->listing_ns;
	}
	return r;
}

static uint64_t seconds(struct governor *g, const struct machine *m, unsigned cnt)
{
	for (unsigned i = 0; i < cnt; i++) {
		const struct governor_reading r = reading(m, g->scale_ns, SECOND);

		governor_take(g, &r);
	}
	return g->scale_ns;
}

/* A governor whose first two seconds are over, in which it acts upon a flood only. */
static void begin(struct governor *g, uint64_t scale_ns)
{
	const struct governor_reading loaded = {
		.elapsed_ns = 2 * SECOND, .cpus = CPUS, .bpf_ns = 2 * 1.9 * BUDGET_NS,
	};

	governor_init(g, PERCENT, true, scale_ns);
	g_assert_cmpuint(governor_take(g, &loaded), ==, scale_ns);
	g_assert_false(g->wants_next);
	g->over_cnt = 0;
	g->used_ns = 0;
	g->seen_ns = 2 * SECOND;
}

/* 31 ms a second at first, of which listing is 26. */
static const struct machine busy = {
	.switches = 100000, .fixed_ns = 50, .waits = { { SHORT, 17333 }, { LONG, 60 } },
};

/* It keeps the budget, and the scale below would not. */
static void assert_lowest(const struct machine *m, const struct governor *g)
{
	g_assert_cmpfloat(bpf_ns(m, g->scale_ns), <=, BUDGET_NS);
	g_assert_cmpfloat(bpf_ns(m, g->scale_ns > GOVERNOR_FIRST_NS ? g->scale_ns / 2 : 0), >, BUDGET_NS);
}

static void test_raises_at_once(void)
{
	struct governor g;

	begin(&g, 0);
	g_assert_cmpuint(seconds(&g, &busy, 1), ==, 0);	/* one reading is none */
	g_assert_true(g.wants_next);
	g_assert_cmpuint(seconds(&g, &busy, 1), ==, GOVERNOR_FIRST_NS);
	g_assert_false(g.wants_next);
	assert_lowest(&busy, &g);
	seconds(&g, &busy, 100);
	g_assert_cmpuint(g.scale_ns, ==, GOVERNOR_FIRST_NS);
	g_assert_cmpuint(g.raised_cnt, ==, 1);
	g_assert_cmpuint(g.lowered_cnt, ==, 0);
	g_assert_cmpuint(g.over_cnt, ==, 2);
}

/* However many waits there are, all are listed while that keeps the budget. */
static void test_a_rate_is_no_reason(void)
{
	const struct machine m = { .switches = 30000, .fixed_ns = 200, .waits = { { SHORT, 9000 } } };
	struct governor g;

	begin(&g, 0);
	g_assert_cmpuint(seconds(&g, &m, 20), ==, 0);
	g_assert_cmpuint(g.over_cnt, ==, 0);
}

/* Whatever the first two seconds cost. */
static void test_first_seconds(void)
{
	struct governor g;

	governor_init(&g, PERCENT, true, 0);
	g_assert_cmpuint(seconds(&g, &busy, 2), ==, 0);
	g_assert_cmpuint(g.over_cnt, ==, 2);
	g_assert_cmpuint(seconds(&g, &busy, 1), ==, 0);
	g_assert_cmpuint(seconds(&g, &busy, 1), ==, GOVERNOR_FIRST_NS);
}

/* Five times the budget: a whole reading is enough, once a second is over, and what follows it need not be whole. */
static void test_flood(void)
{
	const struct machine m = { .switches = 100000, .fixed_ns = 300, .waits = { { SHORT, 46666 } } };
	const struct governor_reading first = reading(&m, 0, SECOND / 20), second = reading(&m, 0, SECOND);
	struct governor g;
	uint64_t sampled_ns;

	governor_init(&g, PERCENT, true, 0);
	g.may_thin = true;
	g_assert_cmpuint(governor_take(&g, &first), ==, 0);
	g_assert_cmpuint(g.wakers_from_ns, ==, 0);	/* the first moment is no flood */
	g_assert_cmpuint(governor_take(&g, &second), ==, 0);
	g_assert_cmpuint(g.wakers_from_ns, >, 0);
	g_assert_true(g.wants_next);
	sampled_ns = governor_take(&g, &first);
	g_assert_cmpuint(sampled_ns, >, 0);
	g_assert_cmpuint(g.raised_cnt, ==, 1);

	/* what follows a reading that is none is a burst */
	governor_init(&g, PERCENT, true, 0);
	seconds(&g, &busy, 2);
	g_assert_cmpuint(governor_take(&g, &first), ==, 0);
}

/* Scales that save nothing may lie before one that does: long waits and short ones, none between. */
static void test_leaps_over_a_gap(void)
{
	const struct machine m = { .switches = 1e5, .fixed_ns = 190, .waits = { { SHORT, 6667 }, { SLEEP, 4000 } } };
	struct governor g;

	begin(&g, 0);
	/* stacks have 5 ms, for 3,333 waits: the short ones are few from 400 us on, but the sleeps are too many below 1.6 s */
	seconds(&g, &m, 2);
	g_assert_cmpuint(g.scale_ns, ==, 16384 * GOVERNOR_FIRST_NS);
	g_assert_cmpfloat(listed(&m, g.scale_ns) * LISTING_NS, <=, BUDGET_NS / 4);
	g_assert_cmpfloat(listed(&m, g.scale_ns / 2) * LISTING_NS, >, BUDGET_NS / 4);
	g_assert_cmpuint(g.raised_cnt, ==, 1);
}

/* What comes in bursts is met by whole readings, and missed by each that is taken at once. */
static void test_bursts(void)
{
	const struct machine quiet = { 0 };
	struct governor g;

	begin(&g, 0);
	for (unsigned i = 0; i < 2; i++) {
		const struct governor_reading whole = reading(&busy, g.scale_ns, SECOND);
		const struct governor_reading after = reading(&quiet, g.scale_ns, SECOND / 20);

		g_assert_cmpuint(g.scale_ns, ==, 0);
		governor_take(&g, &whole);
		governor_take(&g, &after);
		g_assert_false(g.wants_next);
	}
	g_assert_cmpuint(g.scale_ns, ==, GOVERNOR_FIRST_NS);
	/* a second's work in a twentieth of it asks for more than the whole second does: the lesser of both is taken */
	begin(&g, 0);
	const struct governor_reading whole = reading(&busy, 0, SECOND);
	struct governor_reading at_once = whole;

	at_once.elapsed_ns = SECOND / 20;
	governor_take(&g, &at_once);
	governor_take(&g, &whole);
	g_assert_cmpuint(g.scale_ns, ==, GOVERNOR_FIRST_NS);
	/* once, and then a quiet second: that was the start */
	begin(&g, 0);
	for (unsigned i = 0; i < 4; i++)
		seconds(&g, i % 2 ? &quiet : &busy, 1);
	g_assert_cmpuint(g.scale_ns, ==, 0);
}

/* Where accounts alone are more than is allowed, stacks still have a quarter of the budget. */
static void test_stacks_have_their_part(void)
{
	struct machine m = { .switches = 1e6, .fixed_ns = 200, .waits = { { SHORT, 3300 } } };
	struct governor g;

	begin(&g, 0);
	g_assert_cmpuint(seconds(&g, &m, 20), ==, 0);
	g_assert_cmpuint(g.over_cnt, ==, 20);
	g_assert_cmpuint(governor_used_ppm(&g, CPUS), >, PERCENT);
	m.waits[0].cnt = 200000;
	seconds(&g, &m, 2);
	g_assert_cmpfloat(listed(&m, g.scale_ns) * LISTING_NS, <=, BUDGET_NS / 4);
	g_assert_cmpfloat(listed(&m, g.scale_ns / 2) * LISTING_NS, >, BUDGET_NS / 4);
}

/*
 * Of a busy machine a few threads with few waits are recorded: accounts of all others' switches are the cost, which
 * leaving out waits does not save.
 */
static void test_others_switches(void)
{
	const struct machine m = {
		.switches = 1e5, .fixed_ns = 385, .listing_ns = 3000, .waits = { { LONG + 2, 100 }, { SLEEP, 30 } },
	};
	struct governor g;

	begin(&g, 0);
	g_assert_cmpuint(seconds(&g, &m, 20), ==, 0);
	g_assert_cmpuint(g.over_cnt, ==, 20);
}

/* Where listing costs more than is reckoned, the budget counts. */
static void test_keeps_the_budget(void)
{
	const struct machine m = { .switches = 10000, .fixed_ns = 500, .listing_ns = 30000, .waits = { { LONG, 633 } } };
	struct governor g;

	begin(&g, 0);
	g_assert_cmpuint(seconds(&g, &m, 2), >, 0);
	g_assert_cmpfloat(10000 * 500 + listed(&m, g.scale_ns) * 30000, <, 2e7);
}

static void test_lowers_when_quiet(void)
{
	struct machine m = busy;
	struct governor g;

	begin(&g, 0);
	m.waits[1].cnt = 20000;
	seconds(&g, &m, 2);
	assert_lowest(&m, &g);
	g_assert_cmpuint(g.scale_ns, >, 100 * GOVERNOR_FIRST_NS);
	/* at once to where there is room, after five readings; short ones are none of them */
	uint64_t high_ns = g.scale_ns;
	m.waits[1].cnt = 60;
	for (unsigned i = 0; i < 10; i++) {
		const struct governor_reading r = reading(&m, g.scale_ns, SECOND / 20);

		governor_take(&g, &r);
	}
	g_assert_cmpuint(seconds(&g, &m, 4), ==, high_ns);
	g_assert_cmpuint(seconds(&g, &m, 1), ==, GOVERNOR_FIRST_NS);
	g_assert_cmpuint(g.lowered_cnt, ==, 1);
	/* three quarters of the budget must do, else it would be up again soon */
	m.waits[0].cnt = 9000;
	g_assert_cmpuint(seconds(&g, &m, 20), ==, GOVERNOR_FIRST_NS);
	m.waits[0].cnt = 6000;
	g_assert_cmpuint(seconds(&g, &m, 5), ==, 0);
	g_assert_cmpuint(seconds(&g, &m, 50), ==, 0);
	g_assert_cmpuint(g.lowered_cnt, ==, 2);
}

/* The one of five quiet readings that had least room counts. */
static void test_lowers_with_care(void)
{
	struct machine many = busy, some = busy, none = { 0 };
	struct governor g;

	begin(&g, 0);
	many.waits[0].cnt = 200000;
	seconds(&g, &many, 2);
	assert_lowest(&many, &g);
	g_assert_cmpuint(g.scale_ns, >, 2 * GOVERNOR_FIRST_NS);
	some.waits[0].cnt = 12000;
	seconds(&g, &none, 2);
	seconds(&g, &some, 1);
	g_assert_cmpuint(seconds(&g, &none, 2), ==, GOVERNOR_FIRST_NS);
}

/* What listing takes is measured: dear listing is sampled, cheap listing is exact. */
static void test_counts_what_listing_takes(void)
{
	struct machine m = { .switches = 10000, .fixed_ns = 200, .listing_ns = 3000, .waits = { { SHORT, 7000 } } };
	struct governor g;

	begin(&g, 0);
	g_assert_cmpuint(seconds(&g, &m, 20), ==, GOVERNOR_FIRST_NS);
	m.listing_ns = 500;
	g_assert_cmpuint(seconds(&g, &m, 20), ==, 0);
}

/* Not below what the user began with, nor above the top. */
static void test_keeps_to_its_bounds(void)
{
	struct machine m = { .switches = 1e7, .fixed_ns = 0, .waits = { { SLEEP, 2e7 } } };
	struct governor g;

	begin(&g, 50000);
	g_assert_cmpuint(seconds(&g, &m, 40), ==, GOVERNOR_TOP_NS);
	m.waits[0].cnt = 0;
	g_assert_cmpuint(seconds(&g, &m, 100), ==, 50000);
}

/* An exact recording stays exact, and what it cost is known. */
static void test_exact(void)
{
	const struct machine m = { .switches = 1e6, .fixed_ns = 50, .waits = { { SHORT, 300000 } } };
	struct governor g;

	governor_init(&g, PERCENT, false, 0);
	g_assert_cmpuint(seconds(&g, &m, 20), ==, 0);
	g_assert_cmpuint(g.raised_cnt, ==, 0);
	g_assert_cmpuint(g.over_cnt, ==, 20);
	g_assert_cmpuint(governor_used_ppm(&g, CPUS), ==, 250000);
	g_assert_cmpuint(g.peak_ppm, ==, 250000);
}

/* Where our own process is the cost, as it is while symbols are read, no wait need be dropped. */
static void test_own_cost(void)
{
	const struct machine m = { .switches = 2000, .fixed_ns = 50, .own_ns = 5e8, .waits = { { SHORT, 600 } } };
	struct governor g;

	governor_init(&g, PERCENT, true, 0);
	g_assert_cmpuint(seconds(&g, &m, 20), ==, 0);
	g_assert_cmpuint(g.peak_ppm, ==, 250500);
	g_assert_cmpuint(g.over_cnt, ==, 0);
}

/* Who ended short sleeps is left out first, if nobody asked for it, and is back when there is room for it. */
static void test_thins_wakers_first(void)
{
	struct machine m = { .switches = 100000, .fixed_ns = 100, .waits = { { SHORT, 17000 } } };
	struct governor_reading loaded = reading(&m, 0, SECOND), calm;
	struct governor g;
	unsigned turns = 0;

	begin(&g, 0);
	g.may_thin = true;
	governor_take(&g, &loaded);
	g_assert_cmpuint(g.wakers_from_ns, ==, 0);	/* may be a burst */
	g_assert_cmpuint(governor_take(&g, &loaded), ==, 0);
	g_assert_cmpuint(g.wakers_from_ns, ==, GOVERNOR_WAKERS_NS);
	g_assert_cmpuint(g.thinned_cnt, ==, 1);
	m.waits[0].cnt = m.switches = 10000;
	calm = reading(&m, 0, SECOND);
	g_assert_cmpfloat(calm.bpf_ns, <, BUDGET_NS);
	for (; g.wakers_from_ns && turns < 100; turns++)
		governor_take(&g, &calm);
	g_assert_cmpuint(g.wakers_from_ns, ==, calm.bpf_ns < BUDGET_NS / 2 ? 0 : GOVERNOR_WAKERS_NS);
	m.waits[0].cnt = m.switches = 1000;
	calm = reading(&m, 0, SECOND);
	for (turns = 0; g.wakers_from_ns && turns < 100; turns++)
		governor_take(&g, &calm);
	g_assert_cmpuint(g.wakers_from_ns, ==, 0);
	g_assert_cmpuint(turns, >, 1);	/* not at the first quiet one */
	g_assert_cmpuint(g.raised_cnt, ==, 0);
}

/* What is not enough goes on with sampling. */
static void test_samples_where_wakers_are_not_enough(void)
{
	struct machine m = { .switches = 100000, .fixed_ns = 100, .waits = { { SHORT, 100000 } } };
	struct governor g;
	uint64_t scale_ns = 0;

	begin(&g, 0);
	g.may_thin = true;
	for (unsigned i = 0; i < 6; i++) {
		struct governor_reading r = reading(&m, scale_ns, SECOND);

		scale_ns = governor_take(&g, &r);
	}
	g_assert_cmpuint(g.wakers_from_ns, ==, GOVERNOR_WAKERS_NS);
	g_assert_cmpuint(scale_ns, >, 0);
}

/* What it took as it began and what it takes now, for record --estimate: which does not wait for two seconds. */
static void test_spent(void)
{
	struct governor g;
	double exact_ns = bpf_ns(&busy, 0);

	governor_init(&g, PERCENT, true, 0);
	g.grace_ns = SECOND;
	seconds(&g, &busy, 4);
	g_assert_cmpuint(g.raised_cnt, ==, 1);
	g_assert_cmpfloat(fabs(g.exact.bpf_ns / g.exact.machine_ns - exact_ns / (CPUS * (double)SECOND)), <, 1e-9);
	g_assert_cmpfloat(g.since.bpf_ns, <=, BUDGET_NS);
	g_assert_cmpfloat(g.since.machine_ns, ==, CPUS * (double)SECOND);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/governor/thins-wakers-first", test_thins_wakers_first);
	g_test_add_func("/governor/samples-where-wakers-are-not-enough", test_samples_where_wakers_are_not_enough);
	g_test_add_func("/governor/raises-at-once", test_raises_at_once);
	g_test_add_func("/governor/leaps-over-a-gap", test_leaps_over_a_gap);
	g_test_add_func("/governor/bursts", test_bursts);
	g_test_add_func("/governor/stacks-have-their-part", test_stacks_have_their_part);
	g_test_add_func("/governor/others-switches", test_others_switches);
	g_test_add_func("/governor/keeps-the-budget", test_keeps_the_budget);
	g_test_add_func("/governor/lowers-when-quiet", test_lowers_when_quiet);
	g_test_add_func("/governor/lowers-with-care", test_lowers_with_care);
	g_test_add_func("/governor/a-rate-is-no-reason", test_a_rate_is_no_reason);
	g_test_add_func("/governor/first-seconds", test_first_seconds);
	g_test_add_func("/governor/flood", test_flood);
	g_test_add_func("/governor/counts-what-listing-takes", test_counts_what_listing_takes);
	g_test_add_func("/governor/keeps-to-its-bounds", test_keeps_to_its_bounds);
	g_test_add_func("/governor/exact", test_exact);
	g_test_add_func("/governor/own-cost", test_own_cost);
	g_test_add_func("/governor/spent", test_spent);
	return g_test_run();
}
