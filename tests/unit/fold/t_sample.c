/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Sampling by duration is unbiased, and its standard error is what it says: simulated with the
 * very arithmetic of the BPF programs (abi/sample.h) and the sums that follow (fold/sums.h).
 * The random numbers have a fixed seed, so a run is like any other.
 */
#include "abi/sample.h"

#include <glib.h>
#include <math.h>

#include "fold/sums.h"
#include "profile/profile.h"

#define WAITS 4000
#define ROUNDS 2000

/* Waits from 200 ns to some 3 ms, a few long ones carrying much of the time, as real ones do. */
struct load {
	struct wait_parts waits[WAITS];
	uint64_t total_ns, total_blocked_ns, total_preempted_ns;
};

static struct load *load_new(GRand *rand)
{
	struct load *l = g_new0(struct load, 1);

	for (unsigned i = 0; i < WAITS; i++) {
		double exponent = 7.6 + 14 * pow(g_rand_double(rand), 2.5);
		uint64_t duration_ns = (uint64_t)exp2(exponent);

		struct wait_parts *wait = &l->waits[i];

		if (i % 3)
			wait->runnable_ns = (uint64_t)(g_rand_double(rand) * (double)duration_ns);
		if (i % 4)
			wait->blocked_ns = duration_ns - wait->runnable_ns;
		else
			wait->preempted_ns = duration_ns - wait->runnable_ns;
		l->total_ns += duration_ns;
		l->total_blocked_ns += wait->blocked_ns;
		l->total_preempted_ns += wait->preempted_ns;
	}
	return l;
}

/* The sum as that of bpf/sums.bpf.h. */
static bool add_sampled(struct offcpu_wait_slot *sum, const struct wait_parts *wait, uint64_t scale_ns, uint32_t random)
{
	uint64_t duration_ns = wait->blocked_ns + wait->runnable_ns + wait->preempted_ns;
	struct kept_wait kept;

	if (!sample_is_kept(duration_ns, random, scale_ns))
		return false;
	sample_wait(wait, duration_ns, scale_ns, &kept);
	sum->count_q8 += kept.weight_q8;
	sum->blocked_ns += kept.parts.blocked_ns;
	sum->runnable_ns += kept.parts.runnable_ns;
	sum->preempted_ns += kept.parts.preempted_ns;
	sum->variance += kept.variance;
	sum->max_ns = MAX(sum->max_ns, kept.duration_ns);
	sum->hist_q8[offcpu_hist_place(profile_hist_slot(kept.duration_ns))] += (uint32_t)kept.weight_q8;
	return true;
}

/* One recording of the load; the scale changes midway from scales[0] to scales[1], as a governor's may. */
static bool record(const struct load *l, const uint64_t scales[2], GRand *rand, struct sums_total *ret_total)
{
	struct sums *sums = sums_new();
	bool any = false;

	for (unsigned half = 0; half < 2; half++) {
		struct offcpu_wait_slot sum = { .ustack = 1, .tno = 1, .state = 'S' };
		bool kept = false;

		for (unsigned i = half; i < WAITS; i += 2)
			kept |= add_sampled(&sum, &l->waits[i], scales[half], g_rand_int(rand) >> (32 - SAMPLE_DRAW_BITS));
		if (kept)
			sums_add(sums, sum.ustack, &sum);
		any |= kept;
	}
	if (any)
		sums_get(sums, 0, ret_total);
	sums_free(sums);
	return any;
}

static void assert_hist_is_count(const struct sums_total *total)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < OFFCPU_HIST_SLOTS; i++)
		sum += total->hist[i];
	g_assert_cmpuint(sum, ==, total->count);
}

/* Mean and variance of a number over the rounds. */
struct moments {
	double sum, squares;
};

static void moments_add(struct moments *m, double x)
{
	m->sum += x;
	m->squares += x * x;
}

static double mean(const struct moments *m)
{
	return m->sum / ROUNDS;
}

static double variance(const struct moments *m)
{
	return m->squares / ROUNDS - mean(m) * mean(m);
}

/*
 * The mean lies within four of its own standard errors of the truth; and that says something, for
 * those are a small part of it.
 */
static void assert_unbiased(const struct moments *m, double truth, double small)
{
	double error = sqrt(variance(m) / ROUNDS);

	g_assert_cmpfloat(fabs(mean(m) - truth), <=, 4 * error);
	g_assert_cmpfloat(4 * error, <, truth * small);
}

static void simulate(const uint64_t scales[2], unsigned seed)
{
	GRand *rand = g_rand_new_with_seed(seed);
	struct load *l = load_new(rand);
	struct moments time = { 0 }, blocked = { 0 }, preempted = { 0 }, count = { 0 }, reckoned = { 0 };
	unsigned within = 0;

	for (unsigned round = 0; round < ROUNDS; round++) {
		struct sums_total total;

		g_assert_true(record(l, scales, rand, &total));
		double off_cpu_ns = (double)(total.blocked_ns + total.runnable_ns + total.preempted_ns), se_ns = (double)total.off_cpu_se_ns;
		assert_hist_is_count(&total);
		moments_add(&time, off_cpu_ns);
		moments_add(&blocked, (double)total.blocked_ns);
		moments_add(&preempted, (double)total.preempted_ns);
		moments_add(&count, (double)total.count);
		moments_add(&reckoned, se_ns * se_ns);
		within += fabs(off_cpu_ns - (double)l->total_ns) <= 1.96 * se_ns;
	}
	assert_unbiased(&time, (double)l->total_ns, 0.01);
	assert_unbiased(&blocked, (double)l->total_blocked_ns, 0.01);
	assert_unbiased(&preempted, (double)l->total_preempted_ns, 0.01);
	/* the shortest waits are kept seldom and count for hundreds */
	assert_unbiased(&count, WAITS, 0.1);
	/* The variance that recordings state is the one that they have: known to 10 % from 2,000. */
	g_assert_cmpfloat(fabs(mean(&reckoned) / variance(&time) - 1), <, 0.1);
	g_assert_cmpfloat((double)within / ROUNDS, >, 0.93);
	g_assert_cmpfloat((double)within / ROUNDS, <, 0.97);
	/* and below the bound that the account gives */
	g_assert_cmpfloat(variance(&time), <, (double)MAX(scales[0], scales[1]) * (double)l->total_ns);
	g_free(l);
	g_rand_free(rand);
}

static void test_unbiased(void)
{
	simulate((const uint64_t[]){ 10000, 10000 }, 1);
	simulate((const uint64_t[]){ 100000, 100000 }, 2);
}

static void test_changing_scale(void)
{
	simulate((const uint64_t[]){ 20000, 320000 }, 3);
}

/* Exact: every number comes out as it went in. */
static void test_exact(void)
{
	GRand *rand = g_rand_new_with_seed(4);
	struct load *l = load_new(rand);
	struct sums_total total;

	g_assert_true(record(l, (const uint64_t[]){ 0, 0 }, rand, &total));
	g_assert_cmpuint(total.count, ==, WAITS);
	g_assert_cmpuint(total.blocked_ns, ==, l->total_blocked_ns);
	g_assert_cmpuint(total.preempted_ns, ==, l->total_preempted_ns);
	g_assert_cmpuint(total.blocked_ns + total.runnable_ns + total.preempted_ns, ==, l->total_ns);
	g_assert_cmpuint(total.off_cpu_se_ns, ==, 0);
	assert_hist_is_count(&total);
	g_free(l);
	g_rand_free(rand);
}

/* How likely a wait is kept: of all draws it is the first ones that keep it. */
static double chance_of(uint64_t duration_ns, uint64_t scale_ns)
{
	uint64_t from = 0, to = UINT64_C(1) << SAMPLE_DRAW_BITS;

	while (from < to) {
		uint64_t draw = from + (to - from) / 2;

		if (duration_ns > sample_bar_ns(scale_ns, (uint32_t)draw))
			from = draw + 1;
		else
			to = draw;
	}
	return ldexp((double)from, -SAMPLE_DRAW_BITS);
}

static void assert_near(double x, double truth, double part, double slack)
{
	g_assert_cmpfloat(fabs(x - truth), <=, truth * part + slack);
}

/* To a part of a draw, where the fewest of them keep the wait. */
#define PART ldexp(1, SAMPLE_COUNTS_SHIFT - SAMPLE_DRAW_BITS)

/* Without chance: what a wait counts, times the probability that it is kept, is what it is. */
static void assert_expected(uint64_t duration_ns, uint64_t scale_ns)
{
	double p = chance_of(duration_ns, scale_ns), variance_ns2;
	uint64_t chance_ns = sample_chance_ns(duration_ns, scale_ns);
	uint64_t counts_ns = sample_part_ns(duration_ns, chance_ns, scale_ns), part_ns = duration_ns / 3;

	g_assert_cmpfloat(p, >=, ldexp(1, -SAMPLE_COUNTS_SHIFT) * 0.9999);
	g_assert_cmpuint(counts_ns, >=, duration_ns);
	g_assert_cmpuint(counts_ns, <=, scale_ns);
	assert_near(p * (double)counts_ns, (double)duration_ns, PART, 1);
	assert_near(p * (double)sample_part_ns(part_ns, chance_ns, scale_ns), (double)part_ns, PART, 1);
	assert_near(p * (double)sample_weight_q8(chance_ns, scale_ns) / SAMPLE_ONE_Q8, 1, PART, 0.5 / SAMPLE_ONE_Q8);
	variance_ns2 = ldexp((double)sample_variance(duration_ns, counts_ns), SAMPLE_VARIANCE_SHIFT);
	/* of waits above 2 s to a microsecond */
	assert_near(p * variance_ns2, (double)duration_ns * (double)(counts_ns - duration_ns), PART,
		    ldexp(1, SAMPLE_VARIANCE_SHIFT) + (counts_ns >> 31 ? 1024.0 * (double)counts_ns : 0));
}

/* At all scales that governors use, from waits that count for the most to those that count for one; nothing wraps. */
static void test_expectation(void)
{
	for (uint64_t scale = 100000; scale <= SAMPLE_SCALE_MAX_NS; scale *= 2) {
		uint64_t least = sample_least_ns(scale);

		for (uint64_t duration = least; duration < scale; duration = duration * 5 / 4 + 1)
			assert_expected(duration, scale);
		for (uint64_t i = 1; i < 100; i++)
			assert_expected(MAX(least * i / 100, 1), scale);
		assert_expected(scale - 1, scale);
		assert_expected(scale / 2, scale);
	}
}

#define LAST_DRAW ((1U << SAMPLE_DRAW_BITS) - 1)

/* The ends of the ranges. */
static void test_extremes(void)
{
	const uint64_t scales[] = { 1, 2, 1000, UINT64_C(1) << 32, SAMPLE_SCALE_MAX_NS };

	for (unsigned i = 0; i < G_N_ELEMENTS(scales); i++) {
		uint64_t scale = scales[i], durations[] = { 1, scale / 2, scale - 1 };

		for (unsigned d = 0; d < G_N_ELEMENTS(durations); d++) {
			uint64_t duration = durations[d], chance = sample_chance_ns(duration, scale);

			if (!duration || duration >= scale)
				continue;
			g_assert_cmpuint(sample_bar_ns(scale, 0), ==, 0);
			g_assert_cmpuint(sample_bar_ns(scale, LAST_DRAW) + (scale >> SAMPLE_DRAW_BITS) + 1, >=, scale);
			g_assert_cmpuint(sample_part_ns(chance, chance, scale), ==, scale);
			g_assert_cmpuint(sample_weight_q8(chance, scale), >=, SAMPLE_ONE_Q8);
			g_assert_cmpuint(sample_weight_q8(chance, scale), <=, SAMPLE_ONE_Q8 << SAMPLE_COUNTS_SHIFT);
			g_assert_cmpuint(sample_variance(duration, scale), <, UINT64_C(1) << 52);
		}
	}
	/* without sampling no wait is short of the bar but one that took no time */
	g_assert_cmpuint(sample_bar_ns(0, LAST_DRAW), ==, 0);
}

/* Less than half a wait is one: a stack that was seen waited. */
static void test_at_least_one(void)
{
	struct offcpu_wait_slot sum = { .tno = 1, .state = 'S', .count_q8 = 100, .blocked_ns = 5000, .max_ns = 5000 };
	struct sums *sums = sums_new();
	struct sums_total total;

	sum.hist_q8[offcpu_hist_place(12)] = 100;
	sums_add(sums, sum.ustack, &sum);
	sums_get(sums, 0, &total);
	g_assert_cmpuint(total.count, ==, 1);
	g_assert_cmpuint(total.hist[12], ==, 1);
	assert_hist_is_count(&total);
	sums_free(sums);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/sample/unbiased", test_unbiased);
	g_test_add_func("/sample/changing-scale", test_changing_scale);
	g_test_add_func("/sample/exact", test_exact);
	g_test_add_func("/sample/expectation", test_expectation);
	g_test_add_func("/sample/extremes", test_extremes);
	g_test_add_func("/sample/at-least-one", test_at_least_one);
	return g_test_run();
}
