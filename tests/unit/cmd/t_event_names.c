/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "cmd/event_names.h"

#define FUTEX 11
#define EXIT_LOOP 12
#define WAITER 21
#define PENDING 31

static unsigned asked;

static unsigned put(const struct frame *const *frames, unsigned cnt, const struct frame **ret_frames)
{
	for (unsigned i = 0; i < cnt; i++)
		ret_frames[i] = frames[i];
	return cnt;
}

/* Innermost first, as a session has them. */
static unsigned stack_of(uint64_t id, const struct frame **ret_frames, unsigned max, void *data)
{
	static const struct frame schedule = { .name = "schedule", .module = "[kernel]", .kind = FRAME_KERNEL };
	static const struct frame futex_wait = { .name = "__futex_wait", .module = "[kernel]", .kind = FRAME_KERNEL };
	static const struct frame call = { .name = "__x64_sys_futex", .module = "[kernel]", .kind = FRAME_KERNEL };
	static const struct frame loop = { .name = "exit_to_user_mode_loop", .module = "[kernel]", .kind = FRAME_KERNEL };
	static const struct frame common = { .name = "__futex_abstimed_wait_common", .module = "/lib/libc.so.6" };
	static const struct frame cond = { .name = "pthread_cond_wait@@GLIBC_2.3.2", .module = "/lib/libc.so.6" };
	static const struct frame work = { .name = "do_work", .module = "/bin/a" };
	const struct frame *const futex[] = { &schedule, &futex_wait, &call }, *const exit_loop[] = { &schedule, &loop };
	const struct frame *const waiter[] = { &common, &cond, &work };

	asked++;
	g_assert_cmpuint(max, >=, 3);
	switch (id) {
	case FUTEX: return put(futex, G_N_ELEMENTS(futex), ret_frames);
	case EXIT_LOOP: return put(exit_loop, G_N_ELEMENTS(exit_loop), ret_frames);
	case WAITER: return put(waiter, G_N_ELEMENTS(waiter), ret_frames);
	default: return 0;
	}
}

/* As a report has it: libc's inner function tells nothing, its caller is named beside the function it called. */
static void test_names(void)
{
	struct event_names *n = event_names_new(stack_of, NULL);
	struct offcpu_rec_event e = { .state = 'S', .blocked_ns = 5, .kstack = FUTEX, .ustack = WAITER };

	g_assert_cmpstr(event_name(n, &e), ==, "futex_wait (pthread_cond_wait <- do_work)");
	e = (struct offcpu_rec_event){ .state = 'R', .preempted_ns = 5, .kstack = EXIT_LOOP, .ustack = WAITER };
	g_assert_cmpstr(event_name(n, &e), ==, "preempted (pthread_cond_wait <- do_work)");
	e.is_throttled = 1;
	g_assert_cmpstr(event_name(n, &e), ==, "throttled (pthread_cond_wait <- do_work)");
	e = (struct offcpu_rec_event){ .state = 'R', .runnable_ns = 5, .kstack = FUTEX, .ustack = WAITER, .open_at_start = 1 };
	g_assert_cmpstr(event_name(n, &e), ==, "runnable (pthread_cond_wait <- do_work)");
	e = (struct offcpu_rec_event){ .state = 'S', .blocked_ns = 5 };
	g_assert_cmpstr(event_name(n, &e), ==, "[no stack]");
	event_names_free(n);
}

/* Each name is made once, but for one of a stack that has not arrived yet. */
static void test_cache(void)
{
	struct event_names *n = event_names_new(stack_of, NULL);
	struct offcpu_rec_event e = { .state = 'S', .blocked_ns = 5, .kstack = FUTEX, .ustack = WAITER };

	asked = 0;
	for (int i = 0; i < 3; i++)
		g_assert_cmpstr(event_name(n, &e), ==, "futex_wait (pthread_cond_wait <- do_work)");
	g_assert_cmpuint(asked, ==, 2);
	e.ustack = PENDING;
	for (int i = 0; i < 3; i++)
		g_assert_cmpstr(event_name(n, &e), ==, "futex_wait");
	g_assert_cmpuint(asked, ==, 8);
	event_names_free(n);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/event-names/names", test_names);
	g_test_add_func("/event-names/cache", test_cache);
	return g_test_run();
}
