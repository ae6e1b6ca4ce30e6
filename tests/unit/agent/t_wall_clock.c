/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "agent/wall_clock.h"

#include <glib.h>

#define S UINT64_C(1000000000)
#define REAL0 (UINT64_C(1700000000) * S)

/* The clocks t after the start, asleep for slept of it, and set by `set`. */
static struct clock_readings at(uint64_t awake_ns, uint64_t slept_ns, int64_t set_ns)
{
	return (struct clock_readings){
		.monotonic_ns = 50 * S + awake_ns, .boot_ns = 60 * S + awake_ns + slept_ns,
		.real_ns = REAL0 + awake_ns + slept_ns + (uint64_t)set_ns,
	};
}

static struct wall_clock begun(void)
{
	const struct clock_readings r = at(0, 0, 0);
	struct wall_clock c;

	wall_clock_begin(&c, &r);
	g_assert_cmpuint(wall_clock_unix_ns(&c, 50 * S), ==, REAL0);
	g_assert_cmpuint(c.boot_offset_ns, ==, 10 * S);
	return c;
}

static void test_quiet(void)
{
	struct wall_clock c = begun();
	struct clock_change change;

	/* Readings lie a little apart: windows stay contiguous all the same. */
	for (uint64_t i = 1; i < 100; i++) {
		struct clock_readings r = at(i * 10 * S, 0, i % 2 ? 2000000 : -3000000);

		g_assert_false(wall_clock_take(&c, &r, &change));
		g_assert_cmpuint(wall_clock_unix_ns(&c, 50 * S + i * 10 * S), ==, REAL0 + i * 10 * S);
	}
}

static void test_suspend(void)
{
	struct wall_clock c = begun();
	struct clock_readings r = at(10 * S, 3600 * S, 0);
	struct clock_change change;

	g_assert_true(wall_clock_take(&c, &r, &change));
	g_assert_cmpuint(change.suspended_ns, ==, 3600 * S);
	g_assert_cmpint(change.set_ns, ==, 0);
	g_assert_cmpuint(wall_clock_unix_ns(&c, r.monotonic_ns), ==, r.real_ns);
	g_assert_false(wall_clock_take(&c, &r, &change));
}

static void test_set(void)
{
	struct wall_clock c = begun();
	struct clock_readings forward = at(10 * S, 0, 5 * (int64_t)S), back = at(20 * S, 0, -7 * (int64_t)S);
	struct clock_change change;

	g_assert_true(wall_clock_take(&c, &forward, &change));
	g_assert_cmpuint(change.suspended_ns, ==, 0);
	g_assert_cmpint(change.set_ns, ==, 5 * (int64_t)S);
	g_assert_true(wall_clock_take(&c, &back, &change));
	g_assert_cmpint(change.set_ns, ==, -12 * (int64_t)S);
	g_assert_cmpuint(wall_clock_unix_ns(&c, back.monotonic_ns), ==, back.real_ns);
}

/* While it slept somebody set the clock. */
static void test_both(void)
{
	struct wall_clock c = begun();
	struct clock_readings r = at(10 * S, 100 * S, -(int64_t)S);
	struct clock_change change;

	g_assert_true(wall_clock_take(&c, &r, &change));
	g_assert_cmpuint(change.suspended_ns, ==, 100 * S);
	g_assert_cmpint(change.set_ns, ==, -(int64_t)S);
	g_assert_cmpuint(wall_clock_unix_ns(&c, r.monotonic_ns), ==, r.real_ns);
}

static void test_next(void)
{
	struct wall_clock c = begun();

	/* REAL0 is a multiple of 10 s */
	g_assert_cmpuint(wall_clock_next_ns(&c, 50 * S, 10 * S), ==, 60 * S);
	g_assert_cmpuint(wall_clock_next_ns(&c, 53 * S, 10 * S), ==, 60 * S);
	g_assert_cmpuint(wall_clock_next_ns(&c, 57 * S, 10 * S), ==, 70 * S);
	g_assert_cmpuint(wall_clock_next_ns(&c, 60 * S - 1, 10 * S), ==, 70 * S);
}

static void test_reads(void)
{
	const struct clock_readings a = wall_clock_read(), b = wall_clock_read();

	g_assert_cmpuint(a.monotonic_ns, <=, b.monotonic_ns);
	g_assert_cmpuint(a.boot_ns, >=, a.monotonic_ns - 1000000000);
	g_assert_cmpuint(a.real_ns, >, a.monotonic_ns);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/wall-clock/quiet", test_quiet);
	g_test_add_func("/wall-clock/suspend", test_suspend);
	g_test_add_func("/wall-clock/set", test_set);
	g_test_add_func("/wall-clock/both", test_both);
	g_test_add_func("/wall-clock/next", test_next);
	g_test_add_func("/wall-clock/reads", test_reads);
	return g_test_run();
}
