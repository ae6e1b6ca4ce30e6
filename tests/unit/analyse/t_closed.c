/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* The replay of closed populations against what is known in closed form. */
#include <glib.h>
#include <math.h>

#include "features/whatif/analysis.h"

#define CYCLES 200000

/* Threads that are away for z_ns and then take a server for s_ns. */
static struct closed_model repairmen(uint32_t threads, uint32_t servers, double z_ns, double s_ns)
{
	return (struct closed_model){
		.threads = threads, .cpus = 1, .steps_cnt = 4, .stations_cnt = 1,
		.steps = { { CLOSED_DELAY, 0, 1, z_ns }, { CLOSED_TAKE, 0, 0, 0 }, { CLOSED_DELAY, 0, 1, s_ns },
			   { CLOSED_GIVE, 0, 0, 0 } },
		.stations = { { .servers = servers } },
	};
}

/* Of M/M/c//N: cycles a ns of all threads, from the states' probabilities (Feller I, XVII.7). */
static double repairmen_rate(uint32_t threads, uint32_t servers, double z_ns, double s_ns)
{
	double p = 1, sum = 1, busy = 0;

	for (uint32_t n = 1; n <= threads; n++) {
		p *= (threads - n + 1) / z_ns / (MIN(n, servers) / s_ns);
		sum += p;
		busy += p * MIN(n, servers);
	}
	return busy / sum / s_ns;
}

static void near(double is, double ought, double tolerance)
{
	if (fabs(is - ought) > tolerance * ought)
		g_error("%g is not within %g%% of %g", is, tolerance * 100, ought);
}

static void test_repairmen(void)
{
	struct closed_result r;

	for (uint32_t threads = 1; threads <= 32; threads = threads * 2 + 1)
		for (uint32_t servers = 1; servers <= 3; servers++) {
			struct closed_model m = repairmen(threads, servers, 5000, 1000);
			closed_solve(&m, CYCLES, &r);
			near(threads / r.cycle_ns, repairmen_rate(threads, servers, 5000, 1000), 0.01);
			near(r.cycle_ns, 6000 + r.wait_ns[0], 0.01);
		}
}

/* Processor sharing of c CPUs has the same states as c servers in turn, where times are exponential. */
static void test_cpus(void)
{
	struct closed_model m = repairmen(7, 1, 2000, 1000);
	struct closed_result r;

	m.cpus = 2;
	m.steps_cnt = 2;
	m.steps[1] = (struct closed_step){ CLOSED_CPU, 0, 1, 1000 };
	for (int in_turn = 0; in_turn < 2; in_turn++) {
		m.is_in_turn = in_turn;
		closed_solve(&m, CYCLES, &r);
		near(7 / r.cycle_ns, repairmen_rate(7, 2, 2000, 1000), 0.01);
		near(r.cycle_ns, 3000 + r.queue_ns, 0.01);
	}
	m.is_in_turn = false;
	m.steps[0].ns = 0;	/* nothing but CPU time, whatever it varies */
	m.steps[1].phases = 4;
	closed_solve(&m, CYCLES, &r);
	near(r.cycle_ns, 3500, 0.01);
}

/* One that is held by all in turn: only the holds count, and while a sleeper wakes, who is awake has it. */
static void test_saturated(void)
{
	struct closed_model m = repairmen(20, 1, 100, 1000);
	struct closed_result r;

	closed_solve(&m, CYCLES, &r);
	near(r.cycle_ns, 20000, 0.01);
	m.threads = 2;
	m.steps[0].ns = 1e-3;	/* it comes back before the other one has woken */
	m.stations[0].wake_ns = 500;
	closed_solve(&m, CYCLES, &r);
	near(r.cycle_ns, 2000, 0.01);
}

static void test_nothing(void)
{
	struct closed_model m = repairmen(3, 1, 0, 0);
	struct closed_result r;

	closed_solve(&m, CYCLES, &r);
	g_assert_cmpfloat(r.cycle_ns, ==, 0);
}

static void test_cyclic(void)
{
	near(closed_cyclic_utilisation(1, 4), 0.8, 1e-9);
	near(closed_cyclic_utilisation(0.5, 1), 1 / 1.5, 1e-9);
	near(closed_cyclic_utilisation(0.5, 60), 1, 1e-9);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/closed/repairmen", test_repairmen);
	g_test_add_func("/closed/cpus", test_cpus);
	g_test_add_func("/closed/saturated", test_saturated);
	g_test_add_func("/closed/nothing", test_nothing);
	g_test_add_func("/closed/cyclic", test_cyclic);
	return g_test_run();
}
