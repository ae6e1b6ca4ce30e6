/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "analyse/reason/reasons.h"
#include "maker.h"

/* On a whole machine what slept all along is at rest, but not what is known to wait for a row's lock. */
static void test_at_rest_of_machine(void)
{
	static const struct {
		const char *user, *kernel;
		enum idle_kind idle;
	} cases[] = {
		{ "main@postgres heap_update@postgres ProcSleep@postgres WaitLatch@postgres epoll_wait@libc.so.6",
		  "__x64_sys_epoll_wait@[kernel] ep_poll@[kernel]", IDLE_NOT },
		{ "main@app take@app pthread_mutex_lock@libc.so.6", "__x64_sys_futex@[kernel] futex_wait@[kernel]", IDLE_NOT },
		{ "main@app take@app read@libc.so.6", "__x64_sys_read@[kernel] pipe_read@[kernel]", IDLE_MACHINE },
	};
	struct maker m = maker_new("");

	for (uint32_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		uint32_t w = wait_of(m.p, thread_of(m.p, 1 + i, 1 + i, "a", 0), 'S', cases[i].user, cases[i].kernel, 1);

		g_array_index(m.p->waits, struct wait, w).flags |= WAIT_OPEN_AT_START | WAIT_OPEN_AT_END;
	}
	struct reasons *r = reasons_new(m.p, NULL);

	for (uint32_t i = 0; i < G_N_ELEMENTS(cases); i++)
		g_assert_cmpint(reasons_idle(r, i), ==, cases[i].idle);
	reasons_free(r);
	profile_free(m.p);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/idle/at-rest/machine", test_at_rest_of_machine);
	return g_test_run();
}
