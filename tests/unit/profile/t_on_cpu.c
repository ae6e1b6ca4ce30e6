/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "profile/profile.h"

#include <math.h>

#include "features/slices/rows.h"
#include "sample.h"

static uint32_t stack(struct profile *p, const char *name)
{
	const struct frame frame = { .name = name, .module = "/bin/x" };

	return profile_node(p, 0, profile_frame(p, &frame));
}

static struct profile *one_thread(uint64_t on_cpu_ns)
{
	struct profile *p = profile_new();
	const struct thread t = { .pid = 1, .tid = 1, .to_ns = on_cpu_ns, .on_cpu_ns = on_cpu_ns };

	profile_add_thread(p, &t);
	p->info.on_cpu_hz = p->info.on_cpu_end_hz = 49;
	return p;
}

static void add(struct profile *p, uint32_t user, uint32_t slice, uint64_t samples, uint64_t period_ns)
{
	const struct on_cpu_sample s = { .user = user, .slice = slice, .samples = samples, .weight_ns = samples * period_ns };

	profile_add_on_cpu(p, &s);
}

/* Whatever the numbers, a thread's rows are its account, to the nanosecond. */
static void test_sums(void)
{
	for (uint64_t on_cpu_ns = 1; on_cpu_ns < (UINT64_C(1) << 61); on_cpu_ns = on_cpu_ns * 7 + 3) {
		struct profile *p = one_thread(on_cpu_ns);
		g_autoptr(GArray) rows = NULL;
		uint64_t sum_ns = 0, samples = 0;

		for (unsigned i = 0; i < 13; i++) {
			g_autofree char *name = g_strdup_printf("f%u", i % 7);

			add(p, stack(p, name), i, 1 + i * i, 20408163);
		}
		rows = profile_on_cpu_rows(p);
		g_assert_cmpuint(rows->len, ==, 7);
		for (guint i = 0; i < rows->len; i++) {
			sum_ns += g_array_index(rows, struct on_cpu_row, i).on_cpu_ns;
			samples += g_array_index(rows, struct on_cpu_row, i).samples;
		}
		g_assert_cmpuint(sum_ns, ==, on_cpu_ns);
		g_assert_cmpuint(samples, ==, 13 + 650);
		profile_free(p);
	}
}

/* A sample counts as long as the time between two of them was then. */
static void test_weights(void)
{
	struct profile *p = one_thread(1000);
	uint32_t a = stack(p, "a"), b = stack(p, "b");
	g_autoptr(GArray) rows = NULL;

	add(p, a, 0, 10, 10);
	add(p, b, 1, 5, 20);
	add(p, b, 2, 5, 40);
	rows = profile_on_cpu_rows(p);
	g_assert_cmpuint(rows->len, ==, 2);
	g_assert_cmpuint(g_array_index(rows, struct on_cpu_row, 0).on_cpu_ns, ==, 250);
	g_assert_cmpuint(g_array_index(rows, struct on_cpu_row, 1).on_cpu_ns, ==, 750);
	g_assert_cmpuint(g_array_index(rows, struct on_cpu_row, 1).samples, ==, 10);
	profile_free(p);
}

/* Its time is known, and where it went is not. */
static void test_not_sampled(void)
{
	struct profile *p = one_thread(77);
	const struct thread idle = { .pid = 2, .tid = 2, .to_ns = 100 };

	profile_add_thread(p, &idle);
	profile_on_cpu_as_waits(p);
	profile_on_cpu_as_waits(p);
	g_assert_cmpuint(p->waits->len, ==, 1);
	const struct wait *w = profile_wait(p, 0);
	const struct frame *f = profile_get_frame(p, profile_get_node(p, w->user)->frame);

	g_assert_cmpuint(w->state, ==, ON_CPU_STATE);
	g_assert_cmpuint(w->on_cpu_ns, ==, 77);
	g_assert_cmpuint(w->count, ==, 0);
	g_assert_cmpuint(wait_off_cpu_ns(w), ==, 0);
	g_assert_cmpstr(f->name, ==, "[on CPU, not sampled]");
	profile_free(p);
}

static void test_without_samples(void)
{
	struct profile *p = one_thread(77);

	p->info.on_cpu_hz = 0;
	profile_on_cpu_as_waits(p);
	g_assert_cmpuint(p->waits->len, ==, 0);
	profile_free(p);
}

#define TRIALS 2000
#define SAMPLES 200

/* The true share lies within three of the errors that are told, and the errors are no larger than they need be. */
static void test_error(void)
{
	static const double shares[] = { 0.01, 0.1, 0.5, 0.75, 0.99 };
	GRand *rand = g_rand_new_with_seed(5);

	for (guint k = 0; k < G_N_ELEMENTS(shares); k++) {
		unsigned outside = 0;
		double told = 0, is = sqrt(shares[k] * (1 - shares[k]) / SAMPLES);

		for (unsigned trial = 0; trial < TRIALS; trial++) {
			uint64_t met = 0;

			for (unsigned i = 0; i < SAMPLES; i++)
				met += g_rand_double(rand) < shares[k];
			double se = on_cpu_error(1000000, met, SAMPLES) / 1e6;

			told += se / TRIALS;
			outside += fabs((double)met / SAMPLES - shares[k]) > 3 * se;
		}
		g_assert_cmpfloat(outside, <, TRIALS * 0.01);
		g_assert_cmpfloat(told, >, is * 0.9);
		g_assert_cmpfloat(told, <, is * 1.6);
	}
	/* a few of one stack alone do not prove that there is no other */
	g_assert_cmpfloat(on_cpu_error(100, 1, 1), >, 20);
	g_rand_free(rand);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/on-cpu/sums", test_sums);
	g_test_add_func("/on-cpu/weights", test_weights);
	g_test_add_func("/on-cpu/not-sampled", test_not_sampled);
	g_test_add_func("/on-cpu/without-samples", test_without_samples);
	g_test_add_func("/on-cpu/error", test_error);
	return g_test_run();
}
