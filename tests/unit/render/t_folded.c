/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "render/text/folded.h"

#include "../fixture.h"

#define U "_start;__libc_start_main;main;do_work;"
#define K "entry_SYSCALL_64_after_hwframe;do_syscall_64;"
#define COND "pthread_cond_wait@@GLIBC_2.3.2"
#define FUTEX K "__x64_sys_futex;do_futex;__futex_wait;futex_wait_queue;schedule;__schedule"
#define IRQ "asm_sysvec_apic_timer_interrupt;irqentry_exit_to_user_mode;exit_to_user_mode_loop;schedule;__schedule"
#define SYNC K "__x64_sys_fsync;ext4_sync_file;folio_wait_bit_common;io_schedule;schedule;__schedule"
#define PIPE K "ksys_read;vfs_read;anon_pipe_read.constprop.0;schedule;__schedule"
#define WORK "ret_from_fork_asm;ret_from_fork;kthread;worker_thread;schedule;__schedule"

static void check(struct profile *p, const struct folded_options *options, const char *expected)
{
	g_autoptr(GString) s = g_string_new(NULL);

	folded_render(s, p, NULL, options, NULL);
	g_assert_cmpstr(s->str, ==, expected);
}

static void test_fixture(void)
{
	struct profile *p = fixture_new();

	check(p, &(struct folded_options){ .delimiter = true },
	      "ev\\x1b[31m:il;app+0x1234;read;-;" PIPE " 180000\n"
	      "kwork;-;" WORK " 1000000\n"
	      "server;" U "fsync;-;" SYNC " 430000\n"
	      "server;" U COND ";-;" FUTEX " 550000\n"
	      "worker;[stack lost];-;" FUTEX " 120000\n"
	      "worker;" U COND ";-;" FUTEX " 1480000\n"	/* two threads, one name */
	      "worker;" U "spin;-;" IRQ " 200000\n");
	check(p, &(struct folded_options){ .by_thread = true, .weight = WEIGHT_COUNT },
	      "ev\\x1b[31m:il-200/200;app+0x1234;read;" PIPE " 5\n"
	      "kwork-2/2;" WORK " 3\n"
	      "server-100/100;" U "fsync;" SYNC " 4\n"
	      "server-100/100;" U COND ";" FUTEX " 10\n"
	      "worker-100/101;[stack lost];" FUTEX " 2\n"
	      "worker-100/101;" U COND ";" FUTEX " 20\n"
	      "worker-100/101;" U "spin;" IRQ " 40\n"
	      "worker-100/102;" U COND ";" FUTEX " 1\n");
	check(p, &(struct folded_options){ .weight = WEIGHT_PREEMPTED, .unit = FOLDED_NS },
	      "worker;" U "spin;" IRQ " 200000000\n");
	profile_free(p);
}

static void add(struct profile *p, uint32_t thread, char state, const char *user, uint64_t ns)
{
	struct wait w = {
		.thread = thread, .state = (uint8_t)state, .count = 1, .blocked_ns = ns,
		.user = fixture_stack(p, FRAME_USER, STACK_COMPLETE, user),
	};

	profile_add_wait(p, &w);
}

/* Sums are rounded, not their parts; what falls below half a unit is told. */
static void test_rounding(void)
{
	struct profile *p = profile_new();
	g_autoptr(GString) s = g_string_new(NULL);
	struct folded_result result;
	uint32_t t = fixture_thread(p, 1, 1, "a", "a");

	add(p, t, 'S', "f", 400);
	add(p, t, 'D', "f", 400);	/* 800 ns: 1 us */
	add(p, t, 'S', "g", 499);
	add(p, t, 'S', "h", 1499);
	add(p, t, 'S', "i", 1500);
	add(p, t, 'S', "j", 300);
	folded_render(s, p, NULL, &(struct folded_options){ 0 }, &result);
	g_assert_cmpstr(s->str, ==, "a;f 1\na;h 1\na;i 2\n");
	g_assert_cmpuint(result.lines_cnt, ==, 3);
	g_assert_cmpuint(result.dropped_lines_cnt, ==, 2);
	g_assert_cmpuint(result.dropped, ==, 799);
	profile_free(p);
}

/* Names that spell alike once escaped are one line; a name cannot forge a frame or a line. */
static void test_escapes(void)
{
	struct profile *p = profile_new();
	uint32_t t = fixture_thread(p, 1, 1, "a;b\n", "a");

	add(p, t, 'S', "x;y", 1000);
	add(p, t, 'S', "x:y", 2000);
	add(p, t, 'S', "z\nfake;line", 4000);
	check(p, &(struct folded_options){ 0 }, "a:b\\x0a;x:y 3\na:b\\x0a;z\\x0afake:line 4\n");
	profile_free(p);
}

static void test_units(void)
{
	enum folded_unit unit = FOLDED_MS;

	g_assert_true(folded_unit_parse("ns", &unit));
	g_assert_cmpuint(unit, ==, FOLDED_NS);
	g_assert_false(folded_unit_parse("m", &unit));
	g_assert_false(folded_unit_parse(NULL, &unit));
	g_assert_cmpuint(unit, ==, FOLDED_NS);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/folded/fixture", test_fixture);
	g_test_add_func("/folded/rounding", test_rounding);
	g_test_add_func("/folded/escapes", test_escapes);
	g_test_add_func("/folded/units", test_units);
	return g_test_run();
}
