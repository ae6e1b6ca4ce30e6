/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* What wakers did before their last sleeps, out of the sleeps that are kept. */
#include "features/wakers/fold_earlier.h"

#include "abi/sample.h"

#define BOOTED_NS 10000000000	/* steps are counted by the second */

static const struct offcpu_wait_key the_key = { .tno = 1, .state = 'S', .waker = 50 };

struct fixture {
	struct earlier *e;
	uint32_t no[8];
};

static void set_up(struct fixture *x, gconstpointer data)
{
	x->e = earlier_new();
}

static void tear_down(struct fixture *x, gconstpointer data)
{
	earlier_free(x->e);
}

/* waker: 900 + by for a thread, 800 for the timer. */
static void sleep_of(struct fixture *x, uint32_t tno, uint64_t slept, uint64_t woken, uint32_t by, uint64_t off_before)
{
	const struct offcpu_rec_sleep rec = {
		.type = OFFCPU_REC_SLEEP, .tno = tno, .no = ++x->no[tno], .by_tno = by, .slept_ns = BOOTED_NS + slept,
		.woken_ns = BOOTED_NS + woken,
		.off_before_ns = off_before, .waker = by ? 900 + by : 800,
	};

	earlier_add_sleep(x->e, &rec);
}

static void tell(struct fixture *x, uint32_t tno, uint32_t depth, uint64_t start, uint64_t end, uint64_t times)
{
	const struct offcpu_rec_earlier rec = {
		.type = OFFCPU_REC_EARLIER, .tno = tno, .depth = depth, .start_ns = BOOTED_NS + start, .end_ns = BOOTED_NS + end,
		.weight_q8 = times * SAMPLE_ONE_Q8, .key = the_key,
	};

	earlier_tell(x->e, &rec);
}

static const struct earlier_node *below(const GArray *nodes, const struct earlier_node *n, uint64_t waker)
{
	for (uint32_t i = n->first_below; i != EARLIER_NONE; i = earlier_get(nodes, i)->next)
		if (earlier_get(nodes, i)->waker == waker)
			return earlier_get(nodes, i);
	g_assert_not_reached();
}

/* 2 slept by a timer, asked 3 and waited for it, which slept by a timer and asked 4; all within what is asked for. */
static void send_calls(struct fixture *x)
{
	sleep_of(x, 2, 900, 1000, 0, 0);
	sleep_of(x, 4, 500, 1900, 3, 0);
	sleep_of(x, 2, 1010, 1200, 0, 4);
	sleep_of(x, 3, 800, 1220, 2, 0);
	sleep_of(x, 3, 1230, 1500, 0, 0);
	sleep_of(x, 4, 1950, 2200, 0, 30);
	sleep_of(x, 3, 1600, 2300, 4, 20);
	sleep_of(x, 2, 1225, 2400, 3, 5);
}

static void test_calls(struct fixture *x, gconstpointer data)
{
	send_calls(x);
	sleep_of(x, 2, 2500, 2600, 0, 10);
	tell(x, 2, 7, 1000, 2500, 1);

	const GArray *nodes = earlier_find(x->e, &the_key);
	const struct earlier_node *two = earlier_get(nodes, 0), *three = below(nodes, two, 903), *four = below(nodes, three, 904);

	/* awake from 1000 to 1010, from 1200 to 1225, from 2400 on */
	g_assert_cmpuint(two->ran_ns + two->runnable_ns, ==, 10 + 25 + 100);
	g_assert_cmpuint(two->runnable_ns, ==, 4 + 5 + 10);
	g_assert_cmpuint(below(nodes, two, 800)->rest_ns[CHAIN_INTERRUPT], ==, 190);
	/* of 1225 to 2400 */
	g_assert_cmpuint(three->ran_ns + three->runnable_ns, ==, 5 + 100 + 100);
	g_assert_cmpuint(three->runnable_ns, ==, 20);
	g_assert_cmpuint(below(nodes, three, 800)->rest_ns[CHAIN_INTERRUPT], ==, 270);
	/* of 1600 to 2300: it was awake from 1900 on but for its timer, and before that woken by 3 */
	g_assert_cmpuint(four->ran_ns + four->runnable_ns, ==, 50 + 100);
	g_assert_cmpuint(four->runnable_ns, ==, 30);
	g_assert_cmpuint(below(nodes, four, 800)->rest_ns[CHAIN_INTERRUPT], ==, 250);
	g_assert_cmpuint(earlier_total_ns(nodes, 0), ==, 1500);
}

static void test_depth(struct fixture *x, gconstpointer data)
{
	send_calls(x);
	tell(x, 2, 1, 1010, 2400, 3);

	const GArray *nodes = earlier_find(x->e, &the_key);
	const struct earlier_node *three = below(nodes, earlier_get(nodes, 0), 903);

	g_assert_cmpuint(three->rest_ns[CHAIN_CUT], ==, 3 * (700 + 270));
	g_assert_cmpuint(three->first_below, ==, EARLIER_NONE);
	g_assert_cmpuint(earlier_total_ns(nodes, 0), ==, 3 * 1390);
}

/* A record is missing: what was before the next one is not told, and is not taken for running. */
static void test_gap(struct fixture *x, gconstpointer data)
{
	sleep_of(x, 2, 100, 200, 0, 0);
	x->no[2]++;
	sleep_of(x, 2, 400, 500, 0, 0);
	tell(x, 2, 7, 50, 600, 1);

	const GArray *nodes = earlier_find(x->e, &the_key);

	g_assert_cmpuint(earlier_get(nodes, 0)->untold_ns, ==, 350);
	g_assert_cmpuint(earlier_get(nodes, 0)->ran_ns, ==, 100);
	g_assert_cmpuint(earlier_total_ns(nodes, 0), ==, 550);
}

/* Of more sleeps than are kept, and than one answer may look at, the last ones are told; nothing is lost. */
static void test_many(struct fixture *x, gconstpointer data)
{
	const uint64_t cnt = 20000, ms = 1000000;

	for (uint64_t i = 0; i < cnt; i++)
		sleep_of(x, 2, 10 * i * ms, (10 * i + 9) * ms, 0, 0);
	tell(x, 2, 7, 0, 10 * cnt * ms, 1);

	const GArray *nodes = earlier_find(x->e, &the_key);
	uint64_t by_timer_ns = below(nodes, earlier_get(nodes, 0), 800)->rest_ns[CHAIN_INTERRUPT];

	g_assert_cmpuint(by_timer_ns, >=, 1000 * 9 * ms);
	g_assert_cmpuint(earlier_get(nodes, 0)->untold_ns, >, 0);
	g_assert_cmpuint(earlier_total_ns(nodes, 0), ==, 10 * cnt * ms);
}

/* Many questions at once: the time that they take is bounded, and what is not told is counted. */
static void test_steps(struct fixture *x, gconstpointer data)
{
	uint64_t asked_ns = 0;

	for (uint64_t i = 0; i < 1000; i++)
		sleep_of(x, 2, 10 * i, 10 * i + 9, 0, 0);
	for (int i = 0; i < 1000; i++, asked_ns += 10000)
		tell(x, 2, 7, 0, 10000, 1);

	const GArray *nodes = earlier_find(x->e, &the_key);

	g_assert_cmpuint(earlier_total_ns(nodes, 0), ==, asked_ns);
	g_assert_cmpuint(earlier_get(nodes, 0)->untold_ns, >, asked_ns / 2);
}

/* One that was told of twice, and records that make no sense. */
static void test_bad(struct fixture *x, gconstpointer data)
{
	sleep_of(x, 2, 100, 200, 0, 0);
	sleep_of(x, 2, 100, 200, 0, 0);
	sleep_of(x, 2, 400, 300, 0, 0);
	sleep_of(x, 2, 500, 600, 3, 1000);
	tell(x, 2, 7, 700, 700, 1);
	tell(x, 2, 7, 700, 600, 1);
	g_assert_null(earlier_find(x->e, &the_key));
	tell(x, 2, 1000, 0, 700, 1);

	const GArray *nodes = earlier_find(x->e, &the_key);

	/* nothing is known of 3, which so was awake */
	g_assert_cmpuint(below(nodes, earlier_get(nodes, 0), 903)->ran_ns, ==, 100);
	g_assert_cmpuint(earlier_get(nodes, 0)->runnable_ns, ==, 300);
	g_assert_cmpuint(earlier_total_ns(nodes, 0), ==, 700);
}

/* Where windows are cut: what is asked behind the edge is the next window's, and sleeps before it go. */
static void test_windows(struct fixture *x, gconstpointer data)
{
	const GArray *nodes;

	sleep_of(x, 2, 100, 900, 0, 0);
	sleep_of(x, 2, 1200, 1500, 0, 0);
	earlier_cut(x->e, BOOTED_NS + 1000);
	tell(x, 2, 4, 1000, 2000, 1);
	tell(x, 2, 4, 50, 950, 1);
	nodes = earlier_find(x->e, &the_key);
	g_assert_cmpuint(earlier_total_ns(nodes, 0), ==, 900);
	earlier_next_window(x->e);
	nodes = earlier_find(x->e, &the_key);
	g_assert_cmpuint(earlier_total_ns(nodes, 0), ==, 1000);
	g_assert_cmpuint(earlier_get(nodes, 0)->ran_ns, ==, 700);
	/* that sleep is known still, and nothing before the edge */
	tell(x, 2, 4, 1000, 2000, 1);
	g_assert_cmpuint(earlier_get(nodes, 0)->ran_ns, ==, 1400);
	earlier_cut(x->e, BOOTED_NS + 3000);
	earlier_next_window(x->e);
	g_assert_null(earlier_find(x->e, &the_key));
	/* it has not slept since, and is not said to have lost anything */
	tell(x, 2, 4, 3000, 3500, 1);
	g_assert_cmpuint(earlier_get(earlier_find(x->e, &the_key), 0)->ran_ns, ==, 500);
	sleep_of(x, 2, 3500, 3600, 0, 0);
	tell(x, 2, 4, 3000, 3700, 1);
	g_assert_cmpuint(earlier_get(earlier_find(x->e, &the_key), 0)->untold_ns, ==, 0);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
#define ADD(name) g_test_add("/earlier/" #name, struct fixture, NULL, set_up, test_##name, tear_down)
	ADD(calls);
	ADD(depth);
	ADD(gap);
	ADD(many);
	ADD(steps);
	ADD(bad);
	ADD(windows);
	return g_test_run();
}
