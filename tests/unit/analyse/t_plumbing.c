/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "analyse/plumbing.h"

#include "../fixture.h"

#define ENTRY "entry_SYSCALL_64_after_hwframe do_syscall_64 "

struct expectation {
	char state;
	const char *user, *kernel;	/* outermost first */
	const char *leaf, *syscall;
};

static const struct expectation expectations[] = {
	{ 'S', "main@/bin/a do_work@/bin/a pthread_cond_wait@/lib/libc.so.6 __futex_abstimed_wait_common@/lib/libc.so.6",
	  ENTRY "__x64_sys_futex do_futex futex_wait __futex_wait futex_wait_queue schedule __schedule",
	  "futex_wait (pthread_cond_wait <- do_work)", "futex" },
	/* after a stop restart_syscall() jumps on */
	{ 'S', "main@/bin/a", ENTRY "futex_wait_restart futex_wait futex_wait_queue schedule __schedule",
	  "futex_wait (main)", "futex" },
	{ 'S', "main@/bin/a", ENTRY "do_restart_poll do_sys_poll schedule_hrtimeout_range schedule __schedule", "poll (main)", "poll" },
	{ 'S', "main@/bin/a", ENTRY "hrtimer_nanosleep_restart do_nanosleep schedule __schedule", "nanosleep (main)", "nanosleep" },
	/* 6.1 spells it otherwise */
	{ 'S', "main@/bin/a", ENTRY "__x64_sys_futex do_futex futex_wait futex_wait_queue_me schedule __schedule.isra.0",
	  "futex_wait (main)", "futex" },
	/* the C++ runtime is no caller, its caller is */
	{ 'S', "Pool::run()@/bin/a std::condition_variable::wait@/usr/lib/libstdc++.so.6 pthread_cond_wait@/lib/libc.so.6",
	  ENTRY "__x64_sys_futex futex_wait", "futex_wait (std::condition_variable::wait <- Pool::run())", "futex" },
	/* what C does of a Python package, or a bundled client library, says less than the function that called */
	{ 'S', "Repository.load@/srv/shop.py _pq_execute@/venv/psycopg2/_psycopg.cpython-311-x86_64-linux-gnu.so PQgetResult@/venv/libpq-e8a033dd.so.5.16 "
	       "poll@/lib/libc.so.6", ENTRY "__x64_sys_poll do_sys_poll", "poll (_pq_execute <- Repository.load)", "poll" },
	{ 'S', "Pool.release java.util.AbstractQueue.add Unsafe_Park@/jdk/libjvm.so", ENTRY "__x64_sys_futex futex_wait",
	  "futex_wait (java.util.AbstractQueue.add <- Pool.release)", "futex" },
	/* Go's library, too */
	{ 'D', "net/http.(*conn).serve main.(*Journal).Append bufio.(*Writer).Flush os.(*File).Write internal/poll.(*FD).Write syscall.Syscall",
	  ENTRY "ksys_write vfs_write ext4_file_write_iter folio_wait_bit_common io_schedule schedule",
	  "folio_wait_bit_common (bufio.(*Writer).Flush <- main.(*Journal).Append)", "write" },
	/* of a library's functions not the one by which Java parks all threads, unless there is nothing else */
	{ 'S', "java.lang.Thread.run java.util.concurrent.LinkedBlockingQueue.take java.util.concurrent.locks.LockSupport.park Unsafe_Park@/jdk/libjvm.so "
	       "pthread_cond_wait@/lib/libc.so.6", ENTRY "__x64_sys_futex futex_wait",
	  "futex_wait (java.util.concurrent.locks.LockSupport.park <- java.util.concurrent.LinkedBlockingQueue.take)", "futex" },
	{ 'S', "Unsafe_Park@/jdk/libjvm.so pthread_cond_wait@/lib/libc.so.6", ENTRY "__x64_sys_futex futex_wait", "futex_wait (Unsafe_Park)", "futex" },
	{ 'D', "main@/bin/a write@/lib/libc.so.6",
	  ENTRY "ksys_write vfs_write ext4_file_write_iter folio_wait_bit_common io_schedule schedule __schedule",
	  "folio_wait_bit_common (write <- main)", "write" },
	/* a fault inside a system call belongs to the call */
	{ 'D', "main@/bin/a", ENTRY "__x64_sys_read asm_exc_page_fault exc_page_fault filemap_fault folio_wait_bit_common io_schedule",
	  "folio_wait_bit_common (main)", "read" },
	{ 'D', "main@/bin/a", "asm_exc_page_fault exc_page_fault do_user_addr_fault handle_mm_fault filemap_fault __folio_lock_or_retry io_schedule",
	  "folio_wait_bit_common (main)", "page fault" },
	{ 'S', "", "ret_from_fork_asm ret_from_fork kthread kswapd schedule __schedule", "kswapd", "kernel thread" },
	{ 'S', "", "ret_from_fork_asm ret_from_fork kthread schedule", "kernel thread", "kernel thread" },
	/* nothing but plumbing in a system call: the call's name */
	{ 'S', "main@/bin/a", ENTRY "__x64_sys_pause schedule __schedule", "pause (main)", "pause" },
	{ 'R', "spin@/bin/a", "asm_sysvec_apic_timer_interrupt irqentry_exit schedule", "preempted (spin)", "interrupt" },
	{ 'R', "spin@/bin/a", ENTRY "syscall_exit_to_user_mode exit_to_user_mode_loop schedule", "preempted (spin)", "exit to user mode" },
	{ 'R', "main@/bin/a sched_yield@/lib/libc.so.6", ENTRY "__x64_sys_sched_yield do_sched_yield schedule", "sched_yield (sched_yield <- main)", "sched_yield" },
	/* how Rust's library begins a thread is no caller, by its older name and by that since 1.95 */
	{ 'S', "start_thread@/lib/libc.so.6 <std::sys::thread::unix::Thread>::new::thread_start@/bin/a std::thread::functions::sleep@/bin/a "
	       "clock_nanosleep@/lib/libc.so.6",
	  ENTRY "__x64_sys_clock_nanosleep do_nanosleep schedule", "nanosleep (clock_nanosleep <- std::thread::functions::sleep)", "clock_nanosleep" },
	{ 'S', "start_thread@/lib/libc.so.6 std::sys::unix::thread::Thread::new::thread_start@/bin/a std::thread::sleep@/bin/a clock_nanosleep@/lib/libc.so.6",
	  ENTRY "__x64_sys_clock_nanosleep do_nanosleep schedule", "nanosleep (clock_nanosleep <- std::thread::sleep)", "clock_nanosleep" },
	/* unnamed callers are passed over for a named one further out, unless there is none */
	{ 'S', "main@/bin/a ?@/bin/a read@/lib/libc.so.6", ENTRY "ksys_read pipe_read schedule", "pipe_read (read <- main)", "read" },
	/* what lies between two functions of a runtime, in its file, is the runtime's */
	{ 'S', "heap_update@/bin/postgres XactLockTableWait@/bin/postgres ?@/bin/postgres ProcSleep@/bin/postgres epoll_wait@/lib/libc.so.6",
	  ENTRY "__x64_sys_epoll_wait do_epoll_wait schedule", "epoll_wait (XactLockTableWait <- heap_update)", "epoll_wait" },
	{ 'S', "?@/bin/a read@/lib/libc.so.6", ENTRY "ksys_read pipe_read schedule", "pipe_read (read <- a+0x1234)", "read" },
	{ 'S', "?@/lib/libc.so.6", ENTRY "ksys_read pipe_read schedule", "pipe_read (libc.so.6+0x1234)", "read" },
	{ 'S', "main@/bin/a", "", "(main)", "[no kernel stack]" },
	/* 6.14; and what a walk without frame pointers takes for addresses is no caller */
	{ 'S', "? pthread_cond_wait@/lib/libc.so.6", ENTRY "__x64_sys_futex futex_wait __futex_wait futex_do_wait",
	  "futex_wait (pthread_cond_wait)", "futex" },
	{ 'S', "?", ENTRY "kernel_wait4 do_wait schedule", "do_wait (0x1234)", "wait4" },
	{ 'S', "", "ret_from_fork_asm ret_from_fork vhost_task_fn schedule", "vhost_task_fn", "kernel thread" },
	{ 'R', "", "__switch_to_asm", "preempted", "new thread" },
	{ 'R', "", "ret_from_fork_asm", "preempted", "new thread" },
	{ 'S', "", "", "[no stack]", "[no kernel stack]" },
	/* what a CPU spins for is known by who takes it */
	{ 'C', "main@/bin/a syscall@/lib/libc.so.6",
	  ENTRY "__x64_sys_futex do_futex futex_wait futex_wait_setup futex_q_lock _raw_spin_lock native_queued_spin_lock_slowpath",
	  "on CPU: native_queued_spin_lock_slowpath <- futex_q_lock (main)", "futex" },
	{ 'C', "main@/bin/a", ENTRY "ksys_write vfs_write pipe_write __mutex_lock.constprop.0 osq_lock",
	  "on CPU: osq_lock <- pipe_write (main)", "write" },
	{ 'C', "main@/bin/a", ENTRY "ksys_write vfs_write pipe_write", "on CPU: pipe_write (main)", "write" },
	{ 'S', "", ENTRY "x64_sys_call ?@[ext4] schedule", "[ext4]+0x1234", "[unknown entry]" },
};

static void test_table(void)
{
	for (unsigned i = 0; i < G_N_ELEMENTS(expectations); i++) {
		const struct expectation *e = &expectations[i];
		struct profile *p = profile_new();
		struct wait w = { .thread = fixture_thread(p, 1, 1, "a", "a"), .state = (uint8_t)e->state, .preempted_ns = 1 };

		if (*e->user)
			w.user = fixture_stack(p, FRAME_USER, STACK_COMPLETE, e->user);
		if (*e->kernel)
			w.kernel = fixture_stack(p, FRAME_KERNEL, STACK_COMPLETE, e->kernel);
		struct plumbing *pl = plumbing_new(p);
		g_assert_cmpstr(plumbing_leaf(pl, &w), ==, e->leaf);
		g_assert_cmpstr(plumbing_syscall(pl, &w), ==, e->syscall);
		g_assert_true(plumbing_leaf(pl, &w) == plumbing_leaf(pl, &w));
		plumbing_free(pl);
		profile_free(p);
	}
}

static void test_new_thread_and_flag(void)
{
	struct profile *p = profile_new();
	struct wait w = { .thread = fixture_thread(p, 1, 1, "a", "a"), .state = 'R', .runnable_ns = 5 };
	struct plumbing *pl = plumbing_new(p);

	g_assert_cmpstr(plumbing_leaf(pl, &w), ==, "new thread");
	g_array_index(p->threads, struct thread, 0).flags = THREAD_KERNEL;
	g_assert_cmpstr(plumbing_syscall(pl, &w), ==, "kernel thread");
	plumbing_free(pl);
	profile_free(p);
}

struct at_start {
	uint8_t flags;
	const char *user, *kernel, *leaf;
};

/* On a run queue as the window began: runnable all the time, but only some of them are new. */
static void test_runnable_at_start(void)
{
	static const struct at_start cases[] = {
		{ WAIT_OPEN_AT_START, "XLogFlush@/bin/pg fdatasync@/lib/libc.so.6",
		  ENTRY "__x64_sys_fdatasync do_fsync folio_wait_bit_common io_schedule schedule __schedule",
		  "runnable (fdatasync <- XLogFlush)" },
		{ WAIT_OPEN_AT_START, "XLogFlush@/bin/pg fdatasync@/lib/libc.so.6",
		  ENTRY "syscall_exit_to_user_mode exit_to_user_mode_loop schedule __schedule", "preempted (fdatasync <- XLogFlush)" },
		{ WAIT_OPEN_AT_START, "XLogFlush@/bin/pg fdatasync@/lib/libc.so.6",
		  ENTRY "__x64_sys_fdatasync crc32c __cond_resched __schedule", "preempted (fdatasync <- XLogFlush)" },
		{ WAIT_OPEN_AT_START, "spin@/bin/a", "asm_sysvec_apic_timer_interrupt irqentry_exit preempt_schedule_irq __schedule",
		  "preempted (spin)" },
		/* it sleeps in what is done on the way out */
		{ WAIT_OPEN_AT_START, "main@/bin/a close@/lib/libc.so.6",
		  ENTRY "syscall_exit_to_user_mode exit_to_user_mode_loop task_work_run __fput ext4_release schedule __schedule",
		  "runnable (close <- main)" },
		{ WAIT_OPEN_AT_START, "", "ret_from_fork_asm", "new thread" },
		{ WAIT_OPEN_AT_START, "spin@/bin/a", "", "runnable (spin)" },
		{ WAIT_THROTTLED, "spin@/bin/a", ENTRY "syscall_exit_to_user_mode exit_to_user_mode_loop schedule", "throttled (spin)" },
		{ WAIT_THROTTLED | WAIT_OPEN_AT_START, "", "", "throttled" },
		{ 0, "", "ret_from_fork_asm", "new thread" },
		{ 0, "", "", "new thread" },
	};

	for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
		const struct at_start *c = &cases[i];
		struct profile *p = profile_new();
		struct wait w = { .thread = fixture_thread(p, 1, 1, "a", "a"), .state = 'R', .flags = c->flags, .runnable_ns = 5 };

		w.user = *c->user ? fixture_stack(p, FRAME_USER, STACK_COMPLETE, c->user) : 0;
		w.kernel = *c->kernel ? fixture_stack(p, FRAME_KERNEL, STACK_COMPLETE, c->kernel) : 0;
		struct plumbing *pl = plumbing_new(p);
		g_assert_cmpstr(plumbing_leaf(pl, &w), ==, c->leaf);
		plumbing_free(pl);
		profile_free(p);
	}
}

/* The route of a request is no function, whatever it is called. */
static void test_route(void)
{
	struct profile *p = profile_new();
	const struct frame frames[] = {
		{ .name = "__x64_sys_futex", .module = "[http.route]", .kind = FRAME_CONTEXT },
		{ .name = "_dl_runtime_resolve_xsavec", .module = "/lib/ld-linux-x86-64.so.2" },
	};
	struct wait w = { .thread = fixture_thread(p, 1, 1, "a", "a"), .state = 'R', .preempted_ns = 1 };

	for (unsigned i = 0; i < G_N_ELEMENTS(frames); i++)
		w.user = profile_node(p, w.user, profile_frame(p, &frames[i]));
	struct plumbing *pl = plumbing_new(p);

	g_assert_cmpstr(plumbing_leaf(pl, &w), ==, "preempted (_dl_runtime_resolve_xsavec)");
	plumbing_free(pl);
	profile_free(p);
}

/* What a module in C does for a script, with or without a suffix, and what was made at run time, say less than who called. */
static void test_scripts(void)
{
	static const struct { const char *module, *file, *inner_module, *inner_file, *leaf; } cases[] = {
		{ "/srv/notes-api", "/srv/notes-api", "/srv/lib/better_sqlite3.node", NULL, "nanosleep (inner <- outer)" },
		{ "/srv/app.py", "/srv/app.py", "/usr/lib/libzmq.so.5", NULL, "nanosleep (inner <- outer)" },
		{ "/srv/app", "/src/app.c", "/usr/lib/libshop.so.5", NULL, "nanosleep (inner)" },
		{ "/srv/wiki.pl", "/srv/wiki.pl", "(eval)", "(eval)", "nanosleep (inner <- outer)" },
	};

	for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
		struct profile *p = profile_new();
		const struct frame outer = { .name = "outer", .module = cases[i].module, .file = cases[i].file },
				   inner = { .name = "inner", .module = cases[i].inner_module, .file = cases[i].inner_file };
		struct wait w = { .thread = fixture_thread(p, 1, 1, "a", "a"), .state = 'S' };

		w.user = profile_node(p, profile_node(p, 0, profile_frame(p, &outer)), profile_frame(p, &inner));
		w.kernel = fixture_stack(p, FRAME_KERNEL, STACK_COMPLETE, "__x64_sys_clock_nanosleep do_nanosleep");
		struct plumbing *pl = plumbing_new(p);

		g_assert_cmpstr(plumbing_leaf(pl, &w), ==, cases[i].leaf);
		plumbing_free(pl);
		profile_free(p);
	}
}

/* Of a library's functions those tell more that the program calls it in, but for one in which a thread begins. */
static void test_library_of_program(void)
{
	static const struct { const char *user, *leaf; } cases[] = {
		{ "start_thread@libc.so.6 run@fan query_shard@fan Get@libhttp.so.0.11 select_read@libhttp.so.0.11", "nanosleep (Get <- query_shard)" },
		{ "start_thread@libc.so.6 worker@fan Get@libhttp.so.0.11 select_read@libhttp.so.0.11", "nanosleep (select_read)" },
		{ "main@fan Get@libhttp.so.0.11 select_read@libhttp.so.0.11", "nanosleep (select_read)" },
		{ "start_thread@libc.so.6 run@fan query_shard@fan init@plugin.so", "nanosleep (init)" },
		{ "start_thread@libc.so.6 std::sys::backtrace@fan rayon_core::latch::wait@fan std::sys::condvar::wait@fan",
		  "nanosleep (std::sys::condvar::wait <- rayon_core::latch::wait)" },
		{ "start_thread@libc.so.6 ?@libstdc++.so.6 std::thread::wait@fan", "nanosleep (std::thread::wait)" },
	};

	for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
		struct profile *p = profile_new();
		struct wait w = { .thread = fixture_thread(p, 1, 1, "a", "a"), .state = 'S' };

		w.user = fixture_stack(p, FRAME_USER, STACK_COMPLETE, cases[i].user);
		w.kernel = fixture_stack(p, FRAME_KERNEL, STACK_COMPLETE, "__x64_sys_clock_nanosleep do_nanosleep");
		struct plumbing *pl = plumbing_new(p);

		g_assert_cmpstr(plumbing_leaf(pl, &w), ==, cases[i].leaf);
		plumbing_free(pl);
		profile_free(p);
	}
}

static void test_runtime(void)
{
	g_assert_true(plumbing_is_runtime("/usr/lib/x86_64-linux-gnu/libc.so.6"));
	g_assert_true(plumbing_is_runtime("/lib/ld-linux-x86-64.so.2"));
	g_assert_true(plumbing_is_runtime("/lib/ld-musl-x86_64.so.1"));
	g_assert_true(plumbing_is_runtime("[vdso]"));
	g_assert_false(plumbing_is_runtime("/usr/lib/libcurl.so.4"));
	g_assert_false(plumbing_is_runtime("/opt/libc.so.6/app"));
	g_assert_false(plumbing_is_runtime(NULL));
	g_assert_true(plumbing_runtime_name("std::vector<int>::reserve(unsigned long)"));
	g_assert_true(plumbing_runtime_name("operator new(unsigned long)"));
	g_assert_true(plumbing_runtime_name("operator delete[](void*)"));
	g_assert_false(plumbing_runtime_name("Pool::operator new(unsigned long)"));
	g_assert_false(plumbing_runtime_name("operator_new"));
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/plumbing/table", test_table);
	g_test_add_func("/plumbing/new-thread-and-flag", test_new_thread_and_flag);
	g_test_add_func("/plumbing/runnable-at-start", test_runnable_at_start);
	g_test_add_func("/plumbing/route", test_route);
	g_test_add_func("/plumbing/scripts", test_scripts);
	g_test_add_func("/plumbing/library-of-program", test_library_of_program);
	g_test_add_func("/plumbing/runtime", test_runtime);
	return g_test_run();
}
