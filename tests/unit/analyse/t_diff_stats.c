/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "analyse/diff/merge.h"
#include "analyse/diff/stats.h"

#include <math.h>

#include "profile/profile.h"

/* All numbers to compare with were worked out elsewhere: integrals by Simpson's rule, samples and simulations in Python. */

static void assert_near(double got, double want, double tolerance)
{
	if (fabs(got - want) > tolerance * fabs(want))
		g_error("%.9g is not %.9g within %g", got, want, tolerance);
}

static void test_p(void)
{
	assert_near(stats_p(2, 5), 0.10193948, 1e-6);
	assert_near(stats_p(-1.96, 1000), 0.050273185, 1e-6);
	assert_near(stats_p(4.5, 12), 0.00072665292, 1e-6);
	assert_near(stats_p(3, 1), 0.20483276, 1e-6);
	assert_near(stats_p(0.5, 30), 0.620723, 1e-6);
	assert_near(stats_p(5, 1e9), 5.7330314e-07, 1e-6);
	g_assert_cmpfloat(stats_p(0, 10), ==, 1);
	g_assert_cmpfloat(stats_p(INFINITY, 10), ==, 0);
	g_assert_cmpfloat(stats_p(NAN, 10), ==, 1);
	/* so far out that only the logarithm is left */
	g_assert_cmpfloat(stats_p(60, 1e9), <, 1e-300);
	g_assert_cmpfloat(stats_p(1e6, 3), <, 1e-15);
}

/* 1,000 durations, lognormal about 450 us: sum, longest, sum of squares and quantiles of the durations themselves. */
#define SUM UINT64_C(731203562)
#define LONGEST UINT64_C(7236272)
#define SQUARES 1287653000479250.0
static const uint32_t lognormal[PROFILE_HIST_SLOTS] = {
	[13] = 1, [14] = 4, [15] = 27, [16] = 79, [17] = 165, [18] = 269, [19] = 268, [20] = 130, [21] = 41, [22] = 16,
};

static void test_squares(void)
{
	const uint32_t one[PROFILE_HIST_SLOTS] = { [20] = 1 };

	assert_near(stats_squares(lognormal, SUM, LONGEST), SQUARES, 0.1);
	/* One wait is its own square, whatever its slot says. */
	assert_near(stats_squares(one, 1500000, 1500000), 1500000.0 * 1500000.0, 1e-9);
	/* A histogram that does not hold what the sum does (hostile): no more than so many of the longest. */
	assert_near(stats_squares(one, 1000, 10), 1e6, 1e-9);
	g_assert_cmpfloat(stats_squares((uint32_t[PROFILE_HIST_SLOTS]){ 0 }, 0, 0), ==, 0);
}

/* Simulated: 4,000 windows of length 1000, waits and the time between them exponential. */
static void test_thread_variance(void)
{
	/* waits of 1 on average, 1 between: 500 waits, squares 500 * 2; the simulation has 248.5 */
	assert_near(stats_thread_variance(1000, 500, 500, 1000, false), 248.5, 0.03);
	/* waits of 9, 1 between: 100 waits, squares 100 * 2 * 81; the simulation has 165.0 */
	assert_near(stats_thread_variance(16200, 900, 100, 1000, false), 165.0, 0.03);
	/* One wait all the time: for all that is known it might have been another half of the time. */
	assert_near(stats_thread_variance(1e6, 1000, 1, 1000, false), 5e5, 1e-9);
	g_assert_cmpfloat(stats_thread_variance(1e6, 1000, 1, 1000, true), ==, 0);
	/* More time than was observed (hostile) is all of it. */
	g_assert_cmpfloat(stats_thread_variance(1e6, 5000, 1, 1000, true), ==, 0);
	g_assert_cmpfloat(stats_thread_variance(1e6, 1000, 1, 0, true), ==, 1e6);
}

static void test_dof(void)
{
	const struct stats_term terms[] = { { 4, 10 }, { 1, 20 }, { 3, 0 } };

	assert_near(stats_dof(terms, 3), 64 / (16 / 10.0 + 1 / 20.0), 1e-9);
	assert_near(stats_dof(terms + 2, 1), 1e9, 1e-9);
}

static void test_threshold(void)
{
	/* Benjamini, Hochberg 1995, the example of their paper: at 0.05 the first four. */
	double p[] = { 0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344,
		       0.0459, 0.3240, 0.4262, 0.5719, 0.6528, 0.7590, 1.000 };

	assert_near(stats_threshold(p, G_N_ELEMENTS(p), 0.05), 0.0095, 1e-9);
	g_assert_cmpfloat(stats_threshold((double[]){ 0.5, 0.9 }, 2, 0.05), <, 0);
	g_assert_cmpfloat(stats_threshold(NULL, 0, 0.05), <, 0);
}

static void test_quantile(void)
{
	uint64_t hist[PROFILE_HIST_SLOTS];
	const uint64_t below[PROFILE_HIST_SLOTS] = { [19] = 1000 }, above[PROFILE_HIST_SLOTS] = { [20] = 1000 };

	for (unsigned i = 0; i < PROFILE_HIST_SLOTS; i++)
		hist[i] = lognormal[i];
	const struct stats_durations d = { hist, SUM, LONGEST };
	assert_near(stats_quantile(&d, 0.5), 459239, 0.1);
	assert_near(stats_quantile(&d, 0.9), 1528346, 0.1);
	assert_near(stats_quantile(&d, 0.99), 4827665, 0.15);
	g_assert_cmpfloat(stats_quantile(&d, 1), <=, (double)LONGEST);
	/* 1.04 ms and 1.05 ms lie in two slots, of which the middles are 0.79 and 1.57 ms. */
	const struct stats_durations x = { below, 1040000000, 1048000 }, y = { above, 1050000000, 1060000 };
	assert_near(stats_quantile(&y, 0.5) / stats_quantile(&x, 0.5), 1.01, 0.02);
	/* The rank of the 99th of 1,000 is known to 3; that is between the 987th and the 993rd. */
	double error = stats_quantile_error(&d, 0.99, 1);
	g_assert_cmpfloat(error, >, 300000);
	g_assert_cmpfloat(error, <, 1500000);
	g_assert_cmpfloat(stats_quantile_error(&d, 0.99, 16), >=, error);
	const struct stats_durations none = { (uint64_t[PROFILE_HIST_SLOTS]){ 0 }, 0, 0 };
	g_assert_cmpfloat(stats_quantile(&none, 0.5), ==, 0);
	g_assert_cmpfloat(stats_quantile_error(&none, 0.5, 1), ==, 0);
}

/* Waits of 30 us say little of how long one is, be they 100 or 10,000 beside 300 of 100 ms. */
static void test_mean_of_most(void)
{
	uint64_t hist[PROFILE_HIST_SLOTS] = { 0 };
	const struct stats_durations d = { hist, 300 * UINT64_C(100000000), 100000000 };

	hist[26] = 300;
	assert_near(stats_mean_of_most(&d, 0.05), 1e8, 1e-9);	/* equal ones: their length */
	for (uint64_t cnt = 100; cnt <= 10000; cnt *= 10) {
		const struct stats_durations more = { hist, d.sum_ns + cnt * 30000, d.max_ns };

		hist[14] = cnt;
		assert_near(stats_mean_of_most(&more, 0.05), 1e8, 0.02);
	}
	const struct stats_durations none = { (uint64_t[PROFILE_HIST_SLOTS]){ 0 }, 0, 0 };
	g_assert_cmpfloat(stats_mean_of_most(&none, 0.05), ==, 0);
}

static void test_batches(void)
{
	struct batches even = { 0 }, burst = { 0 };

	for (unsigned i = 0; i < BATCHES_CNT; i++) {
		even.ns[i] = even.whole_ns[i] = 5e6;
		even.count[i] = 5;
		/* as much time, all of it in two batches, where waits are twice as long as the few elsewhere */
		burst.ns[i] = i < 2 ? 5e7 : 0;
		burst.whole_ns[i] = i < 2 ? 5e7 : 1e6;
		burst.count[i] = i < 2 ? 25 : 1;
	}
	g_assert_cmpfloat(batches_variance(&even), ==, 0);
	g_assert_cmpfloat(batches_mean_variance(&even), ==, 0);
	/* 2 of (5e7 - 5e6)^2 and 18 of 5e6^2, times 20 / 19 */
	assert_near(sqrt(batches_variance(&burst)), sqrt((2 * 45e6 * 45e6 + 18 * 5e6 * 5e6) * 20 / 19), 1e-9);
	/* of the time 50 / 118 and 1 / 118 each, of the waits 25 / 68 and 1 / 68 */
	assert_near(batches_mean_variance(&burst),
		    (2 * pow(50. / 118 - 25. / 68, 2) + 18 * pow(1. / 118 - 1. / 68, 2)) * 20 / 19, 1e-9);
	g_assert_cmpfloat(batches_mean_variance(&(struct batches){ 0 }), ==, 0);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/diff/stats/p", test_p);
	g_test_add_func("/diff/stats/squares", test_squares);
	g_test_add_func("/diff/stats/thread-variance", test_thread_variance);
	g_test_add_func("/diff/stats/dof", test_dof);
	g_test_add_func("/diff/stats/threshold", test_threshold);
	g_test_add_func("/diff/stats/quantile", test_quantile);
	g_test_add_func("/diff/stats/mean-of-most", test_mean_of_most);
	g_test_add_func("/diff/stats/batches", test_batches);
	return g_test_run();
}
