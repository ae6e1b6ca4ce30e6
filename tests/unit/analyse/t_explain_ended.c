/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* What is told by what ended the waits, of names of processes, and of Java's virtual threads. */
#include "explain/sentence.h"
#include "window.h"

#include "features/tasks/rows.h"

#define FAULT "asm_exc_page_fault@[kernel] exc_page_fault@[kernel] lock_mm_and_find_vma@[kernel] down_read_killable@[kernel]"
#define SYSCALL "entry_SYSCALL_64_after_hwframe@[kernel] do_syscall_64@[kernel] "

/* Waits of 20 ms, ended by one waker: `irq`, or the thread itself at that place in the kernel. */
static struct explanation *explain_ended(struct profile *p, const char *user, const char *kernel, const char *irq,
					 const char *waker_kernel)
{
	const struct waker waker = {
		.pid = irq ? 0 : 10,
		.tid = irq ? 0 : 12,
		.comm = irq ? "" : "app",
		.irq = irq,
		.user = irq ? 0 : fixture_stack(p, FRAME_USER, STACK_COMPLETE, "main@app run_hook@app fork@libc.so.6"),
		.kernel = fixture_stack(p, FRAME_KERNEL, STACK_COMPLETE, waker_kernel),
	};
	uint32_t wait = add_wait(p, thread_of(p, 11, "app", 500), 'D', 100, 20, user, kernel);
	const struct wake wake = { .wait = wait, .waker = profile_waker(p, &waker), .count = 100, .blocked_ns = 2000 * MS };
	uint32_t caller = thread_of(p, 12, "app", 500);

	p->info.has_wakers = true;
	add_wait(p, caller, 'S', 100, 50, "main@app run_hook@app usleep@libc.so.6",
		 SYSCALL "__x64_sys_clock_nanosleep@[kernel] hrtimer_nanosleep@[kernel]");
	profile_add_wake(p, &wake);
	return explanation_new(p, NULL);
}

/* Its memory is locked while fork() copies it; what else unlocks it is another matter.  Who holds it does not sleep. */
static void test_fork(void)
{
	static const struct { const char *waker_kernel, *says, *advice, *held; } cases[] = {
		{ SYSCALL "kernel_clone@[kernel] copy_process@[kernel] dup_mmap@[kernel] up_write@[kernel] rwsem_wake@[kernel]",
		  "app waits for fork() to copy its memory in render", "posix_spawn()", "in clone, called by run_hook" },
		{ SYSCALL "__x64_sys_munmap@[kernel] __vm_munmap@[kernel] up_write@[kernel] rwsem_wake@[kernel]",
		  "app waits for the lock of its address space in render", "map less often", "in munmap, called by run_hook" },
	};

	for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
		struct profile *p = window_new();

		profile_add_limit(p, LIMIT_SIZE, 10, 0, "1536000");
		struct explanation *e = explain_ended(p, "main@app render@app", FAULT, NULL, cases[i].waker_kernel);
		const struct headline *h = headline_with(e, cases[i].says);

		g_assert_nonnull(strstr(h->advice, cases[i].advice));
		g_assert_nonnull(strstr(h->evidence, cases[i].held));
		g_assert_cmpint(strstr(h->evidence, "; its process has 1.46 GiB of memory") != NULL, ==, i == 0);
		g_assert_null(strstr(h->evidence, "meanwhile"));
		explanation_free(e);
		profile_free(p);
	}
}

/* A timer that sends a signal interrupts a wait, which did not last too long for that. */
static void test_timer_signal(void)
{
	static const char *const ends[] = { "hrtimer_interrupt@[kernel] __hrtimer_run_queues@[kernel] it_real_fn@[kernel]",
					    "hrtimer_interrupt@[kernel] __hrtimer_run_queues@[kernel] hrtimer_wakeup@[kernel]" };

	for (gsize i = 0; i < G_N_ELEMENTS(ends); i++) {
		struct profile *p = window_new();
		struct explanation *e = explain_ended(p, "main@app sync_wait@app recv@libc.so.6",
						      SYSCALL "__x64_sys_recvfrom@[kernel] unix_stream_read_generic@[kernel]",
						      "timer", ends[i]);
		const struct headline *h = headline_with(e, "sync_wait");

		g_assert_nonnull(strstr(h->evidence, i ? "100 of 100 timed out" :
							 "100 of 100 were interrupted by a timer's signal"));
		explanation_free(e);
		profile_free(p);
	}
}

/* The verb behind a process is in the singular, so a name that reads as several is no subject by itself. */
static void test_number(void)
{
	static const struct { const char *name, *said; } names[] = {
		{ "threads", "process threads" }, { "workers", "process workers" }, { "web-services", "process web-services" },
		{ "mariadbd", "mariadbd" }, { "redis", "redis" }, { "prometheus", "prometheus" }, { "compress", "compress" },
		{ "java8s", "java8s" }, { "postgres", "postgres" }, { "s", "s" }, { "", "" },
	};

	for (size_t i = 0; i < G_N_ELEMENTS(names); i++) {
		g_autoptr(GString) s = g_string_new(NULL);

		sentence_process(s, names[i].name, 0);
		g_assert_cmpstr(s->str, ==, names[i].said);
	}
}

/* Ten seconds of waits for data from a peer, of 50 ms each. */
static void test_tcp(void)
{
	static const struct {
		const char *name, *says;	/* NULL: nothing is said */
		uint64_t peer_ms, network_ms, silent_ms, unclear_ms, resent;
		uint32_t pid, rtt_us, all_s;
	} cases[] = {
		{ "10.0.0.5:3306", "in query; RTT 300 us, nothing was sent twice: the peer takes the time", 6000, 100, 0, 500, 0, 0, 300, 8 },
		{ "10.0.0.5:3306", "; RTT 40.0 ms, nothing was sent twice: the network takes the time", 100, 7000, 0, 500, 0, 0, 40000, 8 },
		{ "10.0.0.5:3306", "; RTT 20.0 ms, nothing was sent twice: the peer takes the time, the network 38% of it",
		  4800, 3000, 0, 0, 0, 0, 20000, 8 },
		{ "10.0.0.5:3306", "; RTT 300 us, 12 segments were sent again: the network takes the time",
		  100, 7000, 0, 500, 12, 0, 300, 8 },
		{ "10.0.0.5:3306", "; RTT 300 us, nothing was sent twice: the peer takes the time, or the way to it",
		  100, 0, 0, 7000, 0, 0, 300, 8 },
		/* on an old connection such a round trip may be the peer's */
		{ "10.0.0.5:3306", NULL, 100, 0, 0, 7000, 0, 0, 40000, 8 },
		/* a way that takes no time */
		{ "127.0.0.1:3306", "the peer takes the time", 100, 0, 0, 7000, 0, 0, 300, 8 },
		{ "172.17.0.2:3306 (mariadbd)", "nothing was sent twice: the peer takes the time", 0, 0, 0, 7000, 0, 80, 300, 8 },
		{ "10.0.0.5:3306", "; nothing was sent there since the last data came", 0, 0, 7000, 0, 0, 0, 300, 8 },
		{ "10.0.0.5:3306", NULL, 2000, 2000, 0, 0, 0, 0, 300, 8 },
		/* others wait for it, too, and most of the time is theirs */
		{ "10.0.0.5:3306", NULL, 30000, 0, 0, 0, 0, 0, 300, 40 },
		/* the client of a server has its own reasons */
		{ ":80 from 10.0.0.7", NULL, 7000, 0, 0, 0, 0, 0, 300, 8 },
	};

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		struct profile *p = window_new();
		const struct object peer = { .kind = OBJECT_SOCKET, .operation = "", .name = cases[i].name, .place = "tcp",
					     .pid = cases[i].pid };
		uint32_t wait = add_wait(p, thread_of(p, 11, "app", 10), 'S', 160, 50, "main@app query@app recv@libc.so.6",
					 SYSCALL "__x64_sys_recvfrom@[kernel] tcp_recvmsg@[kernel]");
		struct tcp_wait row = {
			.object = profile_object(p, &peer), .count = 160, .blocked_ns = cases[i].all_s * 1000 * MS,
			.peer_ns = cases[i].peer_ms * MS, .network_ns = cases[i].network_ms * MS,
			.silent_ns = cases[i].silent_ms * MS, .unclear_ns = cases[i].unclear_ms * MS,
			.resent = cases[i].resent, .min_rtt_us = cases[i].rtt_us,
		};

		g_array_index(p->waits, struct wait, wait).object = row.object + 1;
		profile_add_tcp_wait(p, &row);
		struct explanation *e = explanation_new(p, NULL);
		const char *sentence = e->headlines->len ? g_array_index(e->headlines, struct headline, 0).sentence : "";

		if (cases[i].says && !g_str_has_suffix(sentence, cases[i].says))
			g_error("case %zu: %s", i, sentence);
		if (!cases[i].says && (strstr(sentence, "takes the time") || strstr(sentence, "was sent")))
			g_error("case %zu: %s", i, sentence);
		explanation_free(e);
		profile_free(p);
	}
}

/* A round trip of many times the least one passes a queue, on the way where the peer's window is open. */
static void test_way_full(void)
{
	static const struct { uint64_t peer_ms, srtt_us, min_rtt_us; bool is_way; } cases[] = {
		{ 0, 108000, 34, true }, { 3000, 108000, 34, false }, { 0, 900, 34, false }, { 0, 108000, 90000, false }, { 0, 0, 0, false },
	};
	const struct object peer = { .kind = OBJECT_SOCKET, .operation = "", .name = "10.0.0.5:9531", .place = "tcp" };

	for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
		struct profile *p = window_new();
		uint32_t wait = add_wait(p, thread_of(p, 11, "app", 10), 'S', 8, 1000, "main@app push@app send@libc.so.6",
					 SYSCALL "__x64_sys_sendto@[kernel] tcp_sendmsg@[kernel] tcp_sendmsg_locked@[kernel]");
		const struct tcp_wait row = {
			.object = profile_object(p, &peer), .direction = TCP_WAIT_SEND, .count = 8, .blocked_ns = 8000 * MS,
			.peer_ns = cases[i].peer_ms * MS, .unclear_ns = (8000 - cases[i].peer_ms) * MS,
			.srtt_us = cases[i].srtt_us, .min_rtt_us = cases[i].min_rtt_us,
		};

		g_array_index(p->waits, struct wait, wait).object = row.object + 1;
		profile_add_tcp_wait(p, &row);
		struct explanation *e = explanation_new(p, NULL);
		const struct headline *first = &g_array_index(e->headlines, struct headline, 0);

		g_test_message("%zu: %s", i, first->sentence);
		g_assert_nonnull(strstr(first->sentence, cases[i].is_way ? "waits for room on the way to a peer, 10.0.0.5:9531, in push; RTT" :
								       "waits for a peer that reads too slowly, 10.0.0.5:9531, in push"));
		g_assert_cmpint(strstr(first->advice, "a limit on the way there") != NULL, ==, cases[i].is_way);
		explanation_free(e);
		profile_free(p);
	}
}

/* Who asks each time it has slept pauses between questions; who asks seldom, or serves a client, does not. */
static void test_pauses(void)
{
	static const struct { const char *peer; uint64_t asks; bool is_told; } cases[] = {
		{ "10.0.0.5:80", 20, true }, { "10.0.0.5:80", 5, false }, { ":80 from 10.0.0.5", 20, false },
	};

	for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
		struct profile *p = window_new();
		const struct object peer = { .kind = OBJECT_SOCKET, .operation = "", .name = cases[i].peer, .place = "tcp" };
		uint32_t thread = thread_of(p, 11, "relay", 500);

		p->info.has_wakers = true;
		p->info.filters = profile_string(p, "process 10");
		add_wait(p, thread, 'S', 20, 200, "main@relay push@relay back_off@relay usleep@libc.so.6",
			 SYSCALL "__x64_sys_clock_nanosleep@[kernel] hrtimer_nanosleep@[kernel]");
		uint32_t asks = add_wait(p, thread, 'S', cases[i].asks, 400 / cases[i].asks, "main@relay push@relay recv@libc.so.6",
					 SYSCALL "__x64_sys_recvfrom@[kernel] tcp_recvmsg@[kernel]");
		fixture_is_for(p, asks, &peer);
		struct explanation *e = explanation_new(p, NULL);
		const struct headline *h = headline_with(e, "sleeps until a timer in back_off");

		g_assert_true(!!strstr(h->evidence, "between its sleeps it asks 10.0.0.5:80") == cases[i].is_told);
		g_assert_true(g_str_has_prefix(h->advice, "A pause between tries") == cases[i].is_told);
		explanation_free(e);
		profile_free(p);
	}
}

#define FUTEX_WAIT SYSCALL "__x64_sys_futex@[kernel] futex_wait@[kernel]"
#define PIPE_WRITE SYSCALL "__x64_sys_write@[kernel] ksys_write@[kernel] vfs_write@[kernel] anon_pipe_write@[kernel]"
#define DISK_WRITE SYSCALL "__x64_sys_fsync@[kernel] do_fsync@[kernel] ext4_sync_file@[kernel] io_schedule@[kernel]"

/* Behind a lock whose holder waits for another program that one leads; a holder that waits for a disk can let go before. */
static void test_behind(void)
{
	for (int is_pipe = 0; is_pipe < 2; is_pipe++) {
		struct profile *p = window_new();
		const struct object mutex = { .kind = LOCK_MUTEX, .operation = "", .name = "journal_lock", .place = "heap" };
		const struct waker lets_go = { .pid = 10, .tid = 12, .comm = "app",
			.user = fixture_stack(p, FRAME_USER, STACK_COMPLETE, "main@app note@app pthread_mutex_unlock@libc.so.6") };
		const struct waker reads = { .pid = 20, .tid = 20, .comm = "reader" };
		uint32_t waits = add_wait(p, thread_of(p, 11, "app", 500), 'S', 100, 80, "main@app note@app pthread_mutex_lock@libc.so.6",
					  FUTEX_WAIT);
		uint32_t holds = add_wait(p, thread_of(p, 12, "app", 500), 'S', 100, 60, "main@app note@app write@libc.so.6",
					  is_pipe ? PIPE_WRITE : DISK_WRITE);
		const struct wake wakes[] = {
			{ .wait = waits, .waker = profile_waker(p, &lets_go), .count = 100, .blocked_ns = 8000 * MS },
			{ .wait = holds, .waker = profile_waker(p, &reads), .count = 100, .blocked_ns = 6000 * MS },
		};

		p->info.has_wakers = true;
		fixture_is_for(p, waits, &mutex);
		profile_add_wake(p, &wakes[0]);
		profile_add_wake(p, &wakes[1]);
		struct explanation *e = explanation_new(p, NULL);
		const struct headline *first = &g_array_index(e->headlines, struct headline, 0);
		const struct headline *lock = headline_with(e, "waits for a mutex, journal_lock, in note");

		g_assert_true((first == lock) == !is_pipe);
		g_assert_true(g_str_has_prefix(lock->advice, "It only queues behind") == is_pipe);
		g_assert_true(!!strstr(first->evidence, "first, as others queue behind it") == is_pipe);
		explanation_free(e);
		profile_free(p);
	}
}

/*
 * A function that asks a server with the lock sleeps longer than anybody waits, after it has let it go.  One that only
 * sleeps does so with it.
 */
static void test_sleeps_afterwards(void)
{
	for (unsigned asks = 0; asks < 2; asks++) {
		struct profile *p = window_new();
		const struct object mutex = { .kind = LOCK_MUTEX, .operation = "", .name = "store_lock", .place = "heap" };
		const struct object redis = { .kind = OBJECT_SOCKET, .operation = "", .name = "127.0.0.1:6379 (redis-server)", .place = "tcp" };
		uint32_t export = thread_of(p, 20, "app", 2000);

		p->info.has_wakers = p->info.has_objects = true;
		add_wait(p, export, 'S', 12, 400, "start@libc.so.6 export_loop@app nanosleep@libc.so.6",
			 SYSCALL "__x64_sys_clock_nanosleep@[kernel] hrtimer_nanosleep@[kernel] do_nanosleep@[kernel]");
		add_wait(p, export, 'S', 30, 40, "start@libc.so.6 other@app write@libc.so.6", DISK_WRITE);
		if (asks)
			fixture_is_for(p, add_wait(p, export, 'S', 12, 100, "start@libc.so.6 export_loop@app recv@libc.so.6",
						   SYSCALL "__x64_sys_recvfrom@[kernel] tcp_recvmsg@[kernel]"), &redis);
		for (uint32_t i = 0; i < 4; i++) {
			uint32_t wait = add_wait(p, thread_of(p, 11 + i, "app", 20), 'S', 16, asks ? 200 : 300,
						 "start@libc.so.6 serve@app pthread_mutex_lock@libc.so.6", FUTEX_WAIT);

			fixture_is_for(p, wait, &mutex);
			woken_in(p, wait, export, "start@libc.so.6 export_loop@app pthread_mutex_unlock@libc.so.6", 16, asks ? 3200 : 4800);
		}
		struct explanation *e = explanation_new(p, NULL);
		const struct headline *h = headline_with(e, "app waits for a mutex, store_lock, in serve");

		g_test_message("%u: %s; %s", asks, h->evidence, h->advice);
		g_assert_nonnull(strstr(h->evidence, asks ? "meanwhile waits for data from the network, 127.0.0.1:6379" :
							    "meanwhile sleeps until a timer"));
		explanation_free(e);
		profile_free(p);
	}
}

#define WAITS_FOR_CHILD SYSCALL "__x64_sys_wait4@[kernel] do_wait@[kernel]"
#define SLEEPS SYSCALL "__x64_sys_clock_nanosleep@[kernel] hrtimer_nanosleep@[kernel]"

/* A script leads before the `sleep` that it waits for, and no function of the shell is told as one of its own. */
static void test_shell(void)
{
	struct profile *p = window_new();
	uint32_t script = thread_of(p, 10, "publish.sh", 100);
	uint32_t waits = add_wait(p, script, 'S', 20, 400, "main@bash wait_for@bash wait4@libc.so.6", WAITS_FOR_CHILD);
	add_wait(p, script, 'S', 5, 200, "main@bash zread@bash read@libc.so.6",
		 SYSCALL "__x64_sys_read@[kernel] ksys_read@[kernel] vfs_read@[kernel] anon_pipe_read@[kernel]");
	const struct object child = { .kind = OBJECT_CHILD, .operation = "", .name = "sleep", .place = "", .pid = 20 };
	const struct waker ends = { .pid = 20, .tid = 20, .comm = "sleep" };
	uint32_t sleep = fixture_thread(p, 20, 20, "sleep", "sleep");
	const struct wake wake = { .wait = waits, .waker = profile_waker(p, &ends), .count = 20, .blocked_ns = 8000 * MS };

	g_array_index(p->threads, struct thread, sleep).to_ns = WINDOW_MS * MS;
	p->info.has_wakers = true;
	p->info.filters = profile_string(p, "command publish.sh");
	fixture_is_for(p, waits, &child);
	profile_add_wake(p, &wake);
	add_wait(p, sleep, 'S', 20, 390, "main@sleep run@sleep xnanosleep@sleep clock_nanosleep@libc.so.6", SLEEPS);
	struct explanation *e = explanation_new(p, NULL);
	const struct headline *first = &g_array_index(e->headlines, struct headline, 0);

	g_assert_nonnull(strstr(first->sentence, "publish.sh waits for a child to end"));
	g_assert_null(strstr(first->sentence, "wait_for"));
	g_assert_true(g_str_has_prefix(first->advice, "The script starts `sleep` again and again"));
	g_assert_null(strstr(headline_with(e, "publish.sh waits for data in a pipe")->sentence, "zread"));
	explanation_free(e);
	profile_free(p);
}

#define CARRIER "java.util.concurrent.ForkJoinPool.runWorker@jvm java.lang.VirtualThread.run@jvm shop.Order.charge@jvm "
#define PARK "jdk.internal.misc.Unsafe.park@jvm Unsafe_Park@libjvm.so pthread_cond_timedwait@libc.so.6"
#define FUTEX "__x64_sys_futex@[kernel] futex_wait@[kernel]"

/* A carrier that waits below a virtual thread is no idle worker; and of those that are not mounted nothing is known. */
static void test_virtual_threads(void)
{
	static const struct {
		const char *user, *says;
	} waits[] = {
		{ CARRIER "java.lang.VirtualThread.sleepNanos@jvm java.lang.VirtualThread.parkOnCarrierThread@jvm " PARK,
		  "holds up its carrier: it sleeps in a virtual thread that is pinned" },
		{ CARRIER "java.util.concurrent.SynchronousQueue.take@jvm "
			  "java.lang.VirtualThread.parkOnCarrierThread@jvm " PARK,
		  "holds up its carrier: it waits in a virtual thread that is pinned" },
		{ CARRIER "java.lang.Object.wait0@jvm JVM_MonitorWait@libjvm.so ObjectMonitor::wait@libjvm.so "
			  "pthread_cond_timedwait@libc.so.6",
		  "holds up its carrier: it is in Object.wait() in a virtual thread" },
		{ "java.util.concurrent.ForkJoinPool.runWorker@jvm java.util.concurrent.ForkJoinPool.awaitWork@jvm " PARK,
		  NULL },
	};

	for (size_t i = 0; i < G_N_ELEMENTS(waits); i++) {
		struct profile *p = window_new();

		thread_of(p, 31, "VirtualThread-u", 0);
		add_wait(p, thread_of(p, 30, "ForkJoinPool-1-", 10), 'S', 30, 290, waits[i].user, FUTEX);
		struct explanation *e = explanation_new(p, NULL);

		g_assert_cmpuint(e->headlines->len, ==, waits[i].says != NULL);
		if (waits[i].says)
			g_assert_nonnull(strstr(g_array_index(e->headlines, struct headline, 0).sentence, waits[i].says));
		g_assert_nonnull(strstr(e->unseen, "Not seen: virtual threads of"));
		explanation_free(e);
		profile_free(p);
	}
}

/* A program of one thread that sleeps nearly all of its time is told by that, beside others it is their clock. */
static void test_lone_pause(void)
{
	for (uint32_t others = 0; others < 2; others++) {
		struct profile *p = window_new();

		uint32_t mailq = thread_of(p, 30, "mailq", 0);

		add_wait(p, mailq, 'S', 40, 9900, "main@mailq usleep@libc.so.6",
			 SYSCALL "__x64_sys_clock_nanosleep@[kernel] do_nanosleep@[kernel]");
		add_wait(p, mailq, 'S', 40, 1, "main@mailq log_mail@mailq pthread_mutex_lock@libc.so.6", FUTEX_WAIT);
		for (uint32_t i = 0; i < others; i++)
			thread_of(p, 31, "worker", 0);
		struct explanation *e = explanation_new(p, NULL);

		g_assert_nonnull(e->little);
		g_assert_cmpint(strstr(e->little, "mailq sleeps until a timer") != NULL, ==, !others);
		explanation_free(e);
		profile_free(p);
	}
}

/* Of a server that forks for each request the children are told that are not in the recording; of a few nothing is. */
static void test_children_unrecorded(void)
{
	for (uint64_t cnt = 0; cnt < 2; cnt++) {
		struct profile *p = window_new();

		thread_of(p, 30, "popper", 0);
		p->info.unfollowed = cnt * 140;
		struct explanation *e = explanation_new(p, NULL);

		g_assert_cmpint(e->unseen && strstr(e->unseen, "140 processes that these have begun") != NULL, ==, cnt);
		explanation_free(e);
		profile_free(p);
	}
}

/* What looks at virtual threads have seen tells why one is pinned; then nothing is left to be told as not seen. */
static void test_pinned_by(void)
{
	static const struct task_frame frames[] = { { "java.lang.Thread.sleep", NULL, 0 }, { "shop.Order.charge", NULL, 0 } };
	struct profile *p = window_new();
	uint32_t carrier = thread_of(p, 30, "ForkJoinPool-1-", 10);
	struct tasks *t = tasks_new(TASKS_JAVA, profile_thread(p, carrier)->pid);
	struct task_row *row;
	bool is_new;

	t->program = tasks_string(t, "java");
	row = tasks_row(t, 1, &is_new);
	row->state = "waiting";
	row->reason = "pinned to its carrier: native frame of shop.Scorer.call";
	row->frames = g_memdup2(frames, sizeof(frames));
	row->frame_cnt = G_N_ELEMENTS(frames);
	tasks_seen(t, row, 1);
	tasks_look_done(t, 200 * MS, 200 * MS);
	tasks_finish(t);
	profile_add_tasks(p, t);
	thread_of(p, 31, "VirtualThread-u", 0);
	add_wait(p, carrier, 'S', 30, 290, CARRIER "java.lang.VirtualThread.sleepNanos@jvm java.lang.VirtualThread.parkOnCarrierThread@jvm "
		 PARK, FUTEX);
	struct explanation *e = explanation_new(p, NULL);

	g_assert_cmpuint(e->headlines->len, ==, 1);
	g_assert_nonnull(strstr(g_array_index(e->headlines, struct headline, 0).evidence, "; pinned: native frame of shop.Scorer.call"));
	g_assert_null(e->unseen);
	explanation_free(e);
	profile_free(p);
}

/* Waits of one row: so many that others of another process, or of its own, ended in all of that time, and so many that timers did. */
static void ended_by_both(struct profile *p, uint32_t wait, uint32_t pid, uint64_t cnt, uint64_t us, uint64_t timers_cnt,
			  uint64_t timers_ms)
{
	const struct waker by = { .pid = pid, .tid = pid, .comm = "api" }, timer = { .comm = "", .irq = "timer" };
	const struct wake wakes[] = {
		{ .wait = wait, .waker = profile_waker(p, &by), .count = cnt, .blocked_ns = us * 1000 },
		{ .wait = wait, .waker = profile_waker(p, &timer), .count = timers_cnt, .blocked_ns = timers_ms * MS },
	};
	struct wait *w = &g_array_index(p->waits, struct wait, wait);

	memset(w->hist, 0, sizeof(w->hist));
	w->hist[profile_hist_slot(us * 1000 / MAX(cnt, 1))] += (uint32_t)cnt;
	w->hist[profile_hist_slot(timers_ms * MS / MAX(timers_cnt, 1))] += (uint32_t)timers_cnt;
	w->count = cnt + timers_cnt;
	w->blocked_ns = us * 1000 + timers_ms * MS;
	w->max_ns = MAX(us * 1000 / MAX(cnt, 1), timers_ms * MS / MAX(timers_cnt, 1));
	p->info.has_wakers = true;
	for (unsigned i = 0; i < 2; i++)
		if (wakes[i].count)
			profile_add_wake(p, &wakes[i]);
}

#define LOOP "main@app uv_run@libuv.so.1 uv__io_poll@libuv.so.1 epoll_wait@libc.so.6"
#define EPOLL SYSCALL "__x64_sys_epoll_wait@[kernel] ep_poll@[kernel]"

/* A loop whose answers come at once, beside timers; what takes its time, its own threads' and bursts of clients tell nothing. */
static void test_loop_at_once(void)
{
	static const struct {
		uint32_t pid;
		uint64_t cnt, us, timers_cnt, timers_ms;
		bool is_told;
	} cases[] = {
		{ 20, 12, 4000, 13, 9000, true },
		{ 20, 12, 4000000, 13, 5000, false },	/* a third of a second each */
		{ 20, 12, 4000, 3000, 9000, false },	/* timers that have nothing to do with them */
		{ 20, 4000, 90000, 13, 9000, false },
		{ 20, 3, 1000, 13, 9000, false },
		{ 20, 12, 4000, 200, 9000, false },	/* nobody notices 45 ms */
		{ 10, 12, 4000, 13, 9000, false },
		{ 20, 0, 0, 13, 9000, false },
	};
	const struct object set = { .kind = OBJECT_EPOLL, .operation = "", .name = "1 socket (fd 3 of app)", .place = "1 socket" };

	for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
		struct profile *p = window_new();
		uint32_t wait = add_wait(p, thread_of(p, 10, "app", 40), 'S', 1, 1, LOOP, EPOLL);

		fixture_is_for(p, wait, &set);
		ended_by_both(p, wait, cases[i].pid, cases[i].cnt, cases[i].us, cases[i].timers_cnt, cases[i].timers_ms);
		add_wait(p, thread_of(p, 11, "app", 40), 'D', 80, 4, "main@app load@app read@libc.so.6", SYSCALL "io_schedule@[kernel]");
		struct explanation *e = explanation_new(p, NULL);

		g_assert_nonnull(e->little);
		if (!!strstr(e->little, " app waits in its event loop: api/20 ended 12 waits for its sockets, after 333 us on average, and "
					"timers ended all others. An interval may be meant;") != cases[i].is_told)
			g_error("case %zu: %s", i, e->little);
		explanation_free(e);
		profile_free(p);
	}
}

/* A server that rests until its own timers while clients wait; who has asked others may wait for these. */
static void test_held_back(void)
{
	static const char *const owed[] = { "7 clients wait, 0 connections to nobody", "7 clients wait, 7 connections to 10.0.0.5:80" };
	const struct object set = { .kind = OBJECT_EPOLL, .operation = "", .name = "9 sockets (fd 3 of app)", .place = "9 sockets" };

	for (unsigned i = 0; i < G_N_ELEMENTS(owed); i++) {
		struct profile *p = window_new();
		uint32_t wait = add_wait(p, thread_of(p, 10, "app", 40), 'S', 1, 1, LOOP, EPOLL);
		const struct waker client = { .pid = 20, .tid = 20, .comm = "curl",
					      .kernel = fixture_stack(p, FRAME_KERNEL, STACK_COMPLETE, "tcp_v4_rcv@[kernel] "
								      "tcp_child_process@[kernel] sock_def_readable@[kernel]") };
		const struct wake wake = { .wait = wait, .waker = profile_waker(p, &client), .count = 1, .blocked_ns = MS };

		fixture_is_for(p, wait, &set);
		ended_by_both(p, wait, 20, 12, 4000, 50, 9000);
		profile_add_wake(p, &wake);
		add_wait(p, thread_of(p, 11, "app", 40), 'D', 80, 4, "main@app load@app read@libc.so.6", SYSCALL "io_schedule@[kernel]");
		profile_add_limit(p, LIMIT_OWED, 10, 0, owed[i]);
		for (unsigned k = 0; k < 2; k++)	/* of a pool, which rest */
			profile_add_connection(p, &(struct connection){ .pid = 10, .local = k ? ":7" : ":8", .remote = "10.0.0.5:80" });
		struct explanation *e = explanation_new(p, NULL);

		g_assert_nonnull(e->little);
		g_assert_cmpint(!!strstr(e->little, "does not give back the 2 connections of its pool to 10.0.0.5:80"), ==, i == 0);
		g_assert_cmpint(g_str_has_prefix(e->little, "Little to find"), ==, i == 0);
		g_assert_cmpint(!!strstr(e->little, "(a long poll): app waits for its own timers, and has asked nobody, while 7 of its clients waited"), ==, i == 0);
		g_assert_null(strstr(e->little, "ended 12 waits"));
		explanation_free(e);
		profile_free(p);
	}
}

/*
 * A loop of a command that is idle while whom it has sent something sends nothing back, for most of the time: where its set
 * is known that is what it waits for.
 */
static void test_silent(void)
{
	const struct object set = { .kind = OBJECT_EPOLL, .operation = "", .name = "1 pipe (fd 3 of npm)", .place = "1 pipe" };

	for (int i = 0; i < 3; i++) {
		const bool is_long = i, has_set = i == 2;
		struct profile *p = window_new();
		uint32_t shell = thread_of(p, 10, "timeout", 1), app = thread_of(p, 10, "npm", 40);

		p->info.filters = profile_string(p, "command npm install");
		g_array_index(p->threads, struct thread, shell).to_ns = g_array_index(p->threads, struct thread, app).from_ns = 10 * MS;
		g_array_index(p->threads, struct thread, app).tid = 10;
		uint32_t loop = add_wait(p, app, 'S', 7, 1400, LOOP, EPOLL);

		g_array_index(p->waits, struct wait, loop).object = has_set ? profile_object(p, &set) + 1 : 0;
		add_wait(p, app, 'D', 80, 4, "main@npm load@npm read@libc.so.6", SYSCALL "io_schedule@[kernel]");
		profile_add_limit(p, LIMIT_SILENT, 10, 0, is_long ? "nothing for 8000000000 ns from 10.0.0.5:4873" :
								      "nothing for 2000000000 ns from 10.0.0.5:4873");
		struct explanation *e = explanation_new(p, NULL);

		if (has_set) {
			const struct headline *h = &g_array_index(e->headlines, struct headline, 0);

			g_test_message("%s: %s", h->sentence, h->advice);
			g_assert_nonnull(strstr(h->sentence, "npm waits in its event loop for an answer from 10.0.0.5:4873"));
			g_assert_true(g_str_has_prefix(h->advice, "It has sent something there"));
			explanation_free(e);
			profile_free(p);
			continue;
		}
		g_assert_cmpint(e->little && g_str_has_prefix(e->little, "npm has sent something to 10.0.0.5:4873, and nothing has come from "
								 "there since, for 8.00 s of 10.0 s."), ==, is_long);
		g_assert_cmpint(strstr(e->little, "ittle is found: ") != NULL, ==, is_long);
		explanation_free(e);
		profile_free(p);
	}
}

/* The same of a socket that is polled with a time limit: alone, or with others, which may be clients. */
static void test_poll_at_once(void)
{
	static const struct {
		uint8_t kind;
		const char *name, *place, *advice;
		uint64_t cnt, us, timers_cnt;	/* of 800 ms each */
	} cases[] = {
		{ OBJECT_SOCKET, "127.0.0.1:7726", "udp", "Answers come at once, or not at all", 19, 1200, 9 },
		{ OBJECT_EPOLL, "1 socket (fd 4 of app)", "1 socket", "Answers come at once, or not at all", 19, 1200, 9 },
		{ OBJECT_POLL, "127.0.0.1:7726 and 1 more", "udp", "Events come at once, or not until it times out", 19, 1200, 9 },
		{ OBJECT_SOCKET, "127.0.0.1:7726", "udp", "Time limits end these waits", 1, 100, 11 },
		{ OBJECT_SOCKET, "127.0.0.1:7726", "udp", "If events are late", 30, 2000, 4 },
		{ OBJECT_SOCKET, "127.0.0.1:7726", "udp", "If events are late", 19, 2000000, 9 },
	};

	for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
		struct profile *p = window_new();
		const struct object o = { .kind = cases[i].kind, .operation = "", .name = cases[i].name, .place = cases[i].place };
		uint32_t thread = thread_of(p, 10, "app", 40);
		uint32_t wait = add_wait(p, thread, 'S', 1, 1, "main@app get_oid@app ask@app poll@libc.so.6",
					 SYSCALL "__x64_sys_poll@[kernel] do_sys_poll@[kernel]");

		add_wait(p, thread, 'S', 1, 100, "main@app accept@libc.so.6", SYSCALL "inet_csk_accept@[kernel]");
		fixture_is_for(p, wait, &o);
		ended_by_both(p, wait, 20, cases[i].cnt, cases[i].us, cases[i].timers_cnt, cases[i].timers_cnt * 800);
		struct explanation *e = explanation_new(p, NULL);
		const struct headline *h = headline_with(e, "in ask");

		if (!g_str_has_prefix(h->advice, cases[i].advice))
			g_error("case %zu: %s: %s", i, h->sentence, h->advice);
		explanation_free(e);
		profile_free(p);
	}
}

/* Ruby's Timeout has a thread that ends a wait: that is a time limit, and none of those that it waits for. */
static void test_ruby_timeout(void)
{
	static const char *const limits[] = { "/usr/lib/ruby/3.1.0/timeout.rb", "/srv/jobs.rb" };

	for (unsigned i = 0; i < G_N_ELEMENTS(limits); i++) {
		struct profile *p = window_new();
		const struct object o = { .kind = OBJECT_SOCKET, .operation = "", .name = "127.0.0.1:7962", .place = "udp" };
		uint32_t thread = thread_of(p, 10, "app", 40), helper = thread_of(p, 11, "app", 40);
		g_autofree char *stack = g_strdup_printf("main@app timeout@%s write@libc.so.6", limits[i]);
		const struct waker own = { .pid = 10, .tid = 11, .comm = "app", .user = fixture_stack(p, FRAME_USER, STACK_COMPLETE, stack) };
		uint32_t wait = add_wait(p, thread, 'S', 1, 1, "main@app fetch_state@app recv@libc.so.6",
					 SYSCALL "__x64_sys_recvfrom@[kernel] udp_recvmsg@[kernel]");

		(void)helper;
		fixture_is_for(p, wait, &o);
		ended_by_both(p, wait, 20, 60, 6000, 0, 0);
		struct wait *w = &g_array_index(p->waits, struct wait, wait);
		const struct wake wake = { .wait = wait, .waker = profile_waker(p, &own), .count = 14, .blocked_ns = 7000 * MS };

		w->count += wake.count;
		w->blocked_ns += wake.blocked_ns;
		w->max_ns = 500 * MS;
		w->hist[profile_hist_slot(500 * MS)] += 14;
		profile_add_wake(p, &wake);
		struct explanation *e = explanation_new(p, NULL);
		const struct headline *h = headline_with(e, "in fetch_state");

		g_assert_cmpint(!!strstr(h->evidence, "14 of 74 timed out"), ==, i == 0);
		g_assert_cmpint(g_str_has_prefix(h->advice, "Answers come at once, or not at all"), ==, i == 0);
		g_assert_cmpint(!!strstr(h->evidence, "ended by"), ==, i == 1);
		explanation_free(e);
		profile_free(p);
	}
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/explain/fork", test_fork);
	g_test_add_func("/explain/timer-signal", test_timer_signal);
	g_test_add_func("/explain/at-once/loop", test_loop_at_once);
	g_test_add_func("/explain/at-once/held-back", test_held_back);
	g_test_add_func("/explain/silent", test_silent);
	g_test_add_func("/explain/at-once/poll", test_poll_at_once);
	g_test_add_func("/explain/at-once/ruby", test_ruby_timeout);
	g_test_add_func("/explain/number", test_number);
	g_test_add_func("/explain/tcp", test_tcp);
	g_test_add_func("/explain/way-full", test_way_full);
	g_test_add_func("/explain/pauses", test_pauses);
	g_test_add_func("/explain/behind", test_behind);
	g_test_add_func("/explain/sleeps-afterwards", test_sleeps_afterwards);
	g_test_add_func("/explain/shell", test_shell);
	g_test_add_func("/explain/virtual-threads", test_virtual_threads);
	g_test_add_func("/explain/lone-pause", test_lone_pause);
	g_test_add_func("/explain/children-unrecorded", test_children_unrecorded);
	g_test_add_func("/explain/virtual-threads/pinned-by", test_pinned_by);
	return g_test_run();
}
