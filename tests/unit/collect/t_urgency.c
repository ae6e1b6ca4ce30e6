/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* When the recorder asks for a CPU, and when it gives that back. */
#include "base/urgency.h"

#include <glib.h>
#include <sched.h>
#include <sys/resource.h>

#define MS 1000000ULL
#define CROWD URGENCY_CROWD

/* Checks every 50 ms for so long, having waited so much in each 50: the steps that were not to stay. */
static unsigned pass(struct urgency_state *s, uint64_t *now_ns, unsigned ms, unsigned waited_ms, unsigned runnable_cnt,
		     enum urgency_step *ret_last)
{
	unsigned steps = 0;

	for (unsigned at = 0; at < ms; at += 50) {
		*now_ns += 50 * MS;
		enum urgency_step step = urgency_judge(s, *now_ns, waited_ms * MS, runnable_cnt);

		if (step != URGENCY_STAY) {
			*ret_last = step;
			steps++;
		}
	}
	return steps;
}

static void test_never_without_need(void)
{
	struct urgency_state s = { 0 };
	enum urgency_step last = URGENCY_STAY;
	uint64_t now_ns = 0;

	g_assert_cmpuint(pass(&s, &now_ns, 60000, 99, 0, &last), ==, 0);
	g_assert_false(s.is_raised);
}

static void test_raised_and_given_back(void)
{
	struct urgency_state s = { 0 };
	enum urgency_step last = URGENCY_STAY;
	uint64_t now_ns = 0;

	g_assert_cmpuint(pass(&s, &now_ns, 50, 100, CROWD, &last), ==, 1);
	g_assert_cmpint(last, ==, URGENCY_RAISE);
	/* as long as there is a crowd, though nothing is waited for now */
	g_assert_cmpuint(pass(&s, &now_ns, 60000, 0, CROWD, &last), ==, 0);
	g_assert_cmpuint(pass(&s, &now_ns, 2000, 0, CROWD - 1, &last), ==, 1);
	g_assert_cmpint(last, ==, URGENCY_LOWER);
}

/* In a crowd at once: who begins or ends in one has no time to find out. */
static void test_begins_and_ends_in_a_crowd(void)
{
	struct urgency_state s = { 0 }, alone = { 0 };

	g_assert_true(urgency_asks_for_crowd(&s, 0));
	g_assert_cmpint(urgency_judge(&s, MS, 0, CROWD), ==, URGENCY_RAISE);
	g_assert_false(urgency_asks_for_crowd(&s, 2 * MS));
	g_assert_cmpint(urgency_judge(&alone, MS, 0, CROWD - 1), ==, URGENCY_STAY);
	g_assert_false(urgency_asks_for_crowd(&alone, 2 * MS));
	/* later a crowd alone is no reason: it may leave room */
	g_assert_cmpint(urgency_judge(&alone, 2 * MS, 0, CROWD), ==, URGENCY_STAY);
	/* at the end it is: the main thread has to wait for others that starve, and does not starve itself */
	alone.is_kept = true;
	alone.has_looked = false;
	g_assert_true(urgency_asks_for_crowd(&alone, 3 * MS));
	g_assert_cmpint(urgency_judge(&alone, 3 * MS, 0, CROWD), ==, URGENCY_RAISE);
}

/* Where it starves again and again, it is held for longer each time. */
static void test_held_longer(void)
{
	struct urgency_state s = { 0 };
	enum urgency_step last = URGENCY_STAY;
	uint64_t now_ns = 0, held_ns = 0;

	for (int i = 0; i < 9; i++) {
		pass(&s, &now_ns, 50, 100, 0, &last);
		g_assert_cmpint(last, ==, URGENCY_RAISE);
		uint64_t raised_ns = now_ns;

		while (last == URGENCY_RAISE)
			pass(&s, &now_ns, 50, 0, 0, &last);
		g_assert_cmpuint(now_ns - raised_ns, >=, held_ns);
		held_ns = now_ns - raised_ns;
		g_assert_cmpuint(held_ns, <=, URGENCY_HOLD_MAX_NS);
	}
	g_assert_cmpuint(held_ns, ==, URGENCY_HOLD_MAX_NS);
}

static void test_kept_at_the_end(void)
{
	struct urgency_state s = { .is_kept = true };
	enum urgency_step last = URGENCY_STAY;
	uint64_t now_ns = 0;

	g_assert_cmpuint(pass(&s, &now_ns, 50, 100, 0, &last), ==, 1);
	g_assert_cmpuint(pass(&s, &now_ns, 600000, 0, 0, &last), ==, 0);
	g_assert_true(s.is_raised);
}

/* All but the decision, on this thread: whatever the rights are, what was before comes back where it is not to be kept. */
static void test_leaves_no_trace(void)
{
	int policy = sched_getscheduler(0), nice = getpriority(PRIO_PROCESS, 0);

	urgency_begin();
	g_usleep(600000);	/* two looks */
	urgency_end();
	/* once more, for the state is the process's */
	urgency_begin();
	urgency_end();
	g_assert_cmpint(sched_getscheduler(0), ==, policy);
	g_assert_cmpint(getpriority(PRIO_PROCESS, 0), ==, nice);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/urgency/never_without_need", test_never_without_need);
	g_test_add_func("/urgency/raised_and_given_back", test_raised_and_given_back);
	g_test_add_func("/urgency/begins_and_ends_in_a_crowd", test_begins_and_ends_in_a_crowd);
	g_test_add_func("/urgency/held_longer", test_held_longer);
	g_test_add_func("/urgency/kept_at_the_end", test_kept_at_the_end);
	g_test_add_func("/urgency/leaves_no_trace", test_leaves_no_trace);
	return g_test_run();
}
