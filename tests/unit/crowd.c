/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "crowd.h"

#include "fixture.h"

/*
 * Threads, their delays (ms) and who held the CPU meanwhile:
 *
 *   no pid/tid comm    runnable preempted  hog-10/11 hog-10/12 [idle] [throttled] [unknown]
 *   0  10/11   hog          0      100         -        90        0        0         10
 *   1  10/12   hog          0       50        50         -        0        0          0
 *   2  20/20   victim      60       20       30+5      20+0       3      0+15         7
 *   3  30/31   pool         4        0         -         -        -        -          4
 *   4  30/32   pool         5        0         -         -        -        -          5
 *                          69      170
 *
 * Storms, by the waker; waits of pool (3 and 4), each with a wake of that waker:
 *
 *   waker            waits in                    events woken most ended again  cpu   again  verdict
 *   0 boss-30/30     pthread_cond_wait, twice        10  2000  210  2000  1900  20 ms 10 ms  in vain
 *   1 client-40/40   epoll_wait, tcp_child_process    5    50   10    50    45   1 ms  1 ms  in vain
 *   2 boss-30/30     pthread_cond_wait                4    80   20    80     8  80 ms  0.5   work, one by one
 *   3 timer          nanosleep                        1     9    9     4     4   1 ms  1 ms  unseen
 */

#define MS UINT64_C(1000000)

static void add_blame(struct profile *p, uint32_t thread, uint8_t kind, uint32_t tid, uint64_t runnable_ms,
		      uint64_t preempted_ms)
{
	const struct blame b = {
		.thread = thread, .kind = kind, .pid = tid ? 10 : 0, .tid = tid, .comm = tid ? "hog" : "",
		.count = 2, .runnable_ns = runnable_ms * MS, .preempted_ns = preempted_ms * MS,
	};

	profile_add_blame(p, &b);
}

static uint32_t add_delayed(struct profile *p, uint32_t pid, uint32_t tid, const char *comm, uint64_t runnable_ms,
			    uint64_t preempted_ms)
{
	uint32_t i = fixture_thread(p, pid, tid, comm, comm);
	struct thread *t = &g_array_index(p->threads, struct thread, i);

	t->to_ns = 1000 * MS;
	t->runnable_ns = runnable_ms * MS;
	t->preempted_ns = preempted_ms * MS;
	t->on_cpu_ns = 1000 * MS - t->runnable_ns - t->preempted_ns;
	return i;
}

static void add_blames(struct profile *p)
{
	add_delayed(p, 10, 11, "hog", 0, 100);
	add_delayed(p, 10, 12, "hog", 0, 50);
	add_delayed(p, 20, 20, "victim", 60, 20);
	add_delayed(p, 30, 31, "pool", 4, 0);
	add_delayed(p, 30, 32, "pool", 5, 0);
	add_blame(p, 0, BLAME_THREAD, 12, 0, 90);
	add_blame(p, 1, BLAME_THREAD, 11, 0, 50);
	add_blame(p, 2, BLAME_THREAD, 11, 20, 5);
	add_blame(p, 2, BLAME_THREAD, 11, 10, 0);	/* into the same row */
	add_blame(p, 2, BLAME_THREAD, 12, 20, 0);
	add_blame(p, 2, BLAME_IDLE, 0, 3, 0);
	add_blame(p, 2, BLAME_THROTTLED, 0, 0, 15);
}

static void add_sleeps(struct profile *p, uint32_t thread, uint32_t user, uint32_t kernel, uint32_t waker, uint64_t count)
{
	struct wait w = { .thread = thread, .user = user, .kernel = kernel, .state = 'S', .count = count,
			  .blocked_ns = count * 1000, .max_ns = 1000 };
	struct wake k = { .waker = waker, .count = count, .blocked_ns = count * 1000 };

	w.hist[9] = (uint32_t)count;
	g_array_index(p->threads, struct thread, thread).blocked_ns += w.blocked_ns;
	g_array_index(p->threads, struct thread, thread).on_cpu_ns -= w.blocked_ns;
	k.wait = profile_add_wait(p, &w);
	profile_add_wake(p, &k);
}

static uint32_t add_waker(struct profile *p, uint32_t pid, const char *comm, const char *irq, const char *user,
			  const char *kernel)
{
	const struct waker w = {
		.pid = pid, .tid = pid, .comm = comm, .irq = irq,
		.user = user ? fixture_stack(p, FRAME_USER, STACK_COMPLETE, user) : 0,
		.kernel = fixture_stack(p, FRAME_KERNEL, STACK_COMPLETE, kernel),
	};

	return profile_waker(p, &w);
}

static void add_storms(struct profile *p)
{
	uint32_t u_cond = fixture_stack(p, FRAME_USER, STACK_COMPLETE, "start_thread@libc.so.6 pool_main@pool pthread_cond_wait@libc.so.6");
	uint32_t u_epoll = fixture_stack(p, FRAME_USER, STACK_COMPLETE, "start_thread@libc.so.6 pool_main@pool epoll_wait@libc.so.6");
	uint32_t u_sleep = fixture_stack(p, FRAME_USER, STACK_COMPLETE, "start_thread@libc.so.6 clock_nanosleep@libc.so.6");
	uint32_t k_futex = fixture_stack(p, FRAME_KERNEL, STACK_COMPLETE, "do_syscall_64 __x64_sys_futex futex_wait schedule");
	uint32_t k_epoll = fixture_stack(p, FRAME_KERNEL, STACK_COMPLETE, "do_syscall_64 __x64_sys_epoll_wait do_epoll_wait schedule");
	uint32_t k_sleep = fixture_stack(p, FRAME_KERNEL, STACK_COMPLETE, "do_syscall_64 hrtimer_nanosleep do_nanosleep schedule");
	uint32_t boss = add_waker(p, 30, "boss", NULL, "main@pool tell_all@pool pthread_cond_broadcast@libc.so.6",
				  "do_syscall_64 __x64_sys_futex futex_wake wake_up_q try_to_wake_up");
	uint32_t client = add_waker(p, 40, "client", NULL, "main@client connect@libc.so.6",
				    "do_syscall_64 tcp_v4_rcv tcp_child_process sock_def_readable ep_poll_callback try_to_wake_up");
	uint32_t loop = add_waker(p, 30, "boss", NULL, "main@pool tell_each@pool pthread_cond_signal@libc.so.6",
				  "do_syscall_64 __x64_sys_futex futex_wake wake_up_q try_to_wake_up");
	uint32_t timer = add_waker(p, 0, "", "timer", NULL,
				   "asm_sysvec_apic_timer_interrupt __hrtimer_run_queues hrtimer_wakeup try_to_wake_up");
	const struct storm storms[] = {
		{ boss, 10, 10, 2000, 210, 2000, 1900, 20 * MS, 10 * MS, 200 * MS },
		{ client, 5, 5, 50, 10, 50, 45, MS, MS, 2 * MS },
		{ loop, 4, 80, 80, 20, 80, 8, 80 * MS, MS / 2, 40 * MS },
		{ timer, 1, 1, 9, 9, 4, 4, MS, MS, MS },
	};

	for (unsigned i = 0; i < G_N_ELEMENTS(storms); i++)
		profile_add_storm(p, &storms[i]);
	add_sleeps(p, 3, u_cond, k_futex, boss, 1200);
	add_sleeps(p, 4, u_cond, k_futex, boss, 800);
	add_sleeps(p, 4, u_cond, k_epoll, client, 10);
	add_sleeps(p, 4, u_epoll, k_epoll, client, 40);
	add_sleeps(p, 3, u_cond, k_futex, loop, 80);
	add_sleeps(p, 3, u_sleep, k_sleep, timer, 9);
}

struct profile *crowd_new(void)
{
	struct profile *p = profile_new();

	p->info.host = profile_string(p, "box");
	p->info.kernel = profile_string(p, "6.1.0");
	p->info.version = profile_string(p, "0.1");
	p->info.command_line = profile_string(p, "offcpu record --runq-blame --storms");
	p->info.filters = profile_string(p, "");
	p->info.cpus = 2;
	p->info.duration_ns = 1000 * MS;
	p->info.has_wakers = p->info.has_blame = p->info.has_storms = true;
	add_blames(p);
	add_storms(p);
	return p;
}
