/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* What is told of waits that nobody ended in the whole window. */
#include "window.h"

#include "features/tasks/rows.h"

static void goes_on(struct profile *p, uint32_t wait)
{
	p->info.filters = profile_string(p, "process app");
	g_array_index(p->waits, struct wait, wait).flags = WAIT_OPEN_AT_START | WAIT_OPEN_AT_END;
}

/* Who should end such a wait does not do it at all; a standby's ranks behind what else somebody waits for. */
static void test_unended(void)
{
	static const struct { const char *user, *kernel, *says, *advice; bool may_be_meant; } cases[] = {
		{ "main@app borrow@app java.util.concurrent.Semaphore.acquire@jvm Unsafe_Park@libjvm.so pthread_cond_wait@libc.so.6",
		  "__x64_sys_futex@[kernel] futex_wait@[kernel]", "waits for a semaphore in borrow", "Nobody raised it", true },
		{ "main@app await@app java.util.concurrent.CompletableFuture.get@jvm Unsafe_Park@libjvm.so pthread_cond_wait@libc.so.6",
		  "__x64_sys_futex@[kernel] futex_wait@[kernel]", "waits for the result of a task in await", "No result came", true },
		{ "main@app meet@app pthread_barrier_wait@libc.so.6", "__x64_sys_futex@[kernel] futex_wait@[kernel]",
		  "waits for the other threads at a barrier in meet", "Nobody else came", true },
		{ "main@app ask@app read@libc.so.6", "__x64_sys_read@[kernel] n_tty_read@[kernel]", "waits for a terminal in ask", "Nobody typed",
		  true },
		{ "main@app put@app std::sync::mpmc::array::Channel<T>::send@app syscall@libc.so.6", "__x64_sys_futex@[kernel] futex_wait@[kernel]",
		  "waits for room in a full channel in put", "Nobody took anything from it", false },
		{ "main@app push@app open@libc.so.6", "__x64_sys_openat@[kernel] fifo_open@[kernel] wait_for_partner@[kernel]",
		  "waits for somebody to open the other end of a named pipe in push", "No program has the other end open", false },
		{ "PostgresMain@postgres pg_advisory_lock_int8@postgres ProcSleep@postgres WaitLatch@postgres epoll_wait@libc.so.6",
		  "__x64_sys_epoll_wait@[kernel] ep_poll@[kernel]", "waits for an advisory lock (PostgreSQL)", "locktype advisory", true },
	};

	for (gsize i = 0; i < G_N_ELEMENTS(cases) * 2; i++) {
		const bool is_ended = i % 2;
		struct profile *p = window_new();
		uint32_t app = thread_of(p, 11, "app", 10);
		uint32_t wait = add_wait(p, app, 'S', 1, is_ended ? 8000 : WINDOW_MS, cases[i / 2].user, cases[i / 2].kernel);
		const struct waker waker = { .pid = 99, .tid = 99, .comm = "other" };
		const struct wake wake = { .wait = wait, .waker = profile_waker(p, &waker), .count = 1, .blocked_ns = 8000 * MS };

		p->info.has_wakers = true;
		add_wait(p, thread_of(p, 12, "disk", 10), 'D', 100, 40, "main@disk save@disk fsync@libc.so.6",
			 "__x64_sys_fsync@[kernel] jbd2_log_wait_commit@[kernel]");
		if (is_ended)
			profile_add_wake(p, &wake);
		else
			goes_on(p, wait);
		struct explanation *e = explanation_new(p, NULL);
		const struct headline *h = headline_with(e, cases[i / 2].says);
		const bool is_first = h == &g_array_index(e->headlines, struct headline, 0);

		if (strcmp(cases[i / 2].advice, "locktype advisory") != 0)
			g_assert_cmpint(strstr(h->advice, cases[i / 2].advice) == NULL, ==, is_ended);
		g_assert_cmpint(is_first, ==, is_ended || !cases[i / 2].may_be_meant);
		g_assert_cmpint(h->whole_ns && g_ascii_isdigit(*h->sentence), ==, is_first);
		explanation_free(e);
		profile_free(p);
	}
}

static const char receives[] = "main@app next_job@app recv@libc.so.6",
		  receives_in[] = "__x64_sys_recvfrom@[kernel] tcp_recvmsg@[kernel] wait_woken@[kernel]",
		  reads[] = "main@app next_line@app read@libc.so.6",
		  reads_in[] = "__x64_sys_read@[kernel] vfs_read@[kernel] anon_pipe_read@[kernel]",
		  waits_for_child[] = "main@app reap@app wait4@libc.so.6", waits_in[] = "__x64_sys_wait4@[kernel] do_wait@[kernel]",
		  takes[] = "main@app take@app java.util.concurrent.Semaphore.acquire@jvm Unsafe_Park@libjvm.so pthread_cond_wait@libc.so.6",
		  takes_in[] = "__x64_sys_futex@[kernel] futex_wait@[kernel]",
		  sleeps_in[] = "__x64_sys_nanosleep@[kernel] do_nanosleep@[kernel]";

/* Of what nothing tells whether it is meant nobody is told that it matters, unless somebody waits for that process. */
static void test_meant(void)
{
	static const struct {
		const char *user, *kernel;
		struct object object;
		uint64_t count, each_ms, longest_ms;
		enum profile_limit_kind limit;
		const char *limit_text;
		bool is_meant;
	} cases[] = {
		{ takes, takes_in, { .kind = LOCK_PARK, .name = "" }, 1, WINDOW_MS, 0, LIMIT_KIND_COUNT, NULL, true },
		{ takes, takes_in, { .kind = LOCK_PARK, .name = "" }, 1, WINDOW_MS, 0, LIMIT_BACKLOG, "3 connections wait at :80", false },
		{ receives, receives_in, { .kind = OBJECT_SOCKET, .name = "10.0.0.5:9092", .pid = 0 }, 4, 2400, 2500, LIMIT_KIND_COUNT, NULL, false },
		{ receives, receives_in, { .kind = OBJECT_SOCKET, .name = "10.0.0.5:9092", .pid = 0 }, 4, 2490, 2500, LIMIT_KIND_COUNT, NULL, true },
		{ receives, receives_in, { .kind = OBJECT_SOCKET, .name = "10.0.0.5:9092", .pid = 0 }, 20, 500, 500, LIMIT_KIND_COUNT, NULL, false },
		{ reads, reads_in, { .kind = OBJECT_PIPE, .name = "pipe from app.sh", .pid = 77 }, 12, 800, 0, LIMIT_KIND_COUNT, NULL, true },
		{ reads, reads_in, { .kind = OBJECT_PIPE, .name = "pipe from app.sh", .pid = 77 }, 6, 800, 0, LIMIT_KIND_COUNT, NULL, false },
		{ reads, reads_in, { .kind = OBJECT_PIPE, .name = "pipe from app.sh", .pid = 77 }, 12, 800, 0, LIMIT_CHILD, "77 sleeps 0 - app.sh", false },
		{ reads, reads_in, { .kind = OBJECT_PIPE, .name = "pipe from app.sh", .pid = 77 }, 10, 1000, 1000, LIMIT_CHILD, "77 sleeps 0 - app.sh", true },
		{ "main@app next_note@app msgrcv@libc.so.6", "__x64_sys_msgrcv@[kernel] do_msgrcv@[kernel]", { .kind = OBJECT_FILE, .name = "" }, 12, 800,
		  0, LIMIT_KIND_COUNT, NULL, true },
		{ waits_for_child, waits_in, { .kind = OBJECT_CHILD, .name = "any" }, 1, WINDOW_MS, 0, LIMIT_CHILD, "77 several 0 - worker", true },
		{ waits_for_child, waits_in, { .kind = OBJECT_CHILD, .name = "any" }, 1, WINDOW_MS, 0, LIMIT_CHILD, "77 network 0 10.0.0.5:80 curl", false },
	};

	for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
		struct profile *p = window_new();
		uint32_t app = thread_of(p, 11, "app", 10), wait = add_wait(p, app, 'S', cases[i].count, cases[i].each_ms, cases[i].user, cases[i].kernel);
		struct object o = cases[i].object;
		const struct waker waker = { .pid = 77, .tid = 77, .comm = "app.sh" };
		const struct wake wake = { .wait = wait, .waker = profile_waker(p, &waker), .count = cases[i].count, .blocked_ns = 9000 * MS };

		o.operation = o.place = "";
		fixture_is_for(p, wait, &o);
		if (cases[i].longest_ms)
			g_array_index(p->waits, struct wait, wait).max_ns = cases[i].longest_ms * MS;
		p->info.has_wakers = true;
		if (cases[i].count == 1)
			goes_on(p, wait);
		else
			profile_add_wake(p, &wake);
		if (cases[i].limit_text)
			profile_add_limit(p, cases[i].limit, 10, 0, cases[i].limit_text);
		struct explanation *e = explanation_new(p, NULL);

		g_test_message("%s", e->little ?: "a headline");
		g_assert_cmpint(e->little && strstr(e->little, "if this is meant: app waits for"), ==, cases[i].is_meant);
		g_assert_cmpint(e->findings->matters_ns == 0, ==, cases[i].is_meant);
		explanation_free(e);
		profile_free(p);
	}
}

/*
 * Long polls that an end of the window cuts off, and rests of their answers: the one that lies whole in it tells if it is
 * exact, and nothing else is waited for.
 */
static void test_few_polls(void)
{
	static const struct { uint64_t open_ms, whole_ms, rest_ms; bool is_meant; } cases[] = {
		{ 3750, 5000, 40, true }, { 3750, 5000, 0, true }, { 3750, 4960, 40, false }, { 5100, 5000, 40, false }, { 0, 5000, 40, false },
	};
	const struct object there = { .kind = OBJECT_SOCKET, .operation = "", .place = "tcp", .name = "10.0.0.5:80" };

	for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
		struct profile *p = window_new();
		uint32_t app = thread_of(p, 11, "app", 10), object = profile_object(p, &there) + 1;
		const uint64_t each_ms[] = { cases[i].open_ms, cases[i].whole_ms, cases[i].rest_ms, WINDOW_MS - cases[i].open_ms - cases[i].whole_ms };
		static const uint8_t flags[] = { WAIT_OPEN_AT_START, 0, 0, WAIT_OPEN_AT_END };

		p->info.filters = profile_string(p, "process app");
		for (gsize k = 0; k < G_N_ELEMENTS(each_ms); k++) {
			if (!each_ms[k] || (k == 3 && !cases[i].open_ms))
				continue;
			const uint32_t wait = add_wait(p, app, 'S', 1, each_ms[k],
						       k == 2 ? "main@app next_job@app read_rest@app recv@libc.so.6" : receives,
						       receives_in);
			struct wait *w = &g_array_index(p->waits, struct wait, wait);

			w->object = object;
			w->flags = flags[k];
		}
		struct explanation *e = explanation_new(p, NULL);

		g_test_message("%zu: %s", i, e->little ?: "a headline");
		g_assert_cmpint(e->little && strstr(e->little, "a long poll"), ==, cases[i].is_meant);
		explanation_free(e);
		profile_free(p);
	}
}

/* Whom nobody answers during all of the window may wait for ever, unless a time limit ends that. */
static void test_silent_peer(void)
{
	static const struct { const char *user, *kernel, *advice; } cases[] = {
		{ receives, receives_in, "No answer came while this was recorded" },
		{ "main@app usage@app statfs@libc.so.6", "__x64_sys_statfs@[kernel] fuse_statfs@[kernel] request_wait_answer@[kernel]",
		  "None of these ended while this was recorded" },
	};
	const struct object there = { .kind = OBJECT_SOCKET, .operation = "", .place = "tcp", .name = "10.0.0.5:80" };

	for (gsize i = 0; i < G_N_ELEMENTS(cases) * 2; i++) {
		const bool is_ended = i % 2;
		struct profile *p = window_new();
		uint32_t wait = add_wait(p, thread_of(p, 11, "app", 10), 'S', 1, WINDOW_MS, cases[i / 2].user, cases[i / 2].kernel);

		g_array_index(p->waits, struct wait, wait).object = i / 2 ? 0 : profile_object(p, &there) + 1;
		goes_on(p, wait);
		if (is_ended)
			g_array_index(p->waits, struct wait, wait).flags = WAIT_OPEN_AT_START;
		struct explanation *e = explanation_new(p, NULL);

		g_assert_cmpint(strstr(headline_with(e, "app waits for")->advice, cases[i / 2].advice) != NULL, ==, !is_ended);
		explanation_free(e);
		profile_free(p);
	}
}

/*
 * A loop whose connection is full waits for its reader, if it slept for most of the window, or if readers end such waits;
 * of one that timers wake that is not known, nor where no connection of its own was full.
 */
static void test_loop_sends(void)
{
	static const struct { const char *operation, *ended_by; uint64_t open_ms, ended_ms; bool is_told; } cases[] = {
		{ "send", NULL, 8000, 0, true }, { "", NULL, 8000, 0, false }, { "send", NULL, 1000, 0, false },
		{ "send", "__alloc_skb@[kernel] sk_stream_write_space@[kernel]", 1000, 8000, true },
		{ "send", "hrtimer_wakeup@[kernel]", 1000, 8000, false },
	};
	static const char loop[] = "main@app uv_run@libuv.so.1 uv__io_poll@libuv.so.1 epoll_wait@libc.so.6",
			  in[] = "entry_SYSCALL_64@[kernel] do_syscall_64@[kernel] __x64_sys_epoll_wait@[kernel] ep_poll@[kernel]";

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		struct profile *p = window_new();
		const struct object set = { .kind = OBJECT_EPOLL, .operation = cases[i].operation, .place = "",
					     .name = "1 socket (fd 3 of app) -> 10.0.0.5:5140" };
		const uint32_t object = profile_object(p, &set) + 1, thread = thread_of(p, 10, "app", 10);
		uint32_t wait = add_wait(p, thread, 'S', 1, cases[i].open_ms, loop, in);

		g_array_index(p->waits, struct wait, wait).object = object;
		goes_on(p, wait);
		g_array_index(p->waits, struct wait, wait).flags = WAIT_OPEN_AT_END;
		if (cases[i].ended_ms) {
			const struct waker waker = { .irq = strstr(cases[i].ended_by, "timer") ? "timer" : "softirq:NET_RX",
						     .kernel = fixture_stack(p, FRAME_KERNEL, STACK_COMPLETE, cases[i].ended_by) };
			const struct wake wake = { .wait = add_wait(p, thread, 'S', 4, cases[i].ended_ms / 4, loop, in),
						   .waker = profile_waker(p, &waker), .count = 4,
						   .blocked_ns = cases[i].ended_ms * MS };

			g_array_index(p->waits, struct wait, wake.wait).object = object;
			profile_add_wake(p, &wake);
		}
		struct explanation *e = explanation_new(p, NULL);

		g_test_message("%zu: %s", i, e->headlines->len ? g_array_index(e->headlines, struct headline, 0).sentence : e->little);
		g_assert_cmpint(e->headlines->len, ==, cases[i].is_told);
		if (cases[i].is_told)
			headline_with(e, "app waits for a peer that reads too slowly, 10.0.0.5:5140");
		explanation_free(e);
		profile_free(p);
	}
}

/* All workers of a pool of processes wait for work while a result is waited for: who had that task was killed. */
static void test_lost_task(void)
{
	static const char result[] = "<module>@build.py build@build.py Pool.map@pool.py ApplyResult.get@pool.py ApplyResult.wait@pool.py "
				     "Event.wait@threading.py PyThread_acquire_lock_timed@python3.11 sem_clockwait@libc.so.6",
			  takes_job[] = "<module>@build.py worker@pool.py SimpleQueue.get@queues.py SemLock.__enter__@synchronize.py "
					"sem_wait@libc.so.6",
			  works[] = "<module>@build.py worker@pool.py encode@build.py recv@libc.so.6";

	for (int is_one_busy = 0; is_one_busy < 2; is_one_busy++) {
		struct profile *p = window_new();

		goes_on(p, add_wait(p, thread_of(p, 10, "build", 1), 'S', 1, WINDOW_MS, result, takes_in));
		for (uint32_t k = 0; k < 2; k++) {
			const bool is_busy = k && is_one_busy;
			uint32_t worker = fixture_thread(p, 20 + k, 20 + k, "build", "build");

			g_array_index(p->threads, struct thread, worker).to_ns = WINDOW_MS * MS;
			goes_on(p, add_wait(p, worker, 'S', 1, WINDOW_MS, is_busy ? works : takes_job, is_busy ? receives_in : takes_in));
		}
		p->info.filters = profile_string(p, "process build");
		struct explanation *e = explanation_new(p, NULL);

		for (guint i = 0; i < e->headlines->len; i++)
			g_test_message("%s: %s", g_array_index(e->headlines, struct headline, i).sentence, g_array_index(e->headlines, struct headline, i).advice);
		g_assert_cmpint(e->headlines->len && strstr(g_array_index(e->headlines, struct headline, 0).advice, "its task is lost"), ==, !is_one_busy);
		explanation_free(e);
		profile_free(p);
	}
}

/* The standby of a leader that sleeps between its ticks; who sleeps once with the lock does not go on. */
static void test_ticking_leader(void)
{
	for (int is_once = 0; is_once < 2; is_once++) {
		struct profile *p = window_new();
		uint32_t leader = fixture_thread(p, 20, 20, "job", "job"), lock = add_wait(p, thread_of(p, 10, "job", 1), 'S', 1, WINDOW_MS,
			"main@job lead@job flock@libc.so.6", "__x64_sys_flock@[kernel] flock_lock_inode_wait@[kernel]");
		const struct object file = { .kind = OBJECT_FILE, .operation = "", .name = "leader.lock", .place = "" };

		g_array_index(p->threads, struct thread, leader).to_ns = WINDOW_MS * MS;
		fixture_is_for(p, lock, &file);
		goes_on(p, lock);
		add_wait(p, leader, 'S', is_once ? 1 : 9, is_once ? 9900 : 1000, "main@job lead@job nanosleep@libc.so.6", sleeps_in);
		p->info.filters = profile_string(p, "process job");
		profile_add_limit(p, LIMIT_FILE_LOCK, 10, 0, "20");
		struct explanation *e = explanation_new(p, NULL);

		g_test_message("%d: %s", is_once, e->little ?: "a headline");
		g_assert_cmpint(e->little && g_str_has_prefix(e->little, "Little to find, if this is meant: job waits for a lock on a file"), ==, !is_once);
		explanation_free(e);
		profile_free(p);
	}
}

/*
 * A standby of PostgreSQL's clients waits for one answer alone; a program that does something else beside is none.  What
 * its session does tells whether it waits for a lock, and by which kind of statement.
 */
static void test_standby(void)
{
	static const struct object there = { .kind = OBJECT_SOCKET, .operation = "", .place = "tcp", .name = "127.0.0.1:5432 (postgres)", .pid = 77 };
	static const struct { const char *session, *little, *advice; } sessions[] = {
		{ "SELECT waiting", "Little to find, if this is meant: app waits for data", "was at `SELECT waiting`. No answer came" },
		{ "UPDATE waiting", NULL, "Its session waits for a lock" }, { "SELECT", NULL, "Its session works on one statement" },
		{ "idle", "Little to find, if this is meant: app waits for data", "who waits for notifications" },
	};

	for (size_t i = 0; i < G_N_ELEMENTS(sessions); i++) {
		struct profile *p = window_new();
		uint32_t wait = add_wait(p, thread_of(p, 10, "app", 10), 'S', 1, WINDOW_MS, receives, receives_in);

		fixture_is_for(p, wait, &there);
		goes_on(p, wait);
		profile_add_limit(p, LIMIT_SESSION, 10, 10, sessions[i].session);
		struct explanation *e = explanation_new(p, NULL);

		g_test_message("%s", e->little ?: headline_with(e, "in next_job")->advice);
		g_assert_true((e->little && g_str_has_prefix(e->little, "Little to find, if this is meant: app waits")) == (sessions[i].little != NULL));
		g_assert_nonnull(strstr(e->little ?: headline_with(e, "in next_job")->advice, sessions[i].advice));
		explanation_free(e);
		profile_free(p);
	}
	for (int has_other = 0; has_other < 2; has_other++) {
		struct profile *p = window_new();
		uint32_t wait = add_wait(p, thread_of(p, 10, "app", 10), 'S', 1, WINDOW_MS, receives, receives_in);

		fixture_is_for(p, wait, &there);
		goes_on(p, wait);
		if (has_other)
			add_wait(p, thread_of(p, 12, "app", 10), 'D', 100, 40, "main@app save@app fsync@libc.so.6",
				 "__x64_sys_fsync@[kernel] jbd2_log_wait_commit@[kernel]");
		struct explanation *e = explanation_new(p, NULL);

		g_assert_cmpint(strstr(headline_with(e, "in next_job")->advice, "A standby that waits for an advisory lock") != NULL, ==, !has_other);
		explanation_free(e);
		profile_free(p);
	}
}

/*
 * Of threads that sleep until another one of them wakes them none is left; where a timer wakes one, those are told that are
 * neither the main thread nor wait for an end, and for whose place nobody was woken.
 */
static void test_still(void)
{
	static const char waits[] = "main@indexer flush@indexer pthread_cond_wait@libc.so.6",
			  gc[] = "start_thread@libc.so.6 WatcherThread::run@libjvm.so pthread_cond_timedwait@libc.so.6",
			  waits_java[] = "Boot.main@app java.lang.Object.wait@jvm JVM_MonitorWait@libjvm.so pthread_cond_wait@libc.so.6";
	static const char node[] = "node::SpinEventLoopInternal@node uv_run@node uv__io_poll@node epoll_pwait@libc.so.6",
			  atomics[] = "waitForPage@app.js v8::internal::Builtin_AtomicsWait@node pthread_cond_wait@libc.so.6";
	static const struct { const char *main, *worker, *other; bool has_join, is_woken; const char *says, *watches; } cases[] = {
		{ "main@indexer stop@indexer pthread_join@libc.so.6", waits, NULL, true, false,
		  "No thread of indexer is left to wake the others: one waits for a thread of its own to end in stop, one waits for a "
		  "condition to be signalled in flush, all the time.", NULL },
		{ "main@indexer stop@indexer pthread_join@libc.so.6", waits, "main@indexer nanosleep@libc.so.6", true, false,
		  " Only timers wake other threads of indexer, and one waits for a condition to be signalled in flush all the time:", NULL },
		{ "main@indexer stop@indexer pthread_join@libc.so.6", waits, "main@indexer nanosleep@libc.so.6", true, true, NULL, NULL },
		{ waits, "main@indexer nanosleep@libc.so.6", NULL, false, false, NULL, NULL },
		{ node, atomics, "main@indexer nanosleep@libc.so.6", false, false, " and one waits in Atomics.wait() in waitForPage all the time:", "1 pipe" },
		{ node, atomics, "main@indexer nanosleep@libc.so.6", false, false, NULL, "1 pipe, 1 socket" },
		{ waits_java, gc, gc, false, false, "No thread of indexer is left to wake the others: one waits for a condition to be signalled in Boot.main", NULL },
	};

	for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
		struct profile *p = window_new();
		uint32_t main = thread_of(p, 10, "indexer", 10), merger = thread_of(p, 11, "indexer", 10);
		const struct object join = { .kind = LOCK_JOIN, .operation = "", .name = "", .place = "" };
		const struct object epoll = { .kind = OBJECT_EPOLL, .operation = "", .name = cases[i].watches, .place = "" };
		uint32_t wait = add_wait(p, main, 'S', 1, WINDOW_MS, cases[i].main,
					 cases[i].watches ? "__x64_sys_epoll_pwait@[kernel] ep_poll@[kernel]" : takes_in);

		if (cases[i].has_join || cases[i].watches)
			g_array_index(p->waits, struct wait, wait).object = profile_object(p, cases[i].watches ? &epoll : &join) + 1;
		goes_on(p, wait);
		goes_on(p, add_wait(p, merger, 'S', 1, WINDOW_MS, cases[i].worker,
				    strstr(cases[i].worker, "nanosleep") ? sleeps_in : takes_in));
		if (cases[i].other)
			add_wait(p, thread_of(p, 12, "indexer", 10), 'S', 10, 1000, cases[i].other,
				 strstr(cases[i].other, "nanosleep") ? sleeps_in : takes_in);
		if (cases[i].is_woken)
			add_wait(p, thread_of(p, 13, "indexer", 10), 'S', 2, 4000, cases[i].worker, takes_in);
		struct explanation *e = explanation_new(p, NULL);

		g_test_message("%zu: %s", i, e->little ?: "a headline");
		g_assert_nonnull(e->little);
		if (cases[i].says)
			g_assert_nonnull(strstr(e->little, cases[i].says));
		else
			g_assert_null(strstr(e->little, "all the time"));
		explanation_free(e);
		profile_free(p);
	}
}

/* Of locks without an owner: who waits for the one while others wait for another stands first where fewer do. */
static void test_both_stuck(void)
{
	static const struct { const char *user; const char *lock; } cases[] = {
		{ "main@app list@app.py Lock.acquire@python3 PyThread_acquire_lock_timed@python3 __new_sem_wait_slow64.constprop.0@libc.so.6", "1" },
		{ "main@app list@app.py Lock.acquire@python3 PyThread_acquire_lock_timed@python3 __new_sem_wait_slow64.constprop.0@libc.so.6", "1" },
		{ "main@app move@app.py Lock.acquire@python3 PyThread_acquire_lock_timed@python3 __new_sem_wait_slow64.constprop.0@libc.so.6", "2" },
	};

	for (int is_one = 0; is_one < 2; is_one++) {
		struct profile *p = window_new();

		p->info.has_wakers = true;
		for (uint32_t i = 0; i < G_N_ELEMENTS(cases); i++) {
			uint32_t wait = add_wait(p, thread_of(p, 11 + i, "app", 10), 'S', 1, WINDOW_MS, cases[i].user, takes_in);
			const struct object o = { .kind = LOCK_SEMAPHORE, .operation = "", .place = "", .name = is_one ? "1" : cases[i].lock };

			fixture_is_for(p, wait, &o);
			goes_on(p, wait);
		}
		struct explanation *e = explanation_new(p, NULL);
		const struct headline *first = &g_array_index(e->headlines, struct headline, 0);

		g_test_message("%s; %s", first->sentence, first->evidence);
		g_assert_nonnull(strstr(first->sentence, is_one ? "in list" : "in move"));
		g_assert_cmpint(strstr(first->evidence, "meanwhile 2 threads wait for another one, in list") != NULL, ==, !is_one);
		g_assert_nonnull(strstr(first->advice, is_one ? "whoever holds it is stuck" : "take the locks in one order"));
		explanation_free(e);
		profile_free(p);
	}
}

/* Who has nothing to wait for but a CPU that others have, with no more threads than CPUs, computes; beside others' waits it is a finding. */
static void test_shares_cpus(void)
{
	static const struct { uint32_t threads; uint64_t queue_ms, on_cpu_ms; bool reads, rests, is_told; } cases[] = {
		{ 1, 6000, 4000, false, false, true },	{ 2, 6000, 4000, false, false, true }, { 3, 6000, 4000, false, false, false },
		{ 1, 6000, 4000, true, false, false },	{ 1, 9700, 300, false, false, false }, { 1, 6000, 4000, false, true, true },
	};

	for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
		struct profile *p = window_new();

		p->info.filters = profile_string(p, "process app");
		p->info.cpus = 2;
		for (uint32_t k = 0; k < cases[i].threads; k++) {
			uint32_t thread = thread_of(p, 11 + k, "app", cases[i].on_cpu_ms);
			const struct wait w = { .thread = thread, .state = 'R', .count = 600, .preempted_ns = cases[i].queue_ms * MS,
						.max_ns = 20 * MS, .user = fixture_stack(p, FRAME_USER, STACK_COMPLETE, "main@app sum@app") };

			profile_add_wait(p, &w);
		}
		for (uint32_t k = 0; cases[i].rests && k < 2; k++)
			add_wait(p, thread_of(p, 40 + k, "app", 10), 'S', 3, 3300, "start_thread@libc.so.6 pthread_cond_wait@libc.so.6", takes_in);
		if (cases[i].reads)
			add_wait(p, thread_of(p, 31, "app", 10), 'D', 100, 90, "main@app load@app read@libc.so.6",
				 "__x64_sys_read@[kernel] io_schedule@[kernel]");
		struct explanation *e = explanation_new(p, NULL);

		g_test_message("%zu: %s", i, e->little ?: "a headline");
		g_assert_cmpint(e->little && strstr(e->little, "app computes, and shares the CPUs with others: it ran for 40% of its time"),
				==, cases[i].is_told);
		explanation_free(e);
		profile_free(p);
	}
}

/* The main thread joins one that sleeps all the time: in a function of its own it may have been told to stop. */
static void test_join_of_sleeper(void)
{
	for (int is_in_main = 0; is_in_main < 2; is_in_main++) {
		struct profile *p = window_new();
		uint32_t main = thread_of(p, 10, "poller", 1);

		p->info.filters = profile_string(p, "process poller");
		goes_on(p, add_wait(p, main, 'S', 1, WINDOW_MS, is_in_main ? "main@poller pthread_join@libc.so.6" :
				    "main@poller shutdown@poller pthread_join@libc.so.6", takes_in));
		goes_on(p, add_wait(p, thread_of(p, 11, "poller", 1), 'S', 1, WINDOW_MS, "poll_bank@poller sleep@libc.so.6", sleeps_in));
		struct explanation *e = explanation_new(p, NULL);

		g_test_message("%s", e->little ?: "a headline");
		g_assert_cmpint(strstr(e->little, "poller waits for a thread of its own to end in shutdown, and one sleeps in poll_bank all the time")
				!= NULL, ==, !is_in_main);
		explanation_free(e);
		profile_free(p);
	}
}

static bool has_headline(const struct explanation *e, const char *what)
{
	bool has = false;

	for (guint i = 0; i < e->headlines->len; i++) {
		g_test_message("%s", g_array_index(e->headlines, struct headline, i).sentence);
		has = has || strstr(g_array_index(e->headlines, struct headline, i).sentence, what);
	}
	return has;
}

/* A rank that sleeps while others of its job wait for it is no clock: these look for it again and again (MPI), or yield between looks. */
static void test_ranks(void)
{
	static const struct { const char *user, *kernel, *says; } cases[] = {
		{ "main@ocean step@ocean sched_yield@libc.so.6", "__x64_sys_sched_yield@[kernel]", NULL },
		{ "main@ocean step@ocean PMPI_Allreduce@libmpi.so.40 sched_yield@libc.so.6", "__x64_sys_sched_yield@[kernel]",
		  "other ranks of its job (MPI)" },
		{ "main@ocean step@ocean PMPI_Barrier@libmpich.so.12 ucp_worker_progress@libucp.so.0", "",
		  "waits busily for other ranks of its job (MPI) in step" },
	};

	for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
		struct profile *p = window_new();
		const struct wait looks = { .thread = thread_of(p, 20, "ocean", 3000), .state = 'R', .count = 90000, .preempted_ns = 6900 * MS,
					    .max_ns = 20 * MS, .user = fixture_stack(p, FRAME_USER, STACK_COMPLETE, cases[i].user),
					    .kernel = *cases[i].kernel ? fixture_stack(p, FRAME_KERNEL, STACK_COMPLETE, cases[i].kernel) : 0 };

		g_array_index(p->threads, struct thread, looks.thread).pid = 20;
		uint32_t sleeper = thread_of(p, 10, "ocean", 100);

		profile_add_wait(p, &looks);
		add_wait(p, sleeper, 'S', 90, 100, "main@ocean read_slab@ocean usleep@libc.so.6", sleeps_in);
		struct explanation *e = explanation_new(p, NULL);

		g_assert_true(cases[i].says ? has_headline(e, cases[i].says) : !has_headline(e, "(MPI)"));
		g_assert_cmpint(has_headline(e, "sleeps until a timer in read_slab"), ==, cases[i].says != NULL);
		explanation_free(e);
		profile_free(p);
	}
}

/* So many threads wait for one of Python's locks all through the window, in book(). */
static void wait_for_python_lock(struct profile *p, uint32_t threads)
{
	const struct object lock = { .kind = LOCK_SEMAPHORE, .operation = "", .place = "", .name = "1" };

	for (uint32_t i = 0; i < threads; i++) {
		uint32_t wait = add_wait(p, thread_of(p, 11 + i, "app", 10), 'S', 1, WINDOW_MS,
					 "main@app book@app.py Lock.acquire@python3 PyThread_acquire_lock_timed@python3 "
					 "__new_sem_wait_slow64.constprop.0@libc.so.6", takes_in);

		fixture_is_for(p, wait, &lock);
		goes_on(p, wait);
	}
}

/* The one thread that waits all the time for something else is likely to have the lock that nobody lets go of; of two nobody is. */
static void test_likely_holder(void)
{
	static const char sends[] = "main@app log@app.py send@libc.so.6",
			  sends_in[] = "__x64_sys_sendto@[kernel] unix_dgram_sendmsg@[kernel] unix_wait_for_peer@[kernel]";

	for (uint32_t senders = 1; senders <= 2; senders++) {
		struct profile *p = window_new();

		p->info.has_wakers = true;
		wait_for_python_lock(p, 3);
		for (uint32_t i = 0; i < senders; i++)
			goes_on(p, add_wait(p, thread_of(p, 20 + i, "app", 10), 'S', 1, WINDOW_MS, sends, sends_in));
		struct explanation *e = explanation_new(p, NULL);
		const struct headline *behind = headline_with(e, "in book"), *first = &g_array_index(e->headlines, struct headline, 0);

		g_test_message("%s; %s", first->sentence, behind->evidence);
		g_assert_cmpint(first == behind, ==, senders == 2);
		g_assert_cmpint(strstr(behind->advice, "That other thread is likely to have it") != NULL, ==, senders == 1);
		explanation_free(e);
		profile_free(p);
	}
}

/* Who sleeps again and again in the function that takes the lock has it, likely; who does so in another one, or one of two, has not. */
static void test_stayer(void)
{
	static const struct { const char *user; uint32_t threads; bool is_told; } cases[] = {
		{ "main@app book@app.py time_sleep@python3 clock_nanosleep@libc.so.6", 1, true },
		{ "main@app book@app.py time_sleep@python3 clock_nanosleep@libc.so.6", 2, false },
		{ "main@app tick@app.py time_sleep@python3 clock_nanosleep@libc.so.6", 1, false },
		{ "main@app bookkeeper@app.py time_sleep@python3 clock_nanosleep@libc.so.6", 1, false },
	};

	for (gsize c = 0; c < G_N_ELEMENTS(cases); c++) {
		struct profile *p = window_new();

		p->info.has_wakers = true;
		wait_for_python_lock(p, 2);
		for (uint32_t i = 0; i < cases[c].threads; i++)
			add_wait(p, thread_of(p, 20 + i, "app", 10), 'S', WINDOW_MS / 1000, 1000, cases[c].user,
				 "__x64_sys_clock_nanosleep@[kernel] do_nanosleep@[kernel]");
		struct explanation *e = explanation_new(p, NULL);
		const struct headline *h = headline_with(e, "threading.Lock");

		g_test_message("%s; %s", h->sentence, h->evidence);
		g_assert_cmpint(strstr(h->evidence, "another thread is in there all the time, and mostly sleeps until a timer") != NULL, ==,
				cases[c].is_told);
		g_assert_cmpint(strstr(h->advice, "That other thread is likely to have it") != NULL, ==, cases[c].is_told);
		explanation_free(e);
		profile_free(p);
	}
}

/* Whoever stays in there waits for a server: that is named, and what to look at there. */
static void test_stayer_asks(void)
{
	const struct object set = { .kind = OBJECT_EPOLL, .operation = "", .name = "2 sockets (fd 3 of app) -> 127.0.0.1:5672 (beam.smp)",
				    .place = "2 sockets", .pid = 60 };
	struct profile *p = window_new();

	p->info.has_wakers = true;
	wait_for_python_lock(p, 2);
	uint32_t wait = add_wait(p, thread_of(p, 20, "app", 10), 'S', 40, WINDOW_MS / 40,
				 "main@app book@app.py BlockingConnection._flush_output@blocking_connection.py epoll_wait@libc.so.6",
				 "__x64_sys_epoll_wait@[kernel] ep_poll@[kernel]");

	fixture_is_for(p, wait, &set);
	struct explanation *e = explanation_new(p, NULL);
	const struct headline *h = headline_with(e, "threading.Lock");

	g_test_message("%s; %s; %s", h->sentence, h->evidence, h->advice);
	g_assert_nonnull(strstr(h->evidence, "another thread is in there all the time, and mostly waits for an answer of its broker"));
	g_assert_nonnull(strstr(h->evidence, "127.0.0.1:5672 (beam.smp)"));
	g_assert_true(g_str_has_prefix(h->advice, "A broker with an alarm"));
	explanation_free(e);
	profile_free(p);
}

/* A script's pauses are a clock, also where a shell starts `sleep`, unless they are a command's or somebody has started it. */
static void test_script(void)
{
	static const struct { const char *filters, *child, *limit; uint64_t count, each_ms; bool has_parent, is_clock; } cases[] = {
		{ "process watch", "sleep 2", NULL, 4, 2000, false, true },	{ "process watch", "sleep 0.1", NULL, 80, 100, false, false },
		{ "process watch", "sleep 2", NULL, 4, 2000, true, false },	{ "command watch", "sleep 2", NULL, 4, 2000, false, false },
		{ "process watch", "sh", "77 sleeps 0 - sleep", 8, 1000, false, true },	{ "process watch", "sh", NULL, 8, 1000, false, false },
	};

	for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
		struct profile *p = window_new();
		uint32_t script = thread_of(p, 10, "watch", 10), wait = add_wait(p, script, 'S', cases[i].count, cases[i].each_ms, waits_for_child, waits_in);
		const struct object o = { .kind = OBJECT_CHILD, .operation = "", .name = cases[i].child, .place = "" };

		p->info.filters = profile_string(p, cases[i].filters);
		fixture_is_for(p, wait, &o);
		g_array_index(p->threads, struct thread, script).start_ns = 7;
		if (cases[i].has_parent)
			fixture_thread(p, 20, 20, "deploy", "deploy");
		if (cases[i].limit)
			profile_add_limit(p, LIMIT_CHILD, 10, 0, cases[i].limit);
		struct explanation *e = explanation_new(p, NULL);

		g_test_message("%zu: %s", i, e->little ?: "a headline");
		g_assert_cmpint(e->little && strstr(e->little, "times a second. The script starts `sleep` again and again"), ==, cases[i].is_clock);
		explanation_free(e);
		profile_free(p);
	}
}

/* A script's pauses are counted alone, and what it runs in between is told, with how that ended if it is known. */
static void test_script_between(void)
{
	static const struct { const char *name; uint32_t pid; uint64_t count, each_ms; } children[] = {
		{ "sleep", 70, 8, 1000 }, { "pg_isready", 80, 7, 80 }, { "true", 90, 2, 1 },
	};
	static const struct { const char *ended, *says; } cases[] = {
		{ "", "The script starts `sleep`" }, { "", "In between it runs pg_isready, 7 times: if that fails each time see why." },
		{ "status 0", "0.8 times a second. In between it runs pg_isready, which succeeds." },
		{ "status 2", "0.8 times a second. In between it runs pg_isready, which ended 7 of 7 times with status 2: if it waits for that" },
	};

	for (size_t c = 0; c < G_N_ELEMENTS(cases); c++) {
		struct profile *p = window_new();
		uint32_t script = thread_of(p, 10, "watch", 10);

		p->info.filters = profile_string(p, "process watch");
		g_array_index(p->threads, struct thread, script).start_ns = 7;
		for (size_t i = 0; i < G_N_ELEMENTS(children); i++) {
			uint32_t wait = add_wait(p, script, 'S', children[i].count, children[i].each_ms, waits_for_child, waits_in);
			const struct object o = { .kind = OBJECT_CHILD, .operation = "", .name = children[i].name,
						  .place = i == 1 ? cases[c].ended : "", .pid = children[i].pid };

			fixture_is_for(p, wait, &o);
		}
		struct explanation *e = explanation_new(p, NULL);

		g_test_message("%s", e->little);
		g_assert_nonnull(strstr(e->little, "sleep, in reap, 0.8 times a second."));
		g_assert_nonnull(strstr(e->little, cases[c].says));
		explanation_free(e);
		profile_free(p);
	}
}

/* A server in memory that rests holds an answer back for work that is to come; one that works takes long for it. */
static void test_resting_server(void)
{
	static const struct { const char *looks, *says; bool is_little; } cases[] = {
		{ NULL, "A command that waits for work", false }, { "13 of 13 looks", "had nothing to do meanwhile", true },
		{ "4 of 4 looks", "A command that waits for work", false }, { "1 of 13 looks", "has been busy", false },
		{ "10 of 13 looks", "A command that waits for work", false },
	};
	static const struct object redis = { .kind = OBJECT_SOCKET, .name = "127.0.0.1:6379 (redis-server)", .place = "tcp",
					     .operation = "", .pid = 70 };

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		struct profile *p = window_new();

		p->info.filters = profile_string(p, "process mailer");
		fixture_is_for(p, add_wait(p, thread_of(p, 11, "mailer", 100), 'S', 40, 240, receives, receives_in), &redis);
		if (cases[i].looks)
			profile_add_limit(p, LIMIT_RESTS, 70, 0, cases[i].looks);
		struct explanation *e = explanation_new(p, NULL);

		g_test_message("%zu: %s", i, e->little ?: headline_with(e, "redis")->advice);
		g_assert_cmpint(e->little != NULL, ==, cases[i].is_little);
		g_assert_nonnull(strstr(e->little ?: headline_with(e, "redis")->advice, cases[i].says));
		explanation_free(e);
		profile_free(p);
	}
}

/* A pool whose workers all are in tasks that wait for others, by a server in memory that rests, or one that is free. */
static void test_pool_of_celery(void)
{
	static const struct object redis = { .kind = OBJECT_SOCKET, .name = "127.0.0.1:6379 (redis-server)", .place = "tcp",
					     .operation = "", .pid = 70 };
	static const char waits[] = "Worker.workloop@pool.py build_tracer.<locals>.trace_task@trace.py report@reports.py AsyncResult.get@result.py "
				    "BaseResultConsumer._wait_for_pending@asynchronous.py poll@libc.so.6";

	for (int is_free = 0; is_free < 2; is_free++) {
		struct profile *p = window_new();
		const uint32_t other = thread_of(p, 12, "celery", 10);

		p->info.filters = profile_string(p, "process celery");
		fixture_is_for(p, add_wait(p, thread_of(p, 11, "celery", 10), 'S', 10, 990, waits, receives_in), &redis);
		if (is_free)
			add_wait(p, other, 'S', 1, WINDOW_MS, "Worker.workloop@pool.py read@libc.so.6", reads_in);
		else
			fixture_is_for(p, add_wait(p, other, 'S', 10, 990, waits, receives_in), &redis);
		profile_add_limit(p, LIMIT_RESTS, 70, 0, "13 of 13 looks");
		struct explanation *e = explanation_new(p, NULL);
		const struct headline *h = headline_with(e, "is in a task that waits for the result of another one");

		g_assert_cmpint(g_str_has_prefix(h->advice, "All workers of that pool wait so"), ==, !is_free);
		explanation_free(e);
		profile_free(p);
	}
}

/* A lone program's pauses are one rhythm, however its interpreter gets from the program's function to the sleep. */
static void test_rhythm(void)
{
	struct profile *p = window_new();
	uint32_t thread = thread_of(p, 10, "mailq", 10);

	p->info.filters = profile_string(p, "process mailq");
	add_wait(p, thread, 'S', 12, 400, "next_mail@mailq.py time_sleep@libpython3.11.so.1.0 clock_nanosleep@libc.so.6", sleeps_in);
	add_wait(p, thread, 'S', 8, 400, "next_mail@mailq.py cfunction_vectorcall_O@libpython3.11.so.1.0 "
		 "time_sleep@libpython3.11.so.1.0 clock_nanosleep@libc.so.6", sleeps_in);
	add_wait(p, thread, 'D', 1, 2, "next_mail@mailq.py read@libc.so.6", "__x64_sys_read@[kernel] io_schedule@[kernel]");
	struct explanation *e = explanation_new(p, NULL);

	g_test_message("%s", e->little);
	g_assert_nonnull(strstr(e->little, " mailq sleeps until a timer in next_mail (Python), 2.0 times a second"));
	explanation_free(e);
	profile_free(p);
}

/* What a supervisor starts ends again and again, which of a script is its work, and of a server a request's. */
static void test_restarts(void)
{
	static const char *const parents[] = { "runsv", "watch.sh", "uwsgi" };

	for (size_t k = 0; k < G_N_ELEMENTS(parents); k++) {
		struct profile *p = window_new();
		uint32_t pause = add_wait(p, thread_of(p, 10, parents[k], 10), 'S', 8, 1000, "main@app nanosleep@libc.so.6",
					  "__x64_sys_clock_nanosleep@[kernel] do_nanosleep@[kernel]");

		p->info.filters = profile_string(p, "process app");
		p->info.has_wakers = true;
		for (uint32_t i = 0; i < 4; i++) {
			const struct waker waker = { .pid = 70 + i, .tid = 70 + i, .comm = "mailqd", .start_ns = p->info.start_ns + 1,
						     .kernel = fixture_stack(p, FRAME_KERNEL, STACK_COMPLETE, "do_exit@[kernel] do_notify_parent@[kernel]") };
			const struct wake wake = { .wait = pause, .waker = profile_waker(p, &waker), .count = 1, .blocked_ns = MS };

			profile_add_wake(p, &wake);
		}
		struct explanation *e = explanation_new(p, NULL);
		const struct headline *h = e->headlines->len ? &g_array_index(e->headlines, struct headline, 0) : NULL;
		g_autofree char *all = g_strconcat(e->little ?: "", h ? h->evidence : "", h ? h->advice : "", NULL);

		g_test_message("%s", all);
		g_assert_cmpint(strstr(all, "mailqd, which it starts, began anew 4 times") != NULL, ==, !k);
		g_assert_cmpint(strstr(all, "It ends soon after each start") != NULL, ==, !k);
		explanation_free(e);
		profile_free(p);
	}
}

/* A limit of its own rate may be meant; looks for a lock wait for somebody, and other pauses are as they were. */
static void test_paced(void)
{
	static const struct { const char *comm, *function, *little, *leads; } cases[] = {
		{ "rsync", "main", "Little to find, if this is meant: rsync sleeps to keep to a limit of its own rate", NULL },
		{ "fetch", "limit_bandwidth",
		  "Little to find, if this is meant: fetch sleeps to keep to a limit of its own rate", NULL },
		{ "backup", "ExclusiveLock.acquire", NULL, "looks again and again whether a lock is free" },
		{ "import", "wait_for_lock_file", NULL, "looks again and again whether a lock is free" },
		{ "pacer", "main", "Nothing was waited for", NULL },
	};

	for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
		struct profile *p = window_new();
		g_autofree char *user = g_strdup_printf("main@app %s@app clock_nanosleep@libc.so.6", cases[i].function);
		uint32_t wait = add_wait(p, thread_of(p, 10, cases[i].comm, 10), 'S', 80, 100, user,
					 "__x64_sys_clock_nanosleep@[kernel] do_nanosleep@[kernel]");
		const struct waker waker = { .comm = "", .irq = "timer" };
		const struct wake wake = { .wait = wait, .waker = profile_waker(p, &waker), .count = 80, .blocked_ns = 8000 * MS };

		p->info.filters = profile_string(p, "process app");
		p->info.has_wakers = true;
		profile_add_wake(p, &wake);
		struct explanation *e = explanation_new(p, NULL);

		g_test_message("%s: %s", cases[i].comm, e->little ?: "a headline");
		g_assert_cmpint(e->little != NULL, ==, cases[i].little != NULL);
		if (cases[i].little)
			g_assert_true(g_str_has_prefix(e->little, cases[i].little));
		else
			g_assert_nonnull(strstr(g_array_index(e->headlines, struct headline, 0).sentence, cases[i].leads));
		explanation_free(e);
		profile_free(p);
	}
}

/* Goroutines that send where nobody is left to receive, be it that one waits at another channel; and where somebody is slow. */
static void test_unreceived(void)
{
	static const struct task_frame sends[] = { { "runtime.chansend1", NULL, 0 }, { "main.emit", NULL, 0 }, { "main.crawl", NULL, 0 } },
				       stores[] = { { "time.Sleep", NULL, 0 }, { "main.store", NULL, 0 }, { "main.collect", NULL, 0 } },
				       ticks[] = { { "runtime.chanrecv1", NULL, 0 }, { "main.tick", NULL, 0 }, { "main.report", NULL, 0 } };
	static const char *const others[] = { NULL, "sleep", "chan receive" };

	for (size_t k = 0; k < G_N_ELEMENTS(others); k++) {
		const bool has_other = others[k], is_slow = k == 1;
		struct profile *p = window_new();
		struct tasks *t = tasks_new(TASKS_GO, profile_thread(p, thread_of(p, 30, "crawler", 10))->pid);

		t->program = tasks_string(t, "crawler");
		for (int i = 0; i < 1 + has_other; i++) {
			bool is_new;
			struct task_row *row = tasks_row(t, (uint64_t)i + 1, &is_new);

			row->state = "waiting";
			row->reason = i ? others[k] : "chan send";
			row->frames = g_memdup2(!i ? sends : is_slow ? stores : ticks, sizeof(sends));
			row->frame_cnt = G_N_ELEMENTS(sends);
		}
		for (int look = 0; look < 20; look++) {
			for (int i = 0; i < 1 + has_other; i++) {
				bool is_new;

				tasks_seen(t, tasks_row(t, (uint64_t)i + 1, &is_new), 1);
			}
			tasks_look_done(t, (uint64_t)(look + 1) * 200 * MS, 200 * MS);
		}
		tasks_finish(t);
		profile_add_tasks(p, t);
		struct explanation *e = explanation_new(p, NULL);

		g_assert_cmpint(strstr(headline_with(e, "to send to a channel")->advice, "No goroutine was seen that would receive") == NULL,
				==, is_slow);
		explanation_free(e);
		profile_free(p);
	}
}

/*
 * A second read lock behind a writer; where the function that is come through takes none, and where some get on, nothing is
 * said.
 */
static void test_twice(void)
{
#define FRAMES(a, b, c) { { a, NULL, 0 }, { b, NULL, 0 }, { c, NULL, 0 } }
	static const struct task_frame asks[] = FRAMES("sync.(*RWMutex).RLock", "main.(*Config).Feature", "main.(*Config).Get"),
				       first[] = FRAMES("sync.(*RWMutex).RLock", "main.(*Config).Get", "main.serve"),
				       other[] = FRAMES("sync.(*RWMutex).RLock", "main.(*Config).Size", "main.serve"),
				       limited[] = FRAMES("golang.org/x/sync/semaphore.(*Weighted).Acquire", "main.fetch",
							  "main.crawl"),
				       ticks[] = FRAMES("time.Sleep", "main.beat", "main.main");
#undef FRAMES
	static const struct { const struct task_frame *second, *third; bool gets_on; const char *says, *advice; } cases[] = {
		{ first, ticks, false, "wait for a read-write lock in main.(*Config).Feature", "a second RLock() waits for ever" },
		{ first, ticks, true, "wait for a read-write lock in main.(*Config).Feature", NULL },
		{ other, ticks, false, "wait for a read-write lock in main.(*Config).Feature", NULL },
		{ limited, ticks, false, "waits for a semaphore in main.fetch", "raise its limit" },
	};

	for (size_t k = 0; k < G_N_ELEMENTS(cases); k++) {
		const struct task_frame *const frames[] = { asks, cases[k].second, cases[k].third };
		static const char *const reasons[] = { "semacquire", "semacquire", "sleep" };
		struct profile *p = window_new();
		struct tasks *t = tasks_new(TASKS_GO, profile_thread(p, thread_of(p, 30, "flagsd", 10))->pid);

		t->program = tasks_string(t, "flagsd");
		for (int look = 0; look < 20; look++) {
			for (int i = 0; i < 3; i++) {
				bool is_new;
				struct task_row *row = tasks_row(t, (uint64_t)i + 1, &is_new);

				if (is_new) {
					row->state = "waiting";
					row->reason = reasons[i];
					row->frames = g_memdup2(frames[i], sizeof(asks));
					row->frame_cnt = G_N_ELEMENTS(asks);
				}
				tasks_seen(t, row, i == 0 ? 3 - (cases[k].gets_on && look % 2) : 1);
			}
			tasks_look_done(t, (uint64_t)(look + 1) * 200 * MS, 200 * MS);
		}
		tasks_finish(t);
		profile_add_tasks(p, t);
		struct explanation *e = explanation_new(p, NULL);
		const struct headline *h = headline_with(e, cases[k].says);

		g_test_message("%zu: %s", k, h->advice);
		const bool is_said = strstr(h->advice, cases[k].advice ?: "a second RLock() waits for ever");

		g_assert_cmpint(is_said, ==, cases[k].advice != NULL);
		explanation_free(e);
		profile_free(p);
	}
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/explain/unended", test_unended);
	g_test_add_func("/explain/meant", test_meant);
	g_test_add_func("/explain/standby", test_standby);
	g_test_add_func("/explain/few-polls", test_few_polls);
	g_test_add_func("/explain/silent-peer", test_silent_peer);
	g_test_add_func("/explain/loop-sends", test_loop_sends);
	g_test_add_func("/explain/ticking-leader", test_ticking_leader);
	g_test_add_func("/explain/lost-task", test_lost_task);
	g_test_add_func("/explain/still", test_still);
	g_test_add_func("/explain/both-stuck", test_both_stuck);
	g_test_add_func("/explain/stayer", test_stayer);
	g_test_add_func("/explain/stayer-asks", test_stayer_asks);
	g_test_add_func("/explain/likely-holder", test_likely_holder);
	g_test_add_func("/explain/shares-cpus", test_shares_cpus);
	g_test_add_func("/explain/ranks", test_ranks);
	g_test_add_func("/explain/join-of-sleeper", test_join_of_sleeper);
	g_test_add_func("/explain/script", test_script);
	g_test_add_func("/explain/script-between", test_script_between);
	g_test_add_func("/explain/resting-server", test_resting_server);
	g_test_add_func("/explain/rhythm", test_rhythm);
	g_test_add_func("/explain/restarts", test_restarts);
	g_test_add_func("/explain/paced", test_paced);
	g_test_add_func("/explain/unreceived", test_unreceived);
	g_test_add_func("/explain/twice", test_twice);
	g_test_add_func("/explain/unended/pool-of-celery", test_pool_of_celery);
	return g_test_run();
}
