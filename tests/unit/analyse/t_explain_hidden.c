/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* What no single wait tells: a limit that is reached, room in a pipe, a signal for others, a full pool. */
#include "window.h"

#include "features/tasks/rows.h"
#include "profile/limits.h"

#define EPOLL "__x64_sys_epoll_wait@[kernel] ep_poll@[kernel]"
#define FUTEX "__x64_sys_futex@[kernel] futex_wait@[kernel]"
#define POLL "__x64_sys_poll@[kernel] do_sys_poll@[kernel] poll_schedule_timeout@[kernel]"
#define SLEEP "__x64_sys_clock_nanosleep@[kernel] hrtimer_nanosleep@[kernel] do_nanosleep@[kernel]"

#define VM 12	/* the thread of a JVM that carries out its operations */

/* Ended by a thread, whose stacks these are, or by a timer (NULL). */
static void ended_by(struct profile *p, uint32_t wait, uint32_t tid, const char *user, const char *kernel)
{
	const struct wait *w = profile_wait(p, wait);
	struct waker waker = { .irq = "timer" };

	if (user)
		waker = (struct waker){ .pid = 10, .tid = tid, .comm = tid == VM ? "VM Thread" : "other" };
	waker.user = user && *user ? fixture_stack(p, FRAME_USER, STACK_COMPLETE, user) : 0;
	waker.kernel = *kernel ? fixture_stack(p, FRAME_KERNEL, STACK_COMPLETE, kernel) : 0;
	profile_add_wake(p, &(struct wake){ .wait = wait, .waker = profile_waker(p, &waker), .count = w->count, .blocked_ns = w->blocked_ns });
	p->info.has_wakers = true;
}

static void is_for(struct profile *p, uint32_t wait, enum object_kind kind, const char *name, uint32_t pid)
{
	const struct object o = { .kind = (uint8_t)kind, .name = name, .pid = pid };

	fixture_is_for(p, wait, &o);
}

/* An event loop without a rest in its thread, and connections that nobody accepts: only with both it is told. */
static void test_descriptors(void)
{
	for (unsigned i = 0; i < 4; i++) {
		const bool is_full = i & 1, has_backlog = i & 2;
		struct profile *p = window_new();

		add_wait(p, thread_of(p, 11, "hub", 10), 'S', 10, 999, "main@hub run@hub epoll_wait@libc.so.6", EPOLL);
		if (is_full)
			profile_add_limit(p, LIMIT_FILES, 10, 0, "24 of 24 descriptors");
		if (has_backlog)
			profile_add_limit(p, LIMIT_BACKLOG, 10, 0, "5 connections wait at :8005");
		struct explanation *e = explanation_new(p, NULL);

		g_assert_cmpuint(e->headlines->len, ==, is_full && has_backlog);
		if (e->headlines->len) {
			const struct headline *h = headline_with(e, "hub accepts no connections: 24 of 24 descriptors");

			g_assert_nonnull(strstr(h->evidence, "5 connections at :8005"));
			g_assert_nonnull(strstr(h->advice, "EMFILE"));
		}
		explanation_free(e);
		profile_free(p);
	}
}

/* A pause of a second between tries is none of a clock's where nothing more can be started. */
static void test_processes(void)
{
	for (unsigned is_full = 0; is_full < 2; is_full++) {
		struct profile *p = window_new();
		uint32_t wait = add_wait(p, fixture_thread(p, 10, 10, "cron", "cron"), 'S', 9, 1000, "main@cron nanosleep@libc.so.6", SLEEP);

		g_array_index(p->threads, struct thread, 0).to_ns = WINDOW_MS * MS;
		ended_by(p, wait, 0, NULL, "");
		if (is_full)
			profile_add_limit(p, LIMIT_TASKS, 10, 0, "4 processes and threads, of which 4 are there (pids.max)");
		struct explanation *e = explanation_new(p, NULL);

		g_assert_cmpuint(e->headlines->len, ==, is_full);
		if (is_full)
			g_assert_nonnull(strstr(headline_with(e, "cron sleeps")->evidence, "its control group allows 4 processes"));
		explanation_free(e);
		profile_free(p);
	}
}

/* poll() of two descriptors: who reads at the other end makes room, who writes there brings events. */
static void test_room(void)
{
	for (unsigned is_room = 0; is_room < 2; is_room++) {
		struct profile *p = window_new();
		uint32_t sender = thread_of(p, 11, "sync", 10);
		uint32_t wait = add_wait(p, sender, 'S', 400, 20, "main@sync send_files@sync poll@libc.so.6", POLL);

		is_for(p, wait, OBJECT_POLL, "unix socket (line) and 1 more", 20);
		ended_by(p, wait, 99, "main@line read@libc.so.6",
			 is_room ? "__x64_sys_read@[kernel] unix_stream_read_generic@[kernel] sock_wfree@[kernel]" :
				   "__x64_sys_write@[kernel] unix_stream_sendmsg@[kernel] sock_def_readable@[kernel]");
		struct explanation *e = explanation_new(p, NULL);

		if (is_room)
			headline_with(e, "sync waits for a peer that reads too slowly");
		else
			g_assert_cmpuint(e->headlines->len, ==, 0);
		explanation_free(e);
		profile_free(p);
	}
}

static void park_at_monitor(struct profile *p, uint32_t tid, const char *method, uint32_t signaller)
{
	g_autofree char *user = g_strdup_printf("java.lang.Thread.run@jvm Printer.run@jvm %s@jvm java.lang.Object.wait@jvm "
						"JVM_MonitorWait@libjvm.so pthread_cond_timedwait@libc.so.6", method);
	uint32_t thread = thread_of(p, tid, "java", 10);
	uint32_t wait = add_wait(p, thread, 'S', 4, 2000, user, FUTEX);

	is_for(p, wait, (enum object_kind)LOCK_CONDITION, "heap", 10);
	g_array_index(p->objects, struct object, profile_wait(p, wait)->object - 1).addr = tid;
	ended_by(p, wait, 0, NULL, "");
	if (!signaller)
		return;
	wait = add_wait(p, thread, 'S', 1, 500, user, FUTEX);
	is_for(p, wait, (enum object_kind)LOCK_CONDITION, "heap", 10);
	ended_by(p, wait, signaller, "Printer.submit@jvm ObjectMonitor::ExitEpilog@libjvm.so pthread_cond_signal@libc.so.6", "");
}

/* notify() wakes one of those that wait for something else; where it wakes nobody of the class these are tickers. */
static void test_monitor(void)
{
	for (unsigned is_signalled = 0; is_signalled < 2; is_signalled++) {
		struct profile *p = window_new();

		for (uint32_t i = 0; i < 3; i++)
			park_at_monitor(p, 20 + i, "Printer.waitForPaper", is_signalled ? 99 : 0);
		park_at_monitor(p, 30, "Printer.waitForJob", 0);
		add_wait(p, thread_of(p, 31, "java", 100), 'R', 5, 1, "main@jvm", "");
		struct explanation *e = explanation_new(p, NULL);

		g_assert_nonnull(e->little);
		g_assert_cmpint(strstr(e->little, "all waits in Printer.waitForJob timed out (4, after 2.00 s)") != NULL, ==, is_signalled);
		g_assert_cmpint(g_str_has_prefix(e->little, "Little to find"), ==, !is_signalled);
		explanation_free(e);
		profile_free(p);
	}
}

/* Sessions that wait for rows: the server's timer ends it, and then the transaction fails; or it comes to its turn. */
static void test_aborts(void)
{
	static const char sleeps[] = "PostgresMain@postgres heap_update@postgres XactLockTableWait@postgres LockAcquireExtended@postgres "
				     "ProcSleep@postgres WaitLatch@postgres WaitEventSetWait@postgres epoll_wait@libc.so.6";

	for (unsigned fails = 0; fails < 2; fails++) {
		struct profile *p = window_new();
		uint32_t a = thread_of(p, 11, "postgres", 10), b = thread_of(p, 13, "postgres", 10);
		uint32_t timed = add_wait(p, a, 'S', 4, 1000, sleeps, EPOLL), woken = add_wait(p, b, 'S', 4, 990, sleeps, EPOLL);

		is_for(p, timed, OBJECT_EPOLL, "1 pipe, 1 signalfd", 0);
		is_for(p, woken, OBJECT_EPOLL, "1 pipe, 1 signalfd", 0);
		ended_by(p, timed, 0, NULL, "it_real_fn@[kernel] complete_signal@[kernel]");
		ended_by(p, woken, 11, fails ? "PostgresMain@postgres AbortCurrentTransaction@postgres LockReleaseAll@postgres kill@libc.so.6" :
					       "PostgresMain@postgres CommitTransactionCommand@postgres LockReleaseAll@postgres kill@libc.so.6", "");
		struct explanation *e = explanation_new(p, NULL);
		const struct headline *h = headline_with(e, "waits for a lock on a row");

		g_assert_cmpint(strstr(h->advice, "deadlock detected") != NULL, ==, fails);
		explanation_free(e);
		profile_free(p);
	}
}

/* A collection stops threads in whatever they do: one finding, ended by who carries it out, before their short pauses. */
static void test_collection(void)
{
	struct profile *p = window_new();
	uint32_t vm = fixture_thread(p, 10, VM, "VM Thread", "java");
	uint32_t query = thread_of(p, 20, "java", 100), other = thread_of(p, 21, "java", 100);
	uint32_t asks = add_wait(p, query, 'S', 2, 600, "Node.run@jvm Node.answer@jvm VMThread::execute@libjvm.so pthread_cond_wait@libc.so.6",
				 FUTEX);
	uint32_t waits = add_wait(p, other, 'S', 2, 600,
				  "Node.run@jvm Node.load@jvm GenCollectedHeap::mem_allocate_work@libjvm.so Mutex::lock@libjvm.so "
				  "pthread_mutex_lock@libc.so.6", FUTEX);
	uint32_t pauses = add_wait(p, query, 'S', 2800, 3, "Node.run@jvm java.lang.Thread.sleep@jvm JVM_Sleep@libjvm.so "
				   "pthread_cond_timedwait@libc.so.6", FUTEX);

	g_array_index(p->threads, struct thread, vm).to_ns = WINDOW_MS * MS;
	ended_by(p, asks, VM, "VMThread::run@libjvm.so pthread_cond_broadcast@libc.so.6", "");
	ended_by(p, waits, 20, "Node.answer@jvm pthread_mutex_unlock@libc.so.6", "");	/* it passes the heap's lock on */
	ended_by(p, pauses, 0, NULL, "");
	struct explanation *e = explanation_new(p, NULL);
	const struct headline *h = headline_with(e, "waits for an operation of the JVM");

	g_assert_true(h == &g_array_index(e->headlines, struct headline, 0));
	g_assert_cmpuint(h->finding->threads_cnt, ==, 2);
	g_assert_cmpstr(h->finding->by.comm, ==, "VM Thread");
	explanation_free(e);
	profile_free(p);
}

/* What one thread asks for (System.gc()) leads before what that costs all others; one that asks seldom does not. */
static void test_asked_collection(void)
{
	for (unsigned is_often = 0; is_often < 2; is_often++) {
		struct profile *p = window_new();
		uint32_t vm = fixture_thread(p, 10, VM, "VM Thread", "java"), waits[6];

		g_array_index(p->threads, struct thread, vm).to_ns = WINDOW_MS * MS;
		for (uint32_t i = 0; i < 6; i++) {
			waits[i] = add_wait(p, thread_of(p, 20 + i, "java", 100), 'S', i || is_often ? 20 : 2, 200,
					    i ? "Img.run@jvm Img.draw@jvm SafepointSynchronize::block@libjvm.so pthread_cond_wait@libc.so.6" :
						"Img.run@jvm Img.scale@jvm JVM_GC@libjvm.so VMThread::execute@libjvm.so pthread_cond_wait@libc.so.6",
					    FUTEX);
			ended_by(p, waits[i], VM, "VMThread::run@libjvm.so pthread_cond_broadcast@libc.so.6", "");
		}
		struct explanation *e = explanation_new(p, NULL);

		g_assert_nonnull(strstr(g_array_index(e->headlines, struct headline, 0).sentence,
					is_often ? "waits for a garbage collection that it has asked for" : "waits for an operation of the JVM"));
		explanation_free(e);
		profile_free(p);
	}
}

/* Erlang's thread for signals reads a pipe all the time; another thread of that program that does is no such one. */
static void test_signals_of_erlang(void)
{
	static const char *const names[] = { "sys_sig_dispatc", "port_owner" };

	for (size_t i = 0; i < G_N_ELEMENTS(names); i++) {
		struct profile *p = window_new();
		uint32_t thread = fixture_thread(p, 10, 12, names[i], "beam.smp");

		g_array_index(p->threads, struct thread, thread).to_ns = WINDOW_MS * MS;
		uint32_t wait = add_wait(p, thread, 'S', 1, 9900, "?@beam.smp read@libc.so.6", "__x64_sys_read@[kernel] pipe_read@[kernel]");
		struct reasons *r = reasons_new(p, NULL);

		g_assert_cmpint(reasons_of(r, wait), ==, i == 0 ? REASON_POOL_IDLE : REASON_PIPE);
		reasons_free(r);
		profile_free(p);
	}
}

/* select() of no descriptors sleeps; where none of poll()'s objects is known it may be anything. */
static void test_empty_set(void)
{
	for (unsigned knows = 0; knows < 2; knows++) {
		struct profile *p = window_new();
		uint32_t sync = thread_of(p, 11, "sync", 10);
		uint32_t pause = add_wait(p, sync, 'S', 80, 120, "main@sync send@sync limit_rate@sync select@libc.so.6",
					  "__x64_sys_select@[kernel] core_sys_select@[kernel] do_select@[kernel]");
		uint32_t answer = add_wait(p, sync, 'S', 2, 10, "main@sync send@sync wait@sync poll@libc.so.6", POLL);

		p->info.has_objects = true;
		if (knows)
			is_for(p, pause, OBJECT_NOTHING, "no descriptor", 0);
		ended_by(p, pause, 0, NULL, "");
		struct reasons *r = reasons_new(p, NULL);

		g_assert_cmpint(reasons_of(r, pause), ==, knows ? REASON_SLEEP : REASON_EVENT_LOOP);
		g_assert_cmpint(reasons_of(r, answer), !=, REASON_SLEEP);
		reasons_free(r);
		profile_free(p);
	}
}

/* Readers that sleep with the lock have more time than the writer that waits for it, which comes first. */
static void test_sleeps_with_lock(void)
{
	struct profile *p = window_new();
	uint32_t writer = thread_of(p, 11, "quotes", 10);
	uint32_t starved = add_wait(p, writer, 'S', 10, 900, "main@quotes apply@quotes pthread_rwlock_wrlock@libc.so.6", FUTEX);

	is_for(p, starved, (enum object_kind)LOCK_RWLOCK, "quotes_lock", 10);
	for (uint32_t i = 0; i < 5; i++) {
		uint32_t reader = thread_of(p, 20 + i, "reader", 10);

		ended_by(p, add_wait(p, reader, 'S', 250, 35, "main@quotes serve@quotes nanosleep@libc.so.6", SLEEP), 0, NULL, "");
	}
	const struct waker reader = { .pid = 10, .tid = 20, .comm = "reader",
				      .user = fixture_stack(p, FRAME_USER, STACK_COMPLETE, "main@quotes serve@quotes pthread_rwlock_unlock@libc.so.6") };
	profile_add_wake(p, &(struct wake){ .wait = starved, .waker = profile_waker(p, &reader), .count = 10, .blocked_ns = 9000 * MS });
	struct explanation *e = explanation_new(p, NULL);

	g_assert_nonnull(strstr(g_array_index(e->headlines, struct headline, 0).sentence, "quotes_lock"));
	explanation_free(e);
	profile_free(p);
}

/* Work of a stripped libuv's pool that waits with usleep(); a thread of the program's own that sleeps so keeps house. */
static void test_stripped_pool(void)
{
	for (unsigned is_pool = 0; is_pool < 2; is_pool++) {
		struct profile *p = window_new();

		for (uint32_t i = 0; i < 4; i++)
			ended_by(p, add_wait(p, thread_of(p, 20 + i, "poller", 1), 'S', 49, 200,
					     is_pool ? "clone3@libc.so.6 start_thread@libc.so.6 ?@libuv.so.1.0.0 read_device@poller usleep@libc.so.6" :
						       "clone3@libc.so.6 start_thread@libc.so.6 read_device@poller usleep@libc.so.6", SLEEP),
				 0, NULL, "");
		add_wait(p, thread_of(p, 11, "poller", 1), 'S', 190, 50,
			 "main@poller uv_run@libuv.so.1.0.0 ?@libuv.so.1.0.0 epoll_wait@libc.so.6", EPOLL);
		struct explanation *e = explanation_new(p, NULL);

		if (is_pool)
			headline_with(e, "thread pool (libuv): all 4 threads are busy, mostly in read_device");
		else
			g_assert_cmpuint(e->headlines->len, ==, 0);
		explanation_free(e);
		profile_free(p);
	}
}

/* connect() to a Unix socket sends nothing again: its queue is full. */
static void test_full_unix_queue(void)
{
	for (unsigned is_unix = 0; is_unix < 2; is_unix++) {
		struct profile *p = window_new();
		uint32_t wait = add_wait(p, thread_of(p, 11, "router", 10), 'S', 5, 1900, "main@router forward@router connect@libc.so.6",
					 is_unix ? "__x64_sys_connect@[kernel] unix_stream_connect@[kernel] unix_wait_for_peer@[kernel]" :
						   "__x64_sys_connect@[kernel] inet_stream_connect@[kernel] inet_wait_for_connect@[kernel]");

		is_for(p, wait, OBJECT_SOCKET, is_unix ? "unix socket" : "10.0.0.9:80", 0);
		struct explanation *e = explanation_new(p, NULL);
		const struct headline *h = headline_with(e, "waits for a connection to be set up");

		g_assert_cmpint(strstr(h->advice, "SYN") != NULL, ==, !is_unix);
		g_assert_cmpint(strstr(h->advice, "ss -xl") != NULL, ==, is_unix);
		explanation_free(e);
		profile_free(p);
	}
}

static void await_futures(struct profile *p, unsigned cnt)
{
	static const struct task_frame frames[] = { { "handle", "bff.py", 7 } };
	struct tasks *t = tasks_new(TASKS_ASYNCIO, 10);
	bool is_new;
	struct task_row *row = tasks_row(t, 1, &is_new);

	t->program = tasks_string(t, "bff");
	row->state = "waiting";
	row->reason = "a future";
	row->frames = g_memdup2(frames, sizeof(frames));
	row->frame_cnt = G_N_ELEMENTS(frames);
	for (int look = 0; look < 20; look++) {
		for (unsigned i = 0; i < cnt; i++)
			tasks_seen(t, tasks_row(t, 1, &is_new), 1);
		tasks_look_done(t, (uint64_t)(look + 1) * 500 * MS, 500 * MS);
	}
	tasks_finish(t);
	profile_add_tasks(p, t);
}

/* An executor's threads have no rest, also where their work sleeps: more tasks than threads await it, or as many. */
static void test_executor(void)
{
	static const struct { const char *user, *kernel, *says; } cases[] = {
		{ "Thread.run@threading.py _worker@thread.py _WorkItem.run@thread.py fetch@bff.py recv@libc.so.6",
		  "__x64_sys_recvfrom@[kernel] tcp_recvmsg@[kernel] sk_wait_data@[kernel]", "waits for data from the network" },
		{ "Thread.run@threading.py _worker@thread.py _WorkItem.run@thread.py draw@bff.py clock_nanosleep@libc.so.6", SLEEP,
		  "sleeps until a timer in draw" },
		{ "WorkerThread.run@_asyncio.py draw@bff.py clock_nanosleep@libc.so.6", SLEEP, "sleeps until a timer in draw" },
	};

	for (unsigned i = 0; i < G_N_ELEMENTS(cases) * 2; i++) {
		const unsigned cnt = i % 2 ? 10 : 2;
		struct profile *p = window_new();

		for (uint32_t t = 0; t < 2; t++)
			ended_by(p, add_wait(p, thread_of(p, 11 + t, "bff", 10), 'S', 33, 300, cases[i / 2].user, cases[i / 2].kernel), 0, NULL, "");
		await_futures(p, cnt);
		struct explanation *e = explanation_new(p, NULL);

		g_test_message("%s, %u tasks: %s", cases[i / 2].says, cnt, e->little ?: "");
		if (!e->little || cnt == 10) {
			const struct headline *h = headline_with(e, cases[i / 2].says);

			g_assert_cmpint(strstr(h->evidence, "10 tasks await what that pool does") != NULL, ==, cnt == 10);
			g_assert_cmpint(strstr(h->advice, "max_workers") != NULL, ==, cnt == 10);
			g_assert_cmpint(strstr(h->evidence, "no thread of that pool ever waits for work") != NULL, ==, cnt != 10);
		}
		explanation_free(e);
		profile_free(p);
	}
}

/* Two threads of an executor pause all the time, and another waits for work: nothing queues, so that is told as what may be meant. */
static void test_executor_with_room(void)
{
	struct profile *p = window_new();

	for (uint32_t t = 0; t < 2; t++)
		ended_by(p,
			 add_wait(p, thread_of(p, 11 + t, "quota", 10), 'S', 33, 300,
				  "Thread.run@threading.py _worker@thread.py _WorkItem.run@thread.py watch@quota.py clock_nanosleep@libc.so.6",
				  SLEEP),
			 0, NULL, "");
	add_wait(p, thread_of(p, 20, "quota", 10), 'S', 10, 980, "Thread.run@threading.py _worker@thread.py sem_wait@libc.so.6",
		 "__x64_sys_futex@[kernel] futex_wait@[kernel]");
	struct explanation *e = explanation_new(p, NULL);

	g_assert_nonnull(e->little);
	g_test_message("%s", e->little);
	g_assert_nonnull(strstr(e->little, "if this is meant: quota sleeps until a timer in watch"));
	g_assert_nonnull(strstr(e->little, "Other threads of that pool wait for work"));
	g_assert_null(strstr(e->little, "no thread of that pool"));
	explanation_free(e);
	profile_free(p);
}

/* What sampling left out says nothing, so it comes last. */
static void test_left_out(void)
{
	struct profile *p = window_new();
	uint32_t thread = thread_of(p, 11, "api", 10);

	add_wait(p, thread, 'S', 100, 60, "[none-sampled]", "");
	add_wait(p, thread, 'S', 10, 300, "main@api load@api recv@libc.so.6", "__x64_sys_recvfrom@[kernel] tcp_recvmsg@[kernel]");
	struct explanation *e = explanation_new(p, NULL);

	g_assert_cmpuint(e->headlines->len, ==, 2);
	g_assert_nonnull(strstr(g_array_index(e->headlines, struct headline, 0).sentence, "in load"));
	g_assert_nonnull(strstr(g_array_index(e->headlines, struct headline, 1).sentence, "waits that were not looked at"));
	explanation_free(e);
	profile_free(p);
}

/* A handler that waits for a signal keeps its thread from what it did, as collectors of runtimes do; a shell's wait for one is none. */
static void test_stopped_by_runtime(void)
{
	static const char suspends[] = "__x64_sys_rt_sigsuspend@[kernel] sigsuspend@[kernel]";

	for (unsigned in_handler = 0; in_handler < 2; in_handler++) {
		struct profile *p = window_new();

		for (uint32_t i = 0; i < 4; i++) {
			uint32_t wait = add_wait(p, thread_of(p, 11 + i, "sessiond", 100), 'S', 20, 200,
						 in_handler ? "main@sessiond serve@sessiond nanosleep@libc.so.6 __restore_rt@libc.so.6 "
							      "suspend_handler@libgc.so.1 sigsuspend@libc.so.6" :
							      "main@sessiond serve@sessiond sigsuspend@libc.so.6", suspends);
			const struct waker by = { .pid = 10, .tid = 10, .comm = "sessiond",
						  .user = fixture_stack(p, FRAME_USER, STACK_COMPLETE,
									"main@sessiond evict@sessiond GC_collect@libgc.so.1") };
			const struct wake wake = { .wait = wait, .waker = profile_waker(p, &by), .count = 20, .blocked_ns = 4000 * MS };

			p->info.has_wakers = true;
			profile_add_wake(p, &wake);
		}
		struct explanation *e = explanation_new(p, NULL);

		if (in_handler)
			g_assert_nonnull(strstr(headline_with(e, "sessiond is stopped by its own runtime")->evidence, "in evict"));
		else
			g_assert_nonnull(e->little);
		explanation_free(e);
		profile_free(p);
	}
}

/* curl with --limit-rate watches only what wakes it, its own pair of sockets; another program's socket is a peer's. */
static void test_own_rate(void)
{
	for (uint32_t peer = 10; peer <= 11; peer++) {
		struct profile *p = window_new();
		uint32_t wait = add_wait(p, thread_of(p, 10, "curl", 20), 'S', 12, 800,
					 "main@curl curl_easy_perform@libcurl.so.4 curl_multi_poll@libcurl.so.4 poll@libc.so.6",
					 "__x64_sys_poll@[kernel] do_sys_poll@[kernel]");

		is_for(p, wait, OBJECT_SOCKET, peer == 10 ? "unix socket (curl)" : "unix socket (dockerd)", peer);
		ended_by(p, wait, 0, NULL, "");
		struct explanation *e = explanation_new(p, NULL);

		if (peer == 10)
			g_assert_nonnull(strstr(e->little, "if this is meant: curl sleeps to keep to a limit of its own rate"));
		else
			headline_with(e, "waits for data from the network");
		explanation_free(e);
		profile_free(p);
	}
}

/* What a client library's own thread reads is its server's to send; who asked waits for that thread. */
static void test_client_reader(void)
{
	struct profile *p = window_new();
	uint32_t reader = add_wait(p, thread_of(p, 20, "prices", 20), 'S', 50, 190,
				   "java.lang.Thread.run@jvm com.rabbitmq.client.impl.AMQConnection$MainLoop.run@jvm "
				   "com.rabbitmq.client.impl.Frame.readFrom@jvm Java_sun_nio_ch_Net_poll@libnio.so poll@libc.so.6",
				   "__x64_sys_poll@[kernel] do_sys_poll@[kernel]");

	is_for(p, reader, OBJECT_SOCKET, "10.0.0.5:5672 (beam.smp)", 77);
	uint32_t asks = add_wait(p, thread_of(p, 10, "prices", 20), 'S', 1, WINDOW_MS,
				 "Feed.main@jvm Feed.publish@jvm com.rabbitmq.client.impl.ChannelN.waitForConfirms@jvm java.lang.Object.wait@jvm "
				 "ObjectMonitor::wait@libjvm.so pthread_cond_timedwait@libc.so.6", "__x64_sys_futex@[kernel] futex_wait@[kernel]");

	g_array_index(p->waits, struct wait, asks).flags = WAIT_OPEN_AT_START | WAIT_OPEN_AT_END;
	struct explanation *e = explanation_new(p, NULL);

	g_assert_cmpuint(e->headlines->len, ==, 1);
	headline_with(e, "prices waits for an answer of its broker, or for the broker to take what it sends in Feed.publish");
	explanation_free(e);
	profile_free(p);
}

/* Who sleeps for a moment again and again looks whether there is room; a clock ticks more slowly. */
static void test_short_sleeps(void)
{
	for (unsigned is_clock = 0; is_clock < 2; is_clock++) {
		struct profile *p = window_new();
		uint32_t wait = add_wait(p, thread_of(p, 11, "matchd", 200), 'S', is_clock ? 3000 : 90000, 3,
					 "main@matchd submit@matchd publish@matchd wait_for_space@matchd clock_nanosleep@libc.so.6", SLEEP);

		g_array_index(p->waits, struct wait, wait).blocked_ns = 9000 * MS;
		ended_by(p, wait, 0, NULL, "");
		struct explanation *e = explanation_new(p, NULL);

		g_assert_cmpint(e->little && strstr(e->little, "a clock that ticks may stay"), ==, is_clock);
		g_assert_cmpint(e->headlines->len && strstr(g_array_index(e->headlines, struct headline, 0).advice, "wait for that instead") &&
				!e->little, ==, !is_clock);
		explanation_free(e);
		profile_free(p);
	}
}

/* A clock of which one sleep's kernel stack was lost. */
static void test_clock_of_lost_stack(void)
{
	static const char ticks[] = "main@feed loop@feed tick@feed step@feed clock_nanosleep@libc.so.6";
	struct profile *p = window_new();
	uint32_t thread = thread_of(p, 11, "feed", 20);

	ended_by(p, add_wait(p, thread, 'S', 17, 500, ticks, SLEEP), 0, NULL, "");
	add_wait(p, thread, 'S', 2, 500, ticks, "?@[kernel]");
	struct explanation *e = explanation_new(p, NULL);

	g_assert_nonnull(e->little);
	g_assert_nonnull(strstr(e->little, "a clock that ticks may stay"));
	explanation_free(e);
	profile_free(p);
}

static void see(struct tasks *t, uint64_t key, const char *state, const char *reason, const char *call, const char *function, unsigned cnt)
{
	const struct task_frame frames[] = { { call, NULL, 0 }, { function, "main.go", 4 } };
	bool is_new;
	struct task_row *row = tasks_row(t, key, &is_new);

	if (is_new) {
		row->state = state;
		row->reason = reason;
		row->frames = g_memdup2(frames, sizeof(frames));
		row->frame_cnt = G_N_ELEMENTS(frames);
	}
	for (unsigned i = 0; i < cnt; i++)
		tasks_seen(t, row, 1);
}

/* Handlers wait for a mutex while a snapshot is written, and else sleep; or the snapshot is written at other times. */
static void test_holder_of_tasks(void)
{
	for (unsigned is_holder = 0; is_holder < 2; is_holder++) {
		struct profile *p = window_new();
		struct tasks *t = tasks_new(TASKS_GO, profile_thread(p, thread_of(p, 30, "gateway", 10))->pid);

		t->program = tasks_string(t, "gateway");
		for (unsigned look = 0; look < 40; look++) {
			const bool waits = look % 4 == 0;

			see(t, 1, "waiting", "semacquire", "sync.(*Mutex).Lock", "main.handleUpdate", waits ? 6 : 0);
			see(t, 2, "waiting", "sleep", "time.Sleep", "main.handleUpdate", waits ? 0 : 6);
			see(t, 3, "syscall", NULL, "os.(*File).Sync", "main.writeSnapshot", waits == is_holder && look % 4 < 2 ? 1 : 0);
			tasks_look_done(t, (uint64_t)(look + 1) * 250 * MS, 250 * MS);
		}
		tasks_finish(t);
		profile_add_tasks(p, t);
		struct explanation *e = explanation_new(p, NULL);
		const struct headline *h = headline_with(e, "wait for a mutex in main.handleUpdate");

		g_assert_cmpint(strstr(h->evidence, "when they wait, 1 goroutine is in os.(*File).Sync in main.writeSnapshot") != NULL, ==,
				is_holder);
		explanation_free(e);
		profile_free(p);
	}
}

/* Handlers wait for a lock, in whose call, or past it, threads write to the disk; or these write elsewhere. */
static void test_sync_under_lock(void)
{
	static const struct task_frame frames[] = {
		{ "sync.(*Mutex).Lock", "mutex.go", 90 },
		{ "go.etcd.io/bbolt.(*DB).Update", "/root/go/pkg/mod/go.etcd.io/bbolt@v1.3.7/db.go", 725 },
		{ "main.appendEvent", "main.go", 5 },
	};

	static const struct { const char *user, *evidence; } cases[] = {
		{ "main.appendEvent@events go.etcd.io/bbolt.(*DB).Update@events syscall.Fdatasync@events", "in that call threads wait 4.00 s for " },
		{ "main.appendEvent@events os.(*File).Sync@events syscall.Fdatasync@events", "in that function threads wait 4.00 s for " },
		{ "main.snapshot@events go.etcd.io/bbolt.(*DB).Update@events syscall.Fdatasync@events", NULL },
	};

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		const bool is_there = cases[i].evidence;
		struct profile *p = window_new();
		const uint32_t thread = thread_of(p, 30, "events", 10);
		struct tasks *t = tasks_new(TASKS_GO, profile_thread(p, thread)->pid);
		bool is_new;
		struct task_row *row = tasks_row(t, 1, &is_new);

		add_wait(p, thread, 'D', 4000, 1, cases[i].user, "__x64_sys_fdatasync@[kernel] ext4_sync_file@[kernel]");
		t->program = tasks_string(t, "events");
		row->state = "waiting";
		row->reason = "semacquire";
		row->frames = g_memdup2(frames, sizeof(frames));
		row->frame_cnt = G_N_ELEMENTS(frames);
		for (unsigned look = 0; look < 40; look++) {
			tasks_seen(t, row, 12);
			tasks_look_done(t, (uint64_t)(look + 1) * 250 * MS, 250 * MS);
		}
		tasks_finish(t);
		profile_add_tasks(p, t);
		struct explanation *e = explanation_new(p, NULL);
		const struct headline *h = headline_with(e, "wait for a mutex in main.appendEvent");

		g_test_message("%s / %s", h->evidence, h->advice);
		g_assert_cmpint(strstr(h->evidence, is_there ? cases[i].evidence : "threads wait") != NULL, ==, is_there);
		g_assert_cmpint(strstr(h->advice, "one fsync serves many") != NULL, ==, is_there);
		g_assert_cmpuint(e->headlines->len, ==, is_there ? 1 : 2);
		explanation_free(e);
		profile_free(p);
	}
}

/* Threads of .NET whose methods have no names look like workers without work. */
static void test_nameless_dotnet(void)
{
	static const struct {
		const char *user;
		bool is_said;
	} waits[] = {
		{ "?@[anon] pthread_cond_wait@libc.so.6", true },
		{ "Shop::Pay@[jit] pthread_cond_wait@libc.so.6", false },
	};

	for (size_t i = 0; i < G_N_ELEMENTS(waits); i++) {
		struct profile *p = window_new();

		thread_of(p, 31, ".NET SynchManag", 0);
		add_wait(p, thread_of(p, 30, "shop", 10), 'S', 30, 290, waits[i].user, FUTEX);
		struct explanation *e = explanation_new(p, NULL);

		g_assert_cmpint(e->unseen && strstr(e->unseen, "which have no names here"), ==, waits[i].is_said);
		explanation_free(e);
		profile_free(p);
	}
}

/* A lone thread that asks somebody at each turn of its loop may be refused; one that asks once is a clock. */
static void test_asks_between_pauses(void)
{
	for (unsigned is_asking = 0; is_asking < 2; is_asking++) {
		struct profile *p = window_new();
		uint32_t thread = thread_of(p, 10, "report", 20);

		ended_by(p, add_wait(p, thread, 'S', 4, 2400, "main@report nanosleep@libc.so.6", SLEEP), 0, NULL, "");
		is_for(p, add_wait(p, thread, 'S', is_asking ? 4 : 1, 5, "main@report ask@report recv@libc.so.6",
				   "__x64_sys_recvfrom@[kernel] tcp_recvmsg@[kernel]"), OBJECT_SOCKET, "10.0.0.5:5432", 0);
		struct explanation *e = explanation_new(p, NULL);

		g_assert_nonnull(e->little);
		g_assert_cmpint(!!strstr(e->little, "between its sleeps it asks 10.0.0.5:5432: a clock, a look"), ==, is_asking);
		explanation_free(e);
		profile_free(p);
	}
}

/* TCP says that a client's window was closed, or not: only then the client reads slowly. */
static void test_slow_client(void)
{
	for (unsigned is_slow = 0; is_slow < 2; is_slow++) {
		struct profile *p = window_new();
		uint32_t wait = add_wait(p, thread_of(p, 10, "mirror", 20), 'S', 5, 1900, "main@mirror stream@mirror send@libc.so.6",
					 "__x64_sys_sendto@[kernel] tcp_sendmsg@[kernel] sk_stream_wait_memory@[kernel]");

		is_for(p, wait, OBJECT_SOCKET, ":80 from 10.0.0.9", 0);
		profile_add_tcp_wait(p, &(struct tcp_wait){ .object = profile_wait(p, wait)->object - 1, .direction = TCP_WAIT_SEND,
							    .count = 5, .blocked_ns = 9500 * MS, .peer_ns = is_slow ? 9000 * MS : 0 });
		struct explanation *e = explanation_new(p, NULL);
		const struct headline *h = headline_with(e, "waits for a peer that reads too slowly, :80 from 10.0.0.9");

		g_assert_cmpint(!!strstr(h->sentence, "the peer reads slowly"), ==, is_slow);
		g_assert_cmpint(g_str_has_prefix(h->advice, "Whoever reads at the other end"), ==, is_slow);
		explanation_free(e);
		profile_free(p);
	}
}

/* A loop's few connections: each request asks once there, so others queue; or many times, one after the other. */
static void test_questions_of_a_request(void)
{
	for (unsigned are_many = 0; are_many < 2; are_many++) {
		struct profile *p = window_new();
		uint32_t wait = add_wait(p, thread_of(p, 10, "timeline", 20), 'S', 1200, 8, "main@timeline uv_run@timeline epoll_wait@libc.so.6",
					 "__x64_sys_epoll_wait@[kernel] ep_poll@[kernel]");
		const struct waker server = { .pid = 30, .tid = 30, .comm = "store" }, client = { .pid = 40, .tid = 40, .comm = "curl" };

		is_for(p, wait, OBJECT_EPOLL, "3 sockets (fd 3 of timeline) -> 10.0.0.5:6380 (store)", 30);
		profile_add_limit(p, LIMIT_POOL, 10, 0, "1 of 1 connections to 10.0.0.5:6380, for 9 from clients, of which 9 wait");
		p->info.has_wakers = true;
		profile_add_wake(p, &(struct wake){ .wait = wait, .waker = profile_waker(p, &server), .count = are_many ? 1150 : 600,
						    .blocked_ns = 9000 * MS });
		profile_add_wake(p, &(struct wake){ .wait = wait, .waker = profile_waker(p, &client), .count = are_many ? 50 : 600,
						    .blocked_ns = 600 * MS });
		struct explanation *e = explanation_new(p, NULL);
		const struct headline *h = headline_with(e, "timeline has one connection to 10.0.0.5:6380");

		g_assert_cmpint(strstr(h->advice, "ask for many at a time") != NULL, ==, are_many);
		g_assert_cmpint(strstr(h->advice, "a lock or queue of its own") != NULL, ==, !are_many);
		explanation_free(e);
		profile_free(p);
	}
}

/* A loop's connections to a database are kept while another server is asked, which ends the waits; or that one is seldom asked. */
static void test_pool_kept_meanwhile(void)
{
	for (unsigned is_kept = 0; is_kept < 2; is_kept++) {
		struct profile *p = window_new();
		uint32_t wait = add_wait(p, thread_of(p, 10, "profile", 20), 'S', 1200, 8, "main@profile uv_run@profile epoll_wait@libc.so.6",
					 "__x64_sys_epoll_wait@[kernel] ep_poll@[kernel]");
		const struct waker avatar = { .pid = 30, .tid = 30, .comm = "avatar" }, store = { .pid = 40, .tid = 40, .comm = "store" };

		is_for(p, wait, OBJECT_EPOLL, "9 sockets (fd 3 of profile) -> 10.0.0.5:3306 (store)", 40);
		profile_add_limit(p, LIMIT_POOL, 10, 0, "2 of 4 connections to 10.0.0.5:3306, for 8 from clients, of which 8 wait");
		profile_add_limit(p, LIMIT_OWED, 10, 0, "8 clients wait, 2 connections to 10.0.0.7:80 (avatar)");
		p->info.has_wakers = true;
		profile_add_wake(p, &(struct wake){ .wait = wait, .waker = profile_waker(p, &avatar), .count = 600,
						    .blocked_ns = (is_kept ? 9000 : 600) * MS });
		profile_add_wake(p, &(struct wake){ .wait = wait, .waker = profile_waker(p, &store), .count = 600,
						    .blocked_ns = (is_kept ? 600 : 9000) * MS });
		struct explanation *e = explanation_new(p, NULL);
		const struct headline *h = headline_with(e, is_kept ? "an answer from 10.0.0.7:80 (avatar)" : "2 connections to 10.0.0.5:3306");

		g_assert_cmpint(strstr(h->evidence, "with 2 connections to there, and 2 to 10.0.0.5:3306 (store)") != NULL, ==, is_kept);
		g_assert_cmpint(strstr(h->advice, "give it back before asking") != NULL, ==, is_kept);
		explanation_free(e);
		profile_free(p);
	}
}

/* Datagrams that nobody reads in time are told with what the reader does meanwhile, which is no clock then. */
static void test_drops(void)
{
	for (int is_dropped = 0; is_dropped < 2; is_dropped++) {
		struct profile *p = window_new();
		const uint32_t wait = add_wait(p, thread_of(p, 10, "logd", 10), 'S', 2000, 4, "main@logd archive@logd usleep@libc.so.6",
					       SLEEP);

		p->info.has_wakers = true;
		p->info.filters = profile_string(p, "process 10");
		ended_by(p, wait, 0, NULL, "");
		if (is_dropped)
			profile_add_limit(p, LIMIT_DROPPED, 10, 0, "8088 datagrams dropped at :7892");
		struct explanation *e = explanation_new(p, NULL);
		const struct headline *first = e->headlines->len ? &g_array_index(e->headlines, struct headline, 0) : NULL;

		g_test_message("%s: %s", first ? first->sentence : e->little, first ? first->evidence : "");
		g_assert_cmpint(first != NULL, ==, is_dropped);
		if (first) {
			g_assert_nonnull(strstr(first->evidence, "meanwhile 8,088 datagrams at :7892 were dropped, as nobody read them in time"));
			g_assert_true(g_str_has_prefix(first->advice, "Datagrams come faster than they are read"));
		}
		explanation_free(e);
		profile_free(p);
	}
}

static void is_for_socket(struct profile *p, uint32_t wait, const char *name, const char *place, uint32_t pid)
{
	const struct object o = { .kind = OBJECT_SOCKET, .name = name, .place = place, .operation = "", .pid = pid };

	fixture_is_for(p, wait, &o);
}

/* Idle connections keep the threads that serve, while others wait; a thread without work would serve these. */
static void test_kept_by_idle_clients(void)
{
	for (unsigned has_free = 0; has_free < 2; has_free++) {
		struct profile *p = window_new();
		uint32_t free = thread_of(p, 13, "app", 0);

		for (uint32_t t = 0; t < 2; t++) {
			uint32_t wait = add_wait(p, thread_of(p, 14 + t, "app", 1), 'S', 20, 490, "start_thread@libc.so.6 work@app next@app recv@libc.so.6",
						 "__x64_sys_recvfrom@[kernel] tcp_recvmsg@[kernel]");

			is_for_socket(p, wait, ":80 from 127.0.0.1", "tcp", 0);
			p->info.has_wakers = true;
		}
		if (has_free)
			ended_by(p, add_wait(p, free, 'S', 10, 900, "start_thread@libc.so.6 work@app take@app pthread_cond_wait@libc.so.6", FUTEX), 10,
				 "main@app give@app pthread_cond_signal@libc.so.6", "");
		add_wait(p, free, 'D', 10, 2, "start_thread@libc.so.6 work@app save@app fsync@libc.so.6", "__x64_sys_fsync@[kernel] io_schedule@[kernel]");
		profile_add_limit(p, LIMIT_OWED, 10, 0, "8 clients wait, 0 connections to nobody");
		struct explanation *e = explanation_new(p, NULL);

		g_assert_nonnull(e->little);
		g_assert_true(g_str_has_prefix(e->little, "8 clients of app waited for answers as the recording ended"));
		g_assert_cmpint(strstr(e->little, "Its threads that serve (2) wait for requests of other clients") != NULL, ==, !has_free);
		explanation_free(e);
		profile_free(p);
	}
}

/* Who reads what another thread of its process writes waits for what that one waits for. */
static void test_for_own_thread(void)
{
	for (unsigned is_clock = 0; is_clock < 2; is_clock++) {
		struct profile *p = window_new();
		uint32_t writer = thread_of(p, 11, "app", 10);
		uint32_t reads = add_wait(p, thread_of(p, 12, "app", 10), 'S', 90, 100, "start_thread@libc.so.6 serve@app recv@libc.so.6",
					  "__x64_sys_recvfrom@[kernel] unix_stream_read_generic@[kernel]");

		is_for_socket(p, reads, "unix socket (app)", "unix", 10);
		ended_by(p, reads, 11, "start_thread@libc.so.6 ask@app work@app send@libc.so.6", "");
		if (is_clock)
			ended_by(p, add_wait(p, writer, 'S', 90, 100, "start_thread@libc.so.6 ask@app work@app pace@app usleep@libc.so.6", SLEEP), 0, NULL, "");
		else
			add_wait(p, writer, 'D', 88, 100, "start_thread@libc.so.6 ask@app work@app fsync@libc.so.6",
				 "__x64_sys_fsync@[kernel] io_schedule@[kernel]");
		struct explanation *e = explanation_new(p, NULL);

		if (is_clock)
			g_assert_nonnull(e->little);
		else
			g_assert_nonnull(strstr(g_array_index(e->headlines, struct headline, 0).sentence, "(fsync)"));
		explanation_free(e);
		profile_free(p);
	}
}

/* A condition's only waiter that always has its time, and then computes, may have missed a signal; with nothing to do it ticks. */
static void test_timed_out_alone(void)
{
	for (unsigned computes = 0; computes < 2; computes++) {
		struct profile *p = window_new();
		uint32_t wait = add_wait(p, thread_of(p, 11, "app", computes ? 200 : 1), 'S', 20, 400,
					 "start_thread@libc.so.6 print_worker@app pthread_cond_timedwait@libc.so.6", FUTEX);

		is_for(p, wait, (enum object_kind)LOCK_CONDITION, "cv", 0);
		ended_by(p, wait, 0, NULL, "");
		add_wait(p, thread_of(p, 13, "app", 5), 'D', 10, 2, "main@app save@app fsync@libc.so.6", "__x64_sys_fsync@[kernel] io_schedule@[kernel]");
		struct explanation *e = explanation_new(p, NULL);

		g_assert_nonnull(e->little);
		g_assert_cmpint(strstr(e->little, "cv, in print_worker; all 20 waits timed out, after 400 ms") != NULL, ==, computes);
		explanation_free(e);
		profile_free(p);
	}
}

/* One thread of a command computes what another one, which has no work meanwhile, computes, too: share it out. */
static void test_uneven(void)
{
	for (unsigned is_even = 0; is_even < 2; is_even++) {
		struct profile *p = window_new();
		uint32_t busy = thread_of(p, 10, "mesh", 3000), other = thread_of(p, 11, "mesh", is_even ? 3000 : 300);

		p->info.filters = profile_string(p, "command mesh-solver");
		add_wait(p, busy, 'R', 500, 12, "main@mesh solve@mesh relax_cell@mesh", "");
		g_array_index(p->threads, struct thread, busy).preempted_ns = 6000 * MS;
		add_wait(p, other, 'R', 100, is_even ? 60 : 6, "start_thread@libc.so.6 relax_cell@mesh", "");
		g_array_index(p->threads, struct thread, other).preempted_ns = (is_even ? 6000 : 600) * MS;
		ended_by(p, add_wait(p, other, 'S', 4, is_even ? 200 : 2200, "start_thread@libc.so.6 pthread_cond_wait@libc.so.6", FUTEX), 10,
			 "main@mesh solve@mesh pthread_cond_signal@libc.so.6", "");
		struct explanation *e = explanation_new(p, NULL);

		if (is_even)
			g_assert_true(!e->headlines->len || !strstr(headline_with(e, "waits for a CPU")->advice, "smaller pieces"));
		else
			g_assert_nonnull(strstr(headline_with(e, "waits for a CPU")->advice, "smaller pieces"));
		explanation_free(e);
		profile_free(p);
	}
}

/* Few answers that take many times as long as others are most of the time; where all take as long none is told apart. */
static void test_slow_tail(void)
{
	for (unsigned is_even = 0; is_even < 2; is_even++) {
		struct profile *p = window_new();
		uint32_t wait = add_wait(p, thread_of(p, 11, "fan", 10), 'S', 20, 250, "main@fan query@fan recv@libc.so.6",
					 "__x64_sys_recvfrom@[kernel] tcp_recvmsg@[kernel]");
		struct wait *w = &g_array_index(p->waits, struct wait, wait);

		is_for_socket(p, wait, "10.0.0.7:80", "tcp", 0);
		w->count += 60;
		w->blocked_ns += 60 * (is_even ? 50 : 10) * MS;
		w->hist[profile_hist_slot(is_even ? 250 * MS : 10 * MS)] += 60;
		struct explanation *e = explanation_new(p, NULL);

		g_assert_cmpint(g_str_has_prefix(headline_with(e, "waits for data from the network")->advice, "Most answers come soon"), ==, !is_even);
		explanation_free(e);
		profile_free(p);
	}
}

/* Idle threads of Go say nothing of its goroutines, unless these were looked at, and not those of another process. */
static void test_goroutines_unseen(void)
{
	for (unsigned looked = 0; looked < 2; looked++) {
		struct profile *p = window_new();

		p->info.has_tasks = true;
		profile_add_tasks(p, tasks_new(TASKS_GO, looked ? 10 : 11));
		add_wait(p, thread_of(p, 30, "shop", 10), 'S', 30, 290, "runtime.mstart@shop runtime.findRunnable@shop runtime.stopm@shop "
			 "runtime.futexsleep@shop", FUTEX);
		struct explanation *e = explanation_new(p, NULL);

		g_assert_cmpint(e->unseen != NULL, ==, !looked);
		g_assert_true(looked || strstr(e->unseen, "Not seen: goroutines of shop (10) that wait"));
		explanation_free(e);
		profile_free(p);
	}
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/explain/descriptors", test_descriptors);
	g_test_add_func("/explain/processes", test_processes);
	g_test_add_func("/explain/room", test_room);
	g_test_add_func("/explain/monitor", test_monitor);
	g_test_add_func("/explain/aborts", test_aborts);
	g_test_add_func("/explain/collection", test_collection);
	g_test_add_func("/explain/asked-collection", test_asked_collection);
	g_test_add_func("/explain/signals-of-erlang", test_signals_of_erlang);
	g_test_add_func("/explain/empty-set", test_empty_set);
	g_test_add_func("/explain/sleeps-with-lock", test_sleeps_with_lock);
	g_test_add_func("/explain/stripped-pool", test_stripped_pool);
	g_test_add_func("/explain/full-unix-queue", test_full_unix_queue);
	g_test_add_func("/explain/holder-of-tasks", test_holder_of_tasks);
	g_test_add_func("/explain/sync-under-lock", test_sync_under_lock);
	g_test_add_func("/explain/executor", test_executor);
	g_test_add_func("/explain/left-out", test_left_out);
	g_test_add_func("/explain/executor-with-room", test_executor_with_room);
	g_test_add_func("/explain/stopped-by-runtime", test_stopped_by_runtime);
	g_test_add_func("/explain/short-sleeps", test_short_sleeps);
	g_test_add_func("/explain/own-rate", test_own_rate);
	g_test_add_func("/explain/client-reader", test_client_reader);
	g_test_add_func("/explain/asks-between-pauses", test_asks_between_pauses);
	g_test_add_func("/explain/slow-client", test_slow_client);
	g_test_add_func("/explain/questions-of-a-request", test_questions_of_a_request);
	g_test_add_func("/explain/clock-of-lost-stack", test_clock_of_lost_stack);
	g_test_add_func("/explain/nameless-dotnet", test_nameless_dotnet);
	g_test_add_func("/explain/pool-kept-meanwhile", test_pool_kept_meanwhile);
	g_test_add_func("/explain/drops", test_drops);
	g_test_add_func("/explain/kept-by-idle-clients", test_kept_by_idle_clients);
	g_test_add_func("/explain/for-own-thread", test_for_own_thread);
	g_test_add_func("/explain/timed-out-alone", test_timed_out_alone);
	g_test_add_func("/explain/uneven", test_uneven);
	g_test_add_func("/explain/slow-tail", test_slow_tail);
	g_test_add_func("/explain/goroutines-unseen", test_goroutines_unseen);
	return g_test_run();
}
