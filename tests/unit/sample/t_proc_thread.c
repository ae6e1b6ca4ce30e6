/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* What /proc says, and what a thread may call itself. */
#include "sample/proc_thread.h"

#include <glib.h>
#include <unistd.h>

static void test_stat(void)
{
	struct proc_stat s;

	g_assert_true(proc_stat_parse("7 (a) R (b) c) S 1 2 3 4 5 2097152 6 7 8 9 10 11 12 13 14 15 16 17 1234 19 20 21 4096 0 0\n", &s));
	g_assert_cmpstr(s.comm, ==, "a) R (b) c");
	g_assert_cmpint(s.state, ==, 'S');
	g_assert_true(s.is_kernel);
	g_assert_cmpuint(s.cpu_ticks, ==, 21);
	g_assert_cmpuint(s.start_ticks, ==, 1234);
	g_assert_cmpuint(s.code, ==, 4096);
	g_assert_false(proc_stat_parse("", &s));
	g_assert_false(proc_stat_parse("7 (a) S 1 2", &s));
	g_assert_false(proc_stat_parse("7 )a( S", &s));
	g_assert_false(proc_stat_parse("7 (a)", &s));
}

static void test_call(void)
{
	enum proc_call what;
	uint64_t sp, ip;

	g_assert_true(proc_call_parse("running\n", &what, &sp, &ip));
	g_assert_cmpint(what, ==, PROC_RUNS);
	g_assert_true(proc_call_parse("-1 0x7ffd10 0x4010\n", &what, &sp, &ip));
	g_assert_cmpint(what, ==, PROC_SLEEPS);
	g_assert_cmpuint(sp, ==, 0x7ffd10);
	g_assert_true(proc_call_parse("0 0x3 0x7f 0x2 0x1 0x0 0x0 0x7fff8df43688 0x7f8a8fb142ad\n", &what, &sp, &ip));
	g_assert_cmpuint(ip, ==, 0x7f8a8fb142ad);
	g_assert_true(proc_call_parse("0 0x0 0x0 0x0 0x0 0x0 0x0 0x0 0x0\n", &what, &sp, &ip));
	g_assert_cmpint(what, ==, PROC_KERNEL);
	g_assert_false(proc_call_parse("", &what, &sp, &ip));
	g_assert_false(proc_call_parse("1 2 3 4", &what, &sp, &ip));
	g_assert_false(proc_call_parse("1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16", &what, &sp, &ip));
}

/* Of ourselves: the numbers grow. */
static void test_self(void)
{
	struct proc_thread t;
	struct proc_sched before, after;
	struct proc_stat stat;

	proc_thread_init(&t, getpid(), gettid());
	if (!proc_thread_sched(&t, &before)) {
		g_test_skip("no schedstat here");
		return;
	}
	for (volatile unsigned i = 0; i < 100000000; i++)
		;
	usleep(1000);
	g_assert_true(proc_thread_sched(&t, &after));
	g_assert_cmpuint(after.run_ns, >, before.run_ns);
	g_assert_cmpuint(after.runs, >, before.runs);
	g_assert_true(proc_thread_stat(&t, &stat));
	g_assert_cmpint(stat.state, ==, 'R');
	g_assert_false(stat.is_kernel);
	proc_thread_close(&t);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/proc-thread/stat", test_stat);
	g_test_add_func("/proc-thread/call", test_call);
	g_test_add_func("/proc-thread/self", test_self);
	return g_test_run();
}
