/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Sampled rows against totals that are known. */
#include "fold/sums.h"

#include <glib.h>

#include "abi/sample.h"

#define SCALE_NS 1000000

static struct profile *profile_with(const struct state_total *totals, guint cnt)
{
	struct profile *p = profile_new();
	struct thread t = { .pid = 1, .tid = 1 };

	for (guint i = 0; i < cnt; i++) {
		while (p->threads->len <= totals[i].thread)
			profile_add_thread(p, &t);
		profile_add_state(p, &totals[i]);
	}
	return p;
}

/* A sum of sampled waits of 2^bar ns each that stand for count. */
static void add_sum(struct sums *sums, uint32_t tno, uint64_t count, unsigned bar, uint64_t blocked_ns)
{
	struct offcpu_wait_slot slot = {
		.ustack = tno * 100 + bar, .tno = tno, .state = 'S', .flags = OFFCPU_KEY_SAMPLED, .count_q8 = count * SAMPLE_ONE_Q8,
		.blocked_ns = blocked_ns, .max_ns = UINT64_C(1) << bar,
	};

	slot.hist_q8[offcpu_hist_place(bar)] = (uint32_t)(count * SAMPLE_ONE_Q8);
	sums_add(sums, slot.ustack, &slot);
}

static uint64_t hist_sum(const struct sums_total *t)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < OFFCPU_HIST_SLOTS; i++)
		sum += t->hist[i];
	return sum;
}

static void no_rest(const struct calibration_rest *rest, void *data)
{
	g_assert_not_reached();
}

/* Estimates that are twice too high, beside an exact row: the rest is shared in proportion, to the last nanosecond. */
static void test_adds_up(void)
{
	const struct state_total totals[] = { { .thread = 0, .state = 'S', .count = 1001, .blocked_ns = 1000003, .runnable_ns = 77 } };
	const struct sums_total exact = { .count = 1, .blocked_ns = 3 };
	struct profile *p = profile_with(totals, 1);
	struct calibration *c = calibration_new(p, SCALE_NS);
	struct sums *sums = sums_new();
	struct sums_total row[3];
	uint64_t count = 1, blocked_ns = 3, runnable_ns = 0;

	add_sum(sums, 1, 300, 10, 300000);
	add_sum(sums, 1, 700, 12, 700000);
	add_sum(sums, 1, 1000, 14, 1000000);
	calibration_tell(c, 0, 'S', false, &exact);
	for (unsigned i = 0; i < 3; i++) {
		sums_get(sums, i, &row[i]);
		calibration_tell(c, 0, 'S', true, &row[i]);
	}
	calibration_settle(c, p);
	for (unsigned i = 0; i < 3; i++) {
		calibration_correct(c, sums, i, 0, 'S', true, &row[i]);
		count += row[i].count;
		blocked_ns += row[i].blocked_ns;
		runnable_ns += row[i].runnable_ns;
		g_assert_cmpuint(hist_sum(&row[i]), ==, row[i].count);
	}
	g_assert_cmpuint(count, ==, 1001);
	g_assert_cmpuint(blocked_ns, ==, 1000003);
	g_assert_cmpuint(runnable_ns, ==, 77);	/* no row says anything of it: it goes by all of their time */
	g_assert_cmpuint(row[0].blocked_ns, ==, 150000);
	g_assert_cmpuint(row[1].blocked_ns, ==, 350000);
	/* the count of long waits, of which more are kept, is known best */
	g_assert_cmpuint(row[2].count, >, 600);
	g_assert_cmpuint(row[0].count, <, 100);
	calibration_for_each_rest(c, no_rest, NULL);
	calibration_free(c);
	sums_free(sums);
	profile_free(p);
}

/* Nothing kept in a row is no proof that nothing was there: but no more than the rest can be. */
static void test_errors_are_bounds(void)
{
	const struct state_total totals[] = {
		{ .thread = 0, .state = 'S', .count = 50, .blocked_ns = 500000000 },
		{ .thread = 1, .state = 'S', .count = 3, .blocked_ns = 10500 },
		{ .thread = 2, .state = 'S', .count = 2, .blocked_ns = 10000 },
	};
	const struct sums_total some = { .count = 2, .blocked_ns = 10000 };
	struct profile *p = profile_with(totals, 3);
	struct calibration *c = calibration_new(p, SCALE_NS);
	struct sums_total row[3] = { some, some, some };

	for (uint32_t i = 0; i < 3; i++)
		calibration_tell(c, i, 'S', false, &some);
	calibration_settle(c, p);
	for (uint32_t i = 0; i < 3; i++)
		calibration_correct(c, NULL, 0, i, 'S', false, &row[i]);
	g_assert_cmpuint(row[0].off_cpu_se_ns, ==, 2 * SCALE_NS);
	g_assert_cmpuint(row[0].count_se, ==, 2);	/* waits of 10 ms are as they are */
	g_assert_cmpuint(row[1].off_cpu_se_ns, ==, 500);
	g_assert_cmpuint(row[1].count_se, ==, 1);
	g_assert_cmpuint(row[2].off_cpu_se_ns, ==, 0);
	g_assert_cmpuint(row[2].count_se, ==, 0);
	calibration_free(c);
	profile_free(p);
}

static void take_rest(const struct calibration_rest *rest, void *data)
{
	*(struct calibration_rest *)data = *rest;
}

/* A thread of which nothing was kept has its time, and no stack for it; what was lost is none of it. */
static void test_rest(void)
{
	const struct state_total totals[] = { { .thread = 0, .state = 'D', .count = 9, .blocked_ns = 900, .runnable_ns = 90 } };
	struct profile *p = profile_with(totals, 1);
	struct calibration *c = calibration_new(p, SCALE_NS);
	struct calibration_rest rest = { 0 };

	g_array_index(p->threads, struct thread, 0).lost_ns = 100;
	calibration_settle(c, p);
	calibration_for_each_rest(c, take_rest, &rest);
	g_assert_cmpuint(rest.state, ==, 'D');
	g_assert_cmpuint(rest.count, ==, 9);
	g_assert_cmpuint(rest.blocked_ns, ==, 800);
	g_assert_cmpuint(rest.runnable_ns, ==, 90);
	calibration_free(c);
	profile_free(p);
}

/* The true value lies within three errors: 2,000 drawings of rows of any size, kept as the kernel keeps them. */
static void test_covers(void)
{
	unsigned outside = 0, rows = 0;

	for (unsigned seed = 0; seed < 200; seed++) {
		GRand *rand = g_rand_new_with_seed(seed);
		struct sums *sums = sums_new();
		struct state_total all = { .thread = 0, .state = 'S' };
		uint64_t truth_ns[10] = { 0 }, truth[10] = { 0 };
		struct sums_total row;

		for (unsigned r = 0; r < 10; r++) {
			uint64_t ns = 1000U << r % 8;

			truth[r] = (uint64_t)g_rand_int_range(rand, 20, 20000);
			truth_ns[r] = truth[r] * ns;
			all.count += truth[r];
			all.blocked_ns += truth_ns[r];
			for (uint64_t i = 0; i < truth[r]; i++) {
				const struct wait_parts parts = { .blocked_ns = ns };
				struct kept_wait kept;
				struct offcpu_wait_slot slot = { .ustack = r + 1, .tno = 1, .state = 'S', .flags = OFFCPU_KEY_SAMPLED };

				if (!sample_is_kept(ns, g_rand_int(rand) >> 4, SCALE_NS))
					continue;
				sample_wait(&parts, ns, SCALE_NS, &kept);
				slot.count_q8 = kept.weight_q8;
				slot.blocked_ns = kept.parts.blocked_ns;
				slot.max_ns = ns;
				slot.variance = kept.variance;
				slot.hist_q8[offcpu_hist_place(profile_hist_slot(ns))] = (uint32_t)kept.weight_q8;
				sums_add(sums, slot.ustack, &slot);
			}
		}
		struct profile *p = profile_with(&all, 1);
		struct calibration *c = calibration_new(p, SCALE_NS);

		for (size_t i = 0; i < sums_cnt(sums); i++) {
			sums_get(sums, i, &row);
			calibration_tell(c, 0, 'S', true, &row);
		}
		calibration_settle(c, p);
		for (size_t i = 0; i < sums_cnt(sums); i++) {
			unsigned r = (unsigned)sums_key(sums, i)->ustack - 1;

			sums_get(sums, i, &row);
			calibration_correct(c, sums, i, 0, 'S', true, &row);
			rows++;
			outside += ABS((double)row.blocked_ns - (double)truth_ns[r]) > 3 * (double)row.off_cpu_se_ns ||
				   ABS((double)row.count - (double)truth[r]) > 3 * (double)row.count_se;
		}
		calibration_free(c);
		profile_free(p);
		sums_free(sums);
		g_rand_free(rand);
	}
	g_assert_cmpuint(rows, >, 1000);
	g_assert_cmpuint(outside, <=, rows / 500);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/calibrate/adds-up", test_adds_up);
	g_test_add_func("/calibrate/errors-are-bounds", test_errors_are_bounds);
	g_test_add_func("/calibrate/rest", test_rest);
	g_test_add_func("/calibrate/covers", test_covers);
	return g_test_run();
}
