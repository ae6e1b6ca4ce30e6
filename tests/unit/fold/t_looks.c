/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Looks at simulated threads against what these did. */
#include "fold/looks.h"

#include <glib.h>
#include <math.h>

#include "profile/profile.h"

#define PERIOD_NS UINT64_C(10000000)

static uint32_t node_named(struct profile *p, const char *name)
{
	const struct frame frame = { .name = name, .kind = FRAME_USER, .why = FRAME_NAMED };

	return profile_node(p, 0, profile_frame(p, &frame));
}

static const struct wait *wait_at(const struct profile *p, uint32_t user)
{
	for (guint i = 0; i < p->waits->len; i++)
		if (profile_wait(p, i)->user == user)
			return profile_wait(p, i);
	return NULL;
}

static uint64_t listed_ns(const struct profile *p)
{
	uint64_t sum = 0;

	for (guint i = 0; i < p->waits->len; i++)
		sum += wait_off_cpu_ns(profile_wait(p, i));
	return sum;
}

/* One thread sleeps all the time: no look can be wrong. */
static void test_sleeper(void)
{
	struct profile *p = profile_new();
	struct looks *l = looks_new(p);
	const struct thread t = { .pid = 1, .tid = 1, .comm = "a", .process = "a", .from_ns = 5 };
	uint32_t no = looks_thread(l, &t), user = node_named(p, "pause");

	for (uint32_t i = 1; i <= 50; i++) {
		const struct look look = { .period = i, .period_ns = PERIOD_NS, .user = user, .state = 'S', .has_stood = true };

		looks_see(l, no, &look);
	}
	const struct looks_account a = { .to_ns = 5 + 49 * PERIOD_NS + PERIOD_NS / 4, .has_exact = true, .has_stood = true };

	looks_account(l, no, &a);
	looks_finish(l, 50, PERIOD_NS / 4);
	g_assert_cmpuint(p->waits->len, ==, 1);
	g_assert_cmpuint(profile_wait(p, 0)->blocked_ns, ==, 49 * PERIOD_NS + PERIOD_NS / 4);
	g_assert_cmpuint(profile_wait(p, 0)->off_cpu_se_ns, ==, 0);
	g_assert_cmpuint(profile_wait(p, 0)->count, ==, 0);
	g_assert_cmpint(thread_residual_ns(profile_thread(p, 0)), ==, 0);
	looks_free(l);
	profile_free(p);
}

/* What the kernel counts is what the rows add up to, by class, whatever was seen. */
static void test_scaled(void)
{
	struct profile *p = profile_new();
	struct looks *l = looks_new(p);
	const struct thread t = { .pid = 1, .tid = 1, .comm = "a", .process = "a" };
	uint32_t no = looks_thread(l, &t), one = node_named(p, "one"), two = node_named(p, "two"), queued = node_named(p, "queued");

	for (uint32_t i = 1; i <= 100; i++) {
		struct look look = { .period = i, .period_ns = PERIOD_NS, .state = 'S', .user = i % 4 ? one : two };

		if (i % 10 == 5)
			look.state = LOOK_STATE_RUNS;
		if (i % 10 == 6) {
			look.state = 'R';
			look.user = queued;
		}
		looks_see(l, no, &look);
	}
	const struct looks_account a = { .to_ns = 100 * PERIOD_NS, .on_cpu_ns = 123456789, .queue_ns = 7654321, .has_exact = true, .switches = 77 };

	looks_account(l, no, &a);
	looks_finish(l, 100, PERIOD_NS);
	g_assert_cmpuint(profile_thread(p, 0)->on_cpu_ns, ==, 123456789);
	g_assert_cmpuint(profile_thread(p, 0)->switches, ==, 77);
	g_assert_cmpuint(wait_at(p, queued)->runnable_ns, ==, 7654321);
	g_assert_cmpuint(listed_ns(p), ==, 100 * PERIOD_NS - 123456789);
	/* 60 looks and 20 of 80: in proportion */
	g_assert_cmpuint(wait_at(p, one)->blocked_ns / 1000, ==, 3 * (100 * PERIOD_NS - 123456789 - 7654321) / 4 / 1000);
	g_assert_cmpuint(wait_at(p, one)->off_cpu_se_ns, >, 0);
	looks_free(l);
	profile_free(p);
}

/* A thread that waited but was never seen to. */
static void test_rest(void)
{
	struct profile *p = profile_new();
	struct looks *l = looks_new(p);
	const struct thread t = { .pid = 1, .tid = 1, .comm = "a", .process = "a" };
	uint32_t no = looks_thread(l, &t);
	const struct looks_account a = { .to_ns = 1000, .on_cpu_ns = 600, .has_exact = true };

	looks_account(l, no, &a);
	looks_finish(l, 1, PERIOD_NS);
	g_assert_cmpuint(p->waits->len, ==, 1);
	g_assert_cmpuint(profile_wait(p, 0)->blocked_ns, ==, 400);
	g_assert_cmpuint(profile_wait(p, 0)->off_cpu_se_ns, ==, 400);
	looks_free(l);
	profile_free(p);
}

/* Samples on CPU share the thread's account out, exactly; a thread that none met has its time all the same. */
static void test_ran(void)
{
	struct profile *p = profile_new();
	struct looks *l = looks_new(p);
	const struct thread t = { .pid = 1, .tid = 1, .comm = "a", .process = "a" }, other = { .pid = 2, .tid = 2, .comm = "b", .process = "b" };
	uint32_t no = looks_thread(l, &t), other_no = looks_thread(l, &other), hot = node_named(p, "hot"), cold = node_named(p, "cold");
	const struct looks_account a = { .to_ns = 1000000, .on_cpu_ns = 400000, .has_exact = true };
	uint64_t sum[2] = { 0 }, hot_ns = 0;

	for (unsigned i = 0; i < 40; i++)
		looks_on_cpu(l, no, i % 4 ? hot : cold, 0, PERIOD_NS);
	looks_account(l, no, &a);
	looks_account(l, other_no, &a);
	looks_finish(l, 1, PERIOD_NS);
	p->info.on_cpu_hz = 100;
	g_assert_cmpuint(p->on_cpu->len, ==, 2);
	g_autoptr(GArray) rows = profile_on_cpu_rows(p);

	for (guint i = 0; i < rows->len; i++) {
		const struct on_cpu_row *row = &g_array_index(rows, struct on_cpu_row, i);

		g_assert_cmpuint(row->thread, <, 2);
		sum[row->thread] += row->on_cpu_ns;
		hot_ns += row->user == hot ? row->on_cpu_ns : 0;
		g_assert_true(row->user != hot || (row->samples == 30 && row->on_cpu_se_ns > 0));
	}
	g_assert_cmpuint(sum[0], ==, 400000);
	g_assert_cmpuint(sum[1], ==, 400000);
	g_assert_cmpuint(hot_ns, ==, 300000);
	looks_free(l);
	profile_free(p);
}

#define RUNS 400
#define PERIODS 200

/*
 * A thread that alternates between two waits of random lengths (7 ms and 3 ms on the average), looked at as the sampler does: the mean of
 * the estimates is the truth, and three errors hold nearly all of them.
 */
static void test_unbiased(void)
{
	g_autoptr(GRand) rand = g_rand_new_with_seed(1);
	double sum = 0, truth_sum = 0;
	unsigned within = 0;

	for (unsigned run = 0; run < RUNS; run++) {
		struct profile *p = profile_new();
		struct looks *l = looks_new(p);
		const struct thread t = { .pid = 1, .tid = 1, .comm = "a", .process = "a" };
		uint32_t no = looks_thread(l, &t), nodes[2] = { node_named(p, "long"), node_named(p, "short") };
		uint64_t truth[2] = { 0 }, at = 0, until = 0, runs = 0, seen_runs = 0;
		unsigned what = 0;

		for (uint32_t i = 0; i < PERIODS; i++) {
			uint64_t look_at = i * PERIOD_NS + (uint64_t)(g_rand_double(rand) * (double)PERIOD_NS);

			while (until <= look_at) {
				at = until;
				what = runs++ % 2;
				until = at + (uint64_t)(-log(1 - g_rand_double(rand)) * (what ? 3e6 : 7e6)) + 1;
				truth[what] += MIN(until, PERIODS * PERIOD_NS) - MIN(at, PERIODS * PERIOD_NS);
			}
			const struct look look = {
				.period = i, .period_ns = PERIOD_NS, .user = nodes[what], .state = 'S', .has_stood = runs == seen_runs,
			};

			looks_see(l, no, &look);
			seen_runs = runs;
		}
		while (until < PERIODS * PERIOD_NS) {
			at = until;
			what = runs++ % 2;
			until = at + (uint64_t)(-log(1 - g_rand_double(rand)) * (what ? 3e6 : 7e6)) + 1;
			truth[what] += MIN(until, PERIODS * PERIOD_NS) - at;
		}
		const struct looks_account a = { .to_ns = PERIODS * PERIOD_NS, .has_exact = true };

		looks_account(l, no, &a);
		looks_finish(l, PERIODS, PERIOD_NS);
		g_assert_cmpuint(listed_ns(p), ==, PERIODS * PERIOD_NS);
		const struct wait *w = wait_at(p, nodes[1]);

		g_assert_nonnull(w);
		sum += (double)w->blocked_ns;
		truth_sum += (double)truth[1];
		within += fabs((double)w->blocked_ns - (double)truth[1]) <= 3 * (double)w->off_cpu_se_ns;
		looks_free(l);
		profile_free(p);
	}
	g_assert_cmpfloat(fabs(sum - truth_sum) / truth_sum, <, 0.01);
	g_assert_cmpuint(within, >=, RUNS * 99 / 100);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/looks/sleeper", test_sleeper);
	g_test_add_func("/looks/scaled", test_scaled);
	g_test_add_func("/looks/rest", test_rest);
	g_test_add_func("/looks/ran", test_ran);
	g_test_add_func("/looks/unbiased", test_unbiased);
	return g_test_run();
}
