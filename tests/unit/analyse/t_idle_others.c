/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Waits that look idle and are not, by what others were seen to do. */
#include "analyse/reason/reasons.h"
#include "maker.h"
#include "profile/limits.h"

#define FUTEX "__x64_sys_futex@[kernel] futex_wait@[kernel]"
#define RECV "__x64_sys_recvfrom@[kernel] tcp_recvmsg@[kernel]"

static void assert_idle(const struct profile *p, uint32_t wait, enum idle_kind kind)
{
	struct reasons *r = reasons_new(p, NULL);

	g_assert_cmpint(reasons_idle(r, wait), ==, kind);
	reasons_free(r);
}

/*
 * Another process ends waits for a semaphore in memory that both have. It is busy, and those that wait get their work
 * elsewhere, or are several; else one thread may write what another brings.
 */
static void test_busy_reader(void)
{
	static const struct { const char *looks, *source; uint32_t threads; bool is_private, is_idle; } cases[] = {
		{ "7 of 7 looks", "clock_nanosleep@libc.so.6", 1, false, false },
		{ "7 of 7 looks", NULL, 3, false, false },
		{ "7 of 7 looks", NULL, 1, false, true },
		{ "1 of 7 looks", "clock_nanosleep@libc.so.6", 1, false, true },
		{ NULL, NULL, 3, false, true },
		{ "7 of 7 looks", NULL, 3, true, true },
	};

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		struct maker m = maker_new("process 1");
		const struct waker reader = { .pid = 9, .tid = 9, .comm = profile_string(m.p, "encoder") };
		const struct object o = { .kind = LOCK_SEMAPHORE, .is_private = cases[i].is_private, .name = "frames", .place = "/dev/shm/frames",
					  .operation = "" };
		uint32_t last = 0;

		for (uint32_t k = 0; k < cases[i].threads; k++) {
			uint32_t t = thread_of(m.p, 1, 2 + k, "camera", 0);
			struct wake wake = { .waker = profile_waker(m.p, &reader), .count = 100, .blocked_ns = 1000 * MS };

			last = wait_of(m.p, t, 'S', "start_thread@libc.so.6 camera@app __new_sem_wait_slow64@libc.so.6", FUTEX, 100);
			g_array_index(m.p->waits, struct wait, last).object = profile_object(m.p, &o) + 1;
			wake.wait = last;
			profile_add_wake(m.p, &wake);
			if (cases[i].source)
				woken_by(m.p, wait_of(m.p, t, 'S', "start_thread@libc.so.6 camera@app clock_nanosleep@libc.so.6",
						      "__x64_sys_clock_nanosleep@[kernel] do_nanosleep@[kernel]", 100), UINT32_MAX, "");
		}
		if (cases[i].looks)
			profile_add_limit(m.p, LIMIT_SIGNALLER, 9, 9, cases[i].looks);
		assert_idle(m.p, last, cases[i].is_idle ? IDLE_POOL : IDLE_NOT);
		profile_free(m.p);
	}
}

/* A loop and a semaphore, whose other end is stopped; a connection that was accepted only lacks its client's request. */
static void test_for_stopped(void)
{
	static const struct { enum object_kind kind; const char *name; bool is_stopped, is_idle; } cases[] = {
		{ OBJECT_EPOLL, "2 sockets (fd 5 of app) -> 127.0.0.1:8000 (helper)", true, false },
		{ OBJECT_EPOLL, "2 sockets (fd 5 of app) -> 127.0.0.1:8000 (helper)", false, true },
		{ OBJECT_PIPE, "pipe from helper", true, true },
		{ OBJECT_SOCKET, ":80 from 127.0.0.1 (helper)", true, true },
	};

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		const bool is_loop = cases[i].kind != OBJECT_SOCKET;
		struct maker m = maker_new("process 1");
		uint32_t w = wait_of(m.p, thread_of(m.p, 1, 1, "app", 0), 'S', is_loop ? "main@app epoll_wait@libc.so.6" : "main@app recv@libc.so.6",
				     is_loop ? "__x64_sys_epoll_wait@[kernel] ep_poll@[kernel]" : RECV, 1);

		wait_for(m.p, w, cases[i].kind, cases[i].name, 9);
		g_array_index(m.p->waits, struct wait, w).flags |= WAIT_OPEN_AT_END;
		if (cases[i].is_stopped)
			profile_add_limit(m.p, LIMIT_STOPPED, 9, 0, "helper");
		struct reasons *r = reasons_new(m.p, NULL);
		g_assert_cmpint(reasons_idle(r, w) != IDLE_NOT, ==, cases[i].is_idle);
		g_assert_true(cases[i].is_idle || reasons_of(r, w) == REASON_NETWORK_RECEIVE);
		reasons_free(r);
		profile_free(m.p);
	}
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/idle/busy-reader", test_busy_reader);
	g_test_add_func("/idle/for-stopped", test_for_stopped);
	return g_test_run();
}
