/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* What others do: load on the CPUs, answers that other threads bring, who is at the other side of a relay. */
#include "window.h"

#include <inttypes.h>

#include "features/tasks/rows.h"
#include "profile/limits.h"

#define FUTEX "__x64_sys_futex@[kernel] futex_wait@[kernel]"
#define POLL "__x64_sys_poll@[kernel] do_sys_poll@[kernel]"
#define READ "__x64_sys_pread64@[kernel] filemap_read@[kernel] folio_wait_bit_common@[kernel]"

static void ended_by(struct profile *p, uint32_t wait, const struct waker *who, const char *user, const char *kernel)
{
	const struct wait *w = profile_wait(p, wait);
	struct waker waker = *who;

	waker.user = *user ? fixture_stack(p, FRAME_USER, STACK_COMPLETE, user) : 0;
	waker.kernel = *kernel ? fixture_stack(p, FRAME_KERNEL, STACK_COMPLETE, kernel) : 0;
	profile_add_wake(p, &(struct wake){ .wait = wait, .waker = profile_waker(p, &waker), .count = w->count, .blocked_ns = w->blocked_ns });
	p->info.has_wakers = true;
}

static void is_for(struct profile *p, uint32_t wait, const struct object *o)
{
	fixture_is_for(p, wait, o);
	p->info.has_objects = true;
}

/*
 * Threads that ask one which sleeps in the function where it answers look like workers that its clock gives work: it is
 * said that they wait.  Of one thread, and of workers whose work comes from others, nothing is said.
 */
static void test_clock_that_answers(void)
{
	static const struct { uint32_t threads, by; bool is_told; } cases[] = { { 4, 12, true }, { 1, 12, false }, { 4, 99, false } };

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		const struct waker by = { .pid = cases[i].by == 12 ? 10 : 99, .tid = cases[i].by, .comm = "shop" };
		struct profile *p = window_new();
		uint32_t pricer = thread_of(p, 12, "shop", 10);
		uint32_t nap = add_wait(p, pricer, 'S', 240, 40, "serve@shop price_one@shop clock_nanosleep@libc.so.6",
					"__x64_sys_clock_nanosleep@[kernel] hrtimer_nanosleep@[kernel]");

		ended_by(p, nap, &(struct waker){ .irq = "timer" }, "", "");
		for (uint32_t k = 0; k < cases[i].threads; k++) {
			uint32_t asks = add_wait(p, thread_of(p, 20 + k, "shop", 10), 'S', 60, 165,
						 "ask_quote@shop futex@libc.so.6", FUTEX);

			ended_by(p, asks, &by, "serve@shop price_one@shop wake@libc.so.6", FUTEX);
		}
		struct explanation *e = explanation_new(p, NULL);

		g_assert_nonnull(e->little);
		g_assert_cmpint(strstr(e->little, "It ends the waits of 4 threads, which wait in ask_quote nearly all the time: "
						  "if they wait for its answers, that sleep is what is slow.") != NULL,
				==, cases[i].is_told);
		explanation_free(e);
		profile_free(p);
	}
}

/* A thread for each task, more of them than are told apart by name: they end the waits together. */
static void test_thread_for_each_task(void)
{
	struct profile *p = window_new();
	uint32_t front = thread_of(p, 12, "front", 10);

	for (uint32_t k = 0; k < 400; k++) {
		g_autofree char *name = g_strdup_printf("Thread-%" PRIu32, k);
		uint32_t wait = add_wait(p, front, 'S', 1, 24, "main@app await@app read@libc.so.6",
					 "__x64_sys_read@[kernel] pipe_read@[kernel]");

		thread_of(p, 1000 + k, name, 1);
		ended_by(p, wait, &(struct waker){ .pid = 10, .tid = 1000 + k, .comm = profile_string(p, name) }, "run@app write@libc.so.6", "");
	}
	struct explanation *e = explanation_new(p, NULL);

	g_assert_nonnull(strstr(headline_with(e, "waits for data in a pipe in await")->evidence, "threads like Thread-"));
	explanation_free(e);
	profile_free(p);
}

/* The sleep that a finding's waits are ended after is no clock that may stay as it is. */
static void test_sleep_that_is_awaited(void)
{
	const struct object one = { .kind = (enum object_kind)LOCK_SEMAPHORE, .operation = "", .name = "places", .place = "" };
	struct profile *p = window_new();
	uint32_t pricer = thread_of(p, 12, "shop", 10);
	uint32_t nap = add_wait(p, pricer, 'S', 160, 60, "serve@shop price_one@shop clock_nanosleep@libc.so.6",
				"__x64_sys_clock_nanosleep@[kernel] hrtimer_nanosleep@[kernel]");

	ended_by(p, nap, &(struct waker){ .irq = "timer" }, "", "");
	for (uint32_t k = 0; k < 4; k++) {
		uint32_t asks = add_wait(p, thread_of(p, 20 + k, "shop", 10), 'S', 40, 240,
					 "handle@shop take_quote@shop sem_wait@libc.so.6", FUTEX);

		is_for(p, asks, &one);
		ended_by(p, asks, &(struct waker){ .pid = 10, .tid = 12, .comm = "shop" }, "serve@shop sem_post@libc.so.6", FUTEX);
	}
	struct explanation *e = explanation_new(p, NULL);
	const struct headline *h = headline_with(e, "sleeps until a timer in price_one");

	g_assert_nonnull(strstr(headline_with(e, "in take_quote")->evidence, "which itself mostly sleeps until a timer in price_one"));
	g_assert_cmpstr(h->advice, ==, "Others wait meanwhile for what it holds, or does afterwards: do not sleep there.");
	explanation_free(e);
	profile_free(p);
}

/* Of a program that hardly ran others took the CPUs: what it waits for beside leads from an eighth of that time on. */
static void test_load(void)
{
	for (int i = 0; i < 4; i++) {
		const bool is_idle = i & 1, has_filters = i & 2;
		struct profile *p = window_new();
		uint32_t thread = thread_of(p, 11, "app", is_idle ? 500 : 4000);

		p->info.filters = has_filters ? profile_string(p, "process app") : NULL;
		add_wait(p, thread, 'D', 70, 10, "main@app load@app pread@libc.so.6", READ);
		add_wait(p, thread, 'R', 105, 40, "main@app work@app", "");
		struct explanation *e = explanation_new(p, NULL);
		const char *first = g_array_index(e->headlines, struct headline, 0).sentence;

		g_assert_nonnull(strstr(first, is_idle && has_filters ? "app waits for a read" : "app waits for a CPU"));
		explanation_free(e);
		profile_free(p);
	}
}

/* Of a program that hardly runs a seventh of its time in the run queue is told with what is little, a third as a finding. */
static void test_load_of_idle(void)
{
	for (unsigned is_much = 0; is_much < 2; is_much++) {
		struct profile *p = window_new();
		uint32_t thread = thread_of(p, 10, "geo", 300);

		p->info.filters = profile_string(p, "process geo");
		add_wait(p, thread, 'R', is_much ? 1700 : 700, 2, "main@geo work@geo", "");
		struct explanation *e = explanation_new(p, NULL);

		g_assert_cmpint(e->little && strstr(e->little, "1.40 s of that geo waited for a CPU, as others held them"), ==, !is_much);
		g_assert_cmpint(e->headlines->len, ==, is_much);
		explanation_free(e);
		profile_free(p);
	}
}

/*
 * Threads that a broadcast wakes: at one condition all of them wake, at conditions of their own one each, which is no herd.
 * There the answer leads that the one who wakes them waits for.  Nor is it one where they are woken seldom.
 */
static void test_own_conditions(void)
{
	static const struct waker origin = { .pid = 99, .tid = 99, .comm = "origin" }, fetcher = { .pid = 10, .tid = 40, .comm = "cache" };

	for (int i_case = 0; i_case < 3; i_case++) {
		const bool is_own = i_case == 1, is_seldom = i_case > 0;
		struct profile *p = window_new();
		uint32_t loop = add_wait(p, thread_of(p, 40, "cache", 10), 'S', 45, 200, "run@cache fetch@cache ask@cache recv@libc.so.6",
					 "__x64_sys_recvfrom@[kernel] tcp_recvmsg@[kernel] sk_wait_data@[kernel]");

		is_for(p, loop, &(struct object){ .kind = OBJECT_SOCKET, .name = "127.0.0.1:7508 (origin)", .place = "tcp", .pid = 99 });
		ended_by(p, loop, &origin, "main@origin send@libc.so.6", "tcp_sendmsg@[kernel] sock_def_readable@[kernel]");
		for (uint32_t i = 0; i < 10; i++)
			for (uint32_t k = 0; k < 2; k++) {
				const struct object o = { .kind = LOCK_CONDITION, .name = "heap", .place = "[heap]", .is_private = true,
							  .operation = "FUTEX_WAIT", .pid = 10, .addr = is_own ? 0x1000 + 64 * (2 * i + k) : 0x1000 };
				uint32_t thread = k ? p->threads->len - 1 : thread_of(p, 20 + i, "cache", 10);
				uint32_t wait = add_wait(p, thread, 'S', is_seldom ? 20 : 200, is_seldom ? 200 : 20, k ? "serve@cache answer@cache send_body@cache wait_object@cache pthread_cond_wait@libc.so.6" :
							 "serve@cache answer@cache wait_object@cache pthread_cond_wait@libc.so.6", FUTEX);

				is_for(p, wait, &o);
				ended_by(p, wait, &fetcher, "run@cache fetch@cache done@cache pthread_cond_broadcast@libc.so.6", "futex_wake@[kernel]");
			}
		struct explanation *e = explanation_new(p, NULL);
		const struct headline *first = &g_array_index(e->headlines, struct headline, 0);

		g_assert_nonnull(strstr(first->sentence, is_own ? "cache waits for data from the network, 127.0.0.1:7508 (origin)" :
					  is_seldom ? "waits for a condition to be signalled" :
							"is woken with many others by one broadcast"));
		if (is_seldom && !is_own)
			g_assert_null(strstr(first->advice, "Wake one thread for one event"));
		if (is_own)
			g_assert_nonnull(strstr(first->evidence, "first, as others queue behind it"));
		explanation_free(e);
		profile_free(p);
	}
}

/* A loop that always waits for a database is told with its connections, where these are counted, and do one statement at a time. */
static void test_connections(void)
{
	static const struct { const char *peer, *local; uint64_t each_ms; bool is_told; } cases[] = {
		{ "postgres", "127.0.0.1:49104", 90, true }, { "redis-server", "127.0.0.1:49104", 90, false },
		{ "postgres", "127.0.0.1", 90, false },	    { "postgres", "127.0.0.1:49104", 60, false },
	};
	static const struct waker server = { .pid = 99, .tid = 99, .comm = "postgres" };

	for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
		struct profile *p = window_new();
		g_autofree char *name = g_strdup_printf("2 sockets (fd 13 of app) -> 127.0.0.1:5511 (%s)", cases[i].peer);
		const struct object epoll = { .kind = OBJECT_EPOLL, .operation = "", .name = name, .place = "2 sockets", .pid = 99 };
		const char *const locals[] = { cases[i].local, "127.0.0.1:49105" };
		uint32_t wait = add_wait(p, thread_of(p, 11, "app", 10), 'S', 100, cases[i].each_ms,
					 "main@app uv_run@libuv.so.1 uv__io_poll@libuv.so.1 epoll_pwait@libc.so.6",
					 "__x64_sys_epoll_pwait@[kernel] ep_poll@[kernel]");

		is_for(p, wait, &epoll);
		ended_by(p, wait, &server, "PostgresMain@postgres send@libc.so.6", "tcp_sendmsg@[kernel] sock_def_readable@[kernel]");
		for (gsize k = 0; k < G_N_ELEMENTS(locals); k++) {
			const struct connection c = { .pid = profile_thread(p, 0)->pid, .local = locals[k], .remote = "127.0.0.1:5511" };

			profile_add_connection(p, &c);
		}
		struct explanation *e = explanation_new(p, NULL);
		g_assert_cmpuint(e->headlines->len, >, 0);
		const struct headline *first = &g_array_index(e->headlines, struct headline, 0);

		g_test_message("%zu: %s; %s", i, first->sentence, first->evidence);
		g_assert_nonnull(strstr(first->sentence, "waits in its event loop for an answer from 127.0.0.1:5511"));
		g_assert_cmpint(strstr(first->evidence, "; it has 2 connections there, and each does one statement at a time") != NULL, ==,
				cases[i].is_told);
		explanation_free(e);
		profile_free(p);
	}
}

static void add_task(struct tasks *t, uint64_t number, const char *reason, const struct task_frame *frames, unsigned cnt)
{
	bool is_new;
	struct task_row *row = tasks_row(t, number, &is_new);

	row->state = "waiting";
	row->reason = reason;
	row->frames = g_memdup2(frames, cnt * sizeof(*frames));
	row->frame_cnt = cnt;
}

/* Tasks that all wait for a lock, and one for them: nobody is left to let go of it, unless another one sleeps. */
static void test_asyncio_deadlock(void)
{
	static const struct task_frame lock[] = { { "Lock.acquire", "/usr/lib/python3.11/asyncio/locks.py", 114 }, { "book", "app.py", 7 } }, gather[] = { { "main", "app.py", 10 } },
				       sleeps[] = { { "sleep", "/usr/lib/python3.11/asyncio/tasks.py", 600 }, { "audit", "app.py", 5 } };

	for (unsigned i = 0; i < 4; i++) {
		const unsigned has_other = i & 1, is_group = i & 2;
		struct profile *p = window_new();
		struct tasks *t;
		bool is_new;

		thread_of(p, 10, "app", 10);
		t = tasks_new(TASKS_ASYNCIO, 10);
		t->program = tasks_string(t, "app");
		add_task(t, 1, "a future", lock, 2);
		add_task(t, 2, is_group ? "the tasks of its group" : "a gather() of others", gather, 1);
		if (has_other)
			add_task(t, 3, "a future", sleeps, 2);
		for (int look = 0; look < 20; look++) {
			for (unsigned k = 0; k < 5; k++)
				tasks_seen(t, tasks_row(t, 1, &is_new), 1);
			for (unsigned k = 2; k < 3 + has_other; k++)
				tasks_seen(t, tasks_row(t, k, &is_new), 1);
			tasks_look_done(t, (uint64_t)(look + 1) * 500 * MS, 500 * MS);
		}
		tasks_finish(t);
		profile_add_tasks(p, t);
		struct explanation *e = explanation_new(p, NULL);

		g_assert_cmpint(strstr(headline_with(e, "5 tasks wait for a lock in book")->advice, "a deadlock") != NULL, ==, !has_other);
		explanation_free(e);
		profile_free(p);
	}
}

/*
 * A relay has a thread for each connection that comes in, which polls both sides: the one that never connects is asked.  What
 * a client sends is no answer, and a thread that was there before may serve another kind of client.  A recorded command to
 * which nobody connects has made its connections itself.
 */
static void test_relay(void)
{
	enum { ANSWERS, ASKS, OLD, NOBODY_CONNECTS, COMMAND, COMMAND_SERVES, CASES };
	static const struct waker curl = { .pid = 70, .tid = 70, .comm = "curl" }, other = { .pid = 71, .tid = 71, .comm = "curl" },
				  backend = { .pid = 80, .tid = 80, .comm = "claims" };

	for (int i = 0; i < CASES; i++) {
		struct profile *p = window_new();
		uint32_t accepts = add_wait(p, thread_of(p, 10, "tunnel", 10), 'S', 40, 200, "main@tunnel poll@libc.so.6", POLL);

		is_for(p, accepts, &(struct object){ .kind = OBJECT_POLL, .name = "pipe from tunnel and 1 more" });
		if (i >= COMMAND)
			p->info.filters = profile_string(p, "command ./tunnel");
		ended_by(p, accepts, &curl, "main@curl connect@libc.so.6",
			 i == NOBODY_CONNECTS || i == COMMAND ? "tcp_data_queue@[kernel] sock_def_readable@[kernel]" :
						"tcp_child_process@[kernel] sock_def_readable@[kernel]");
		for (uint32_t k = 0; k < 8; k++) {
			uint32_t thread = thread_of(p, 11 + k, "tunnel", 1);
			uint32_t wait = add_wait(p, thread, 'S', 1, 800, "serve@tunnel transfer@tunnel poll@libc.so.6", POLL);
			struct thread *t = &g_array_index(p->threads, struct thread, thread);

			t->from_ns = i == OLD ? 0 : (k + 1) * 900 * MS;
			t->flags = THREAD_EXITED;
			is_for(p, wait, &(struct object){ .kind = OBJECT_POLL, .name = "pipe from tunnel and 2 more" });
			ended_by(p, wait, i == ASKS || i == COMMAND_SERVES ? &other : &backend, "main@claims send@libc.so.6", "tcp_data_queue@[kernel] sock_def_readable@[kernel]");
		}
		struct explanation *e = explanation_new(p, NULL);

		g_assert_cmpuint(e->headlines->len, ==, i == COMMAND ? 2 : i == ANSWERS);
		if (e->headlines->len)
			g_assert_nonnull(strstr(headline_with(e, "tunnel waits for data from the network in transfer")->evidence, "claims"));
		explanation_free(e);
		profile_free(p);
	}
}

/*
 * Readers of pipes queue behind what the last writer waits for: also where a child, an own thread or a poll lies between, and
 * where nobody has written; one whose writer works leads itself.
 */
static void test_chain_of_pipes(void)
{
	enum { BY_CHILD, WORKS, UNENDED, CASES };

	for (int i = 0; i < CASES; i++) {
		struct profile *p = window_new();
		const uint32_t reader = fixture_thread(p, 20, 20, "git", "git"), hook = fixture_thread(p, 30, 30, "hook", "hook"),
			       curl = fixture_thread(p, 40, 40, "curl", "curl");
		const uint32_t reads = add_wait(p, reader, 'S', 1, 9500, "main@git read@libc.so.6",
						"__x64_sys_read@[kernel] vfs_read@[kernel] anon_pipe_read@[kernel]");
		const struct waker by_hook = { .pid = 30, .tid = 30, .comm = "hook" }, by_curl = { .pid = 40, .tid = 40, .comm = "curl" };

		p->info.filters = profile_string(p, "command git push");
		for (uint32_t t = 0; t < p->threads->len; t++)
			g_array_index(p->threads, struct thread, t).to_ns = WINDOW_MS * MS;
		is_for(p, reads, &(struct object){ .kind = OBJECT_PIPE, .name = "pipe from hook", .pid = 30 });
		if (i == UNENDED)
			g_array_index(p->waits, struct wait, reads).flags = WAIT_OPEN_AT_START | WAIT_OPEN_AT_END;
		else
			ended_by(p, reads, &by_hook, "", "");
		const uint32_t child = add_wait(p, hook, 'S', 1, i == WORKS ? 3000 : 9400, "main@hook waitpid@libc.so.6", "__x64_sys_wait4@[kernel] do_wait@[kernel]");
		ended_by(p, child, &by_curl, "", "do_notify_parent@[kernel]");
		is_for(p, child, &(struct object){ .kind = OBJECT_CHILD, .name = "curl", .pid = 40 });
		const uint32_t asks = add_wait(p, curl, 'S', 10, i == WORKS ? 290 : 930, "main@curl fetch@curl recv@libc.so.6",
					       "__x64_sys_recvfrom@[kernel] tcp_recvmsg@[kernel] sk_wait_data@[kernel]");
		is_for(p, asks, &(struct object){ .kind = OBJECT_SOCKET, .name = "10.0.0.7:80", .place = "tcp" });
		struct explanation *e = explanation_new(p, NULL);
		const char *first = g_array_index(e->headlines, struct headline, 0).sentence;

		g_test_message("case %d: %s", i, first);
		g_assert_nonnull(strstr(first, i == WORKS ? "git waits for data in a pipe" : "curl waits for data from the network"));
		explanation_free(e);
		profile_free(p);
	}
}

/* Threads of one kind that do nothing but pause are named, as may be meant; one alone beside them does something else. */
static void test_pausing_workers(void)
{
	for (int works = 0; works < 2; works++) {
		struct profile *p = window_new();

		for (uint32_t t = 0; t < 3; t++)
			ended_by(p, add_wait(p, thread_of(p, 20 + t, "spooler", 1), 'S', 10, 980, "work@spooler put@spooler nanosleep@libc.so.6",
					     "__x64_sys_nanosleep@[kernel] hrtimer_nanosleep@[kernel]"), &(struct waker){ .comm = "", .irq = "timer" }, "", "");
		if (works)
			add_wait(p, thread_of(p, 30, "spooler", 100), 'D', 100, 20, "main@spooler pread@libc.so.6", READ);
		struct explanation *e = explanation_new(p, NULL);

		g_test_message("%s", e->little ?: "headlines");
		g_assert_cmpint(e->little && strstr(e->little, "if this is meant: spooler sleeps until a timer in put"), ==, !works);
		explanation_free(e);
		profile_free(p);
	}
}

/* A loop that one peer wakes at an even pace by a Unix socket is told beside the little; not of a timer, nor of bursts. */
static void test_sole_waker(void)
{
	enum { EVEN, UNEVEN, BY_TCP, BY_TIMER, CASES };
	static const struct waker core = { .pid = 90, .tid = 90, .comm = "core" }, timer = { .irq = "timer" };

	for (int i = 0; i < CASES; i++) {
		struct profile *p = window_new();
		uint32_t wait = add_wait(p, thread_of(p, 10, "wallet", 10), 'S', 49, 200, "main@wallet run@wallet epoll_wait@libc.so.6",
					 "__x64_sys_epoll_wait@[kernel] do_epoll_wait@[kernel]");

		if (i == UNEVEN)
			g_array_index(p->waits, struct wait, wait).max_ns = 2000 * MS;
		ended_by(p, wait, i == BY_TIMER ? &timer : &core, "", i == BY_TCP ? "tcp_data_queue@[kernel]" : "unix_stream_sendmsg@[kernel]");
		add_wait(p, thread_of(p, 11, "wallet", 10), 'D', 1, 10, "main@wallet log@wallet pread@libc.so.6", READ);
		struct explanation *e = explanation_new(p, NULL);

		g_assert_nonnull(e->little);
		g_assert_cmpint(strstr(e->little, "wallet's event loop waits for core/90 all the time") != NULL, ==, i == EVEN);
		explanation_free(e);
		profile_free(p);
	}
}

#define LOGS "serve@app Audit.record@app java.util.concurrent.ArrayBlockingQueue.put@jvm Unsafe_Park@libjvm.so pthread_cond_wait@libc.so.6"
#define TAKES "drain@app java.util.concurrent.ArrayBlockingQueue.take@jvm Unsafe_Unpark@libjvm.so pthread_cond_signal@libc.so.6"
#define PASSES "serve@app Audit.record@app java.util.concurrent.ArrayBlockingQueue.put@jvm Unsafe_Unpark@libjvm.so pthread_cond_signal@libc.so.6"

/* Who has got into a full queue tells the next one: room is made by who takes from it, and that one waits for a pipe's reader. */
static void test_full_queue(void)
{
	static const struct waker reader = { .pid = 99, .tid = 99, .comm = "tail" }, drain = { .pid = 10, .tid = 30, .comm = "drain" };
	struct profile *p = window_new();
	uint32_t writes = add_wait(p, thread_of(p, 30, "app", 10), 'S', 98, 100, "drain@app write@libc.so.6",
				   "__x64_sys_write@[kernel] pipe_write@[kernel]");

	g_array_index(p->threads, struct thread, 0).comm = profile_string(p, "drain");
	is_for(p, writes, &(struct object){ .kind = OBJECT_PIPE, .name = "pipe to tail", .pid = 99 });
	ended_by(p, writes, &reader, "main@tail read@libc.so.6", "pipe_read@[kernel]");
	for (uint32_t i = 0; i < 4; i++) {
		const struct waker peer = { .pid = 10, .tid = 20 + (i + 1) % 4, .comm = "http" };
		uint32_t thread = thread_of(p, 20 + i, "app", 10);

		g_array_index(p->threads, struct thread, thread).comm = profile_string(p, "http");
		ended_by(p, add_wait(p, thread, 'S', 60, 100, LOGS, FUTEX), &peer, PASSES, "futex_wake@[kernel]");
		ended_by(p, add_wait(p, thread, 'S', 30, 100, LOGS, FUTEX), &drain, TAKES, "futex_wake@[kernel]");
	}
	struct explanation *e = explanation_new(p, NULL);
	const struct headline *first = &g_array_index(e->headlines, struct headline, 0), *second = first + 1;

	g_test_message("%s; %s / %s; %s", first->sentence, first->evidence, second->sentence, second->evidence);
	g_assert_nonnull(strstr(first->sentence, "waits for room in a full pipe (to tail)"));
	g_assert_nonnull(strstr(second->sentence, "waits for room in a full queue"));
	g_assert_nonnull(strstr(second->evidence, "ended by drain"));
	g_assert_true(g_str_has_prefix(second->advice, "It only queues behind"));
	explanation_free(e);
	profile_free(p);
}

/*
 * Who has the lock waits for room in a ring buffer until a timer ends that: who takes from it shows in its own stack, and
 * waits for a slow reader.
 */
static void test_full_ring_buffer(void)
{
	static const struct waker reader = { .pid = 99, .tid = 99, .comm = "collector" }, timer = { .irq = "timer" };
	static const struct waker holder = { .pid = 10, .tid = 20, .comm = "http" };
	static const char parks[] = "serve@app com.lmax.disruptor.MultiProducerSequencer.next@jvm Unsafe_Park@libjvm.so pthread_cond_timedwait@libc.so.6";

	for (int takes = 0; takes < 2; takes++) {
		struct profile *p = window_new();
		const uint32_t writes = add_wait(p, thread_of(p, 30, "app", 10), 'S', 49, 200,
						 takes ? "com.lmax.disruptor.BatchEventProcessor.run@jvm Appender.append@app write@libc.so.6" :
							 "Uploader.run@jvm Uploader.send@app write@libc.so.6",
						 "__x64_sys_write@[kernel] tcp_sendmsg@[kernel] tcp_sendmsg_locked@[kernel] sk_stream_wait_memory@[kernel]");

		is_for(p, writes, &(struct object){ .kind = OBJECT_SOCKET, .name = "127.0.0.1:7402 (collector)", .place = "tcp", .pid = 99 });
		ended_by(p, writes, &reader, "main@collector recv@libc.so.6", "tcp_recvmsg@[kernel]");
		ended_by(p, add_wait(p, thread_of(p, 20, "app", 10), 'S', 95, 100, parks, FUTEX), &timer, "", "");
		for (uint32_t i = 1; i < 4; i++) {
			const uint32_t waits = add_wait(p, thread_of(p, 20 + i, "app", 10), 'S', 9, 1000,
							"serve@app pthread_mutex_lock@libc.so.6", FUTEX);

			is_for(p, waits, &(struct object){ .kind = LOCK_MUTEX, .pid = 10, .name = "log_lock", .place = "app", .operation = "",
							   .addr = 4096, .holder_tid = 20 });
			ended_by(p, waits, &holder, "serve@app pthread_mutex_unlock@libc.so.6", "futex_wake@[kernel]");
		}
		struct explanation *e = explanation_new(p, NULL);
		const struct headline *first = &g_array_index(e->headlines, struct headline, 0);
		const struct headline *lock = headline_with(e, "log_lock");

		g_test_message("%s; %s / %s; %s", first->sentence, first->evidence, lock->evidence, lock->advice);
		g_assert_cmpint(strstr(first->sentence, "127.0.0.1:7402 (collector)") != NULL, ==, takes);
		g_assert_cmpint(g_str_has_prefix(lock->advice, "It only queues behind"), ==, takes);
		explanation_free(e);
		profile_free(p);
	}
}

/* A mutex that several programs share, which one has that is not recorded: who that is, its own waits there tell. */
static void test_shared_lock(void)
{
	static const struct waker other = { .pid = 99, .tid = 99, .comm = "loader" };

	struct profile *p = window_new();
	const struct object o = { .kind = LOCK_MUTEX, .name = "/data/lock.mdb+0x40", .place = "/data/lock.mdb", .operation = "FUTEX_WAIT",
				  .holder_tid = 99 };

	for (uint32_t i = 0; i < 3; i++) {
		const struct waker peer = { .pid = 10, .tid = 20 + (i + 1) % 3, .comm = "sync" };
		uint32_t thread = thread_of(p, 20 + i, "sync", 10), waits[2];

		for (uint32_t k = 0; k < 2; k++) {
			waits[k] = add_wait(p, thread, 'S', k ? 60 : 20, 100, "work@sync put@sync pthread_mutex_lock@libc.so.6", FUTEX);
			is_for(p, waits[k], &o);
		}
		ended_by(p, waits[0], &other, "main@loader put@loader pthread_mutex_unlock@libc.so.6", "futex_wake@[kernel]");
		ended_by(p, waits[1], &peer, "work@sync put@sync pthread_mutex_unlock@libc.so.6", "futex_wake@[kernel]");
	}
	struct explanation *e = explanation_new(p, NULL);
	const struct headline *first = &g_array_index(e->headlines, struct headline, 0);

	g_test_message("%s; %s; %s", first->sentence, first->evidence, first->advice);
	g_assert_nonnull(strstr(first->evidence, "held by loader/99"));
	g_assert_true(g_str_has_prefix(first->advice, "Another program has it"));
	explanation_free(e);
	profile_free(p);
}

/* Nobody has answered, and threads of the server wait for something themselves: that leads, and more clients do not help. */
static void test_unanswered(void)
{
	for (int is_stuck = 0; is_stuck < 2; is_stuck++) {
		struct profile *p = window_new();
		const struct object socket = { .kind = OBJECT_SOCKET, .pid = 20, .name = "127.0.0.1:3306 (mariadbd)", .place = "tcp", .operation = "" };

		p->info.filters = profile_string(p, "process php,mariadbd");
		p->info.has_wakers = true;
		for (uint32_t k = 0; k < 2; k++) {
			const uint32_t worker = thread_of(p, 11 + k, "php", 5);
			struct thread session = *profile_thread(p, worker);

			session.pid = 20;
			session.tid = 21 + k;
			session.comm = session.process = profile_string(p, "mariadbd");
			uint32_t asks = add_wait(p, k ? 2 : 0, 'S', 1, 9900, "main@php search@php recv@libc.so.6",
						 "__x64_sys_recvfrom@[kernel] tcp_recvmsg@[kernel]");
			struct wait *w = &g_array_index(p->waits, struct wait, asks);

			w->object = profile_object(p, &socket) + 1;
			w->flags = WAIT_OPEN_AT_START | WAIT_OPEN_AT_END;
			uint32_t at = profile_add_thread(p, &session);
			uint32_t waits = add_wait(p, at, 'S', is_stuck ? 9 : 1, 1000, "do_command@mariadbd open_table@mariadbd "
						  "MDL_wait::timed_wait@mariadbd pthread_cond_timedwait@libc.so.6", FUTEX);
			const struct waker timer = { .comm = "", .irq = "timer" };
			const struct wake wake = { .wait = waits, .waker = profile_waker(p, &timer), .count = 8, .blocked_ns = 8000 * MS };
			if (is_stuck)
				profile_add_wake(p, &wake);
		}
		struct explanation *e = explanation_new(p, NULL);
		const struct headline *first = &g_array_index(e->headlines, struct headline, 0), *asks = headline_with(e, "php waits for data");

		g_test_message("%s %s", first->sentence, asks->advice);
		g_assert_true((first == asks) == !is_stuck);
		g_assert_true(g_str_has_prefix(asks->advice, "It only queues behind") == is_stuck);
		explanation_free(e);
		profile_free(p);
	}
}

static uint32_t process_of(struct profile *p, uint32_t pid, const char *name)
{
	uint32_t thread = fixture_thread(p, pid, pid, name, name);

	g_array_index(p->threads, struct thread, thread).to_ns = WINDOW_MS * MS;
	return thread;
}

/* A client asks a program that asks a database, which waits for a row: the row leads, if it takes most of that time. */
static void test_chain_to_lock(void)
{
	static const char receive[] = "__x64_sys_recvfrom@[kernel] tcp_recvmsg@[kernel]";
	const struct object at_app = { .kind = OBJECT_SOCKET, .pid = 200, .name = "10.0.0.2:80 (app)", .place = "tcp" },
			    at_base = { .kind = OBJECT_SOCKET, .pid = 300, .name = "10.0.0.3:9 (base)", .place = "tcp" };

	for (int is_lock = 0; is_lock < 2; is_lock++) {
		struct profile *p = window_new();
		const uint32_t client = process_of(p, 100, "client"), app = process_of(p, 200, "app"), base = process_of(p, 300, "base");
		uint32_t asks = add_wait(p, client, 'S', 10, 950, "main@client buy@client recv@libc.so.6", receive);
		uint32_t passes = add_wait(p, app, 'S', 10, 930, "main@app serve@app query@app recv@libc.so.6", receive);

		p->info.filters = profile_string(p, "process client,app,base");
		is_for(p, asks, &at_app);
		is_for(p, passes, &at_base);
		ended_by(p, asks, &(struct waker){ .pid = 200, .tid = 200, .comm = "app" }, "main@app serve@app send@libc.so.6", "");
		ended_by(p, passes, &(struct waker){ .pid = 300, .tid = 300, .comm = "base" }, "main@base reply@base send@libc.so.6", "");
		add_wait(p, base, 'S', 10, is_lock ? 900 : 300, "main@base statement@base lock_wait@base pthread_mutex_lock@libc.so.6", FUTEX);
		if (!is_lock)
			add_wait(p, base, 'D', 10, 600, "main@base statement@base pread@libc.so.6", READ);
		struct explanation *e = explanation_new(p, NULL);
		const struct headline *first = &g_array_index(e->headlines, struct headline, 0);

		g_test_message("%s; %s", first->sentence, first->evidence);
		g_assert_cmpint(strstr(first->sentence, "base waits for a lock") != NULL, ==, is_lock);
		explanation_free(e);
		profile_free(p);
	}
}

/*
 * As sshd, which has no symbols: its monitor looks up the client's name, and the process that talks to the client waits
 * for it by a socket pair.  If both do the same in one function without name they are told apart.
 */
static void test_own_program(void)
{
	static const char receive[] = "__x64_sys_read@[kernel] unix_stream_read_generic@[kernel]";
	const struct object server = { .kind = OBJECT_SOCKET, .name = "127.0.0.53:53", .place = "udp" },
			    monitor = { .kind = OBJECT_SOCKET, .pid = 100, .name = "unix socket (sshd)", .place = "unix" };

	for (int is_short = 0; is_short < 2; is_short++) {
		struct profile *p = window_new();
		uint32_t looks = add_wait(p, process_of(p, 100, "sshd"), 'S', is_short ? 1 : 2, 2000,
					  "?@sshd getnameinfo@libc.so.6 send_dg@libc.so.6 poll@libc.so.6", POLL);
		uint32_t asks = add_wait(p, process_of(p, 101, "sshd"), 'S', 2, 2002, "?@sshd read@libc.so.6", receive);

		p->info.filters = profile_string(p, "process sshd");
		is_for(p, looks, &server);
		is_for(p, asks, &monitor);
		ended_by(p, looks, &(struct waker){ .irq = "timer" }, "", "");
		ended_by(p, asks, &(struct waker){ .pid = 100, .tid = 100, .comm = "sshd" }, "?@sshd write@libc.so.6", "");
		struct explanation *e = explanation_new(p, NULL);
		const struct headline *first = &g_array_index(e->headlines, struct headline, 0);

		g_test_message("%s; %s", first->sentence, first->evidence);
		g_assert_cmpint(strstr(first->sentence, "sshd waits for a name server (DNS), 127.0.0.53:53") != NULL, ==, !is_short);
		g_assert_cmpint(g_str_has_prefix(headline_with(e, "from a Unix socket (sshd)")->advice, "It only queues behind"), ==, !is_short);
		explanation_free(e);
		profile_free(p);
	}
}

/* A lock of the logger: its holder sends to a server that has no room, or to a client of the program's own. */
static void test_lock_before_peer(void)
{
	static const char send[] = "__x64_sys_sendto@[kernel] tcp_sendmsg@[kernel] sk_stream_wait_memory@[kernel]";
	const struct object lock = { .kind = LOCK_MUTEX, .name = "heap 0x1000", .place = "[heap]", .pid = 10, .addr = 0x1000,
				     .is_private = true, .holder_tid = 20 };

	for (int is_client = 0; is_client < 2; is_client++) {
		const struct object peer = { .kind = OBJECT_SOCKET, .pid = 99, .place = "tcp",
					     .name = is_client ? ":80 from 127.0.0.1 (curl)" : "127.0.0.1:514 (logger)" };
		struct profile *p = window_new();
		uint32_t sends = add_wait(p, thread_of(p, 20, "app", 10), 'S', 9, 1000, "main@app log@app send@libc.so.6", send);

		is_for(p, sends, &peer);
		ended_by(p, sends, &(struct waker){ .pid = 99, .tid = 99, .comm = "peer" }, "main@peer recv@libc.so.6", "");
		for (uint32_t tid = 21; tid < 24; tid++) {
			uint32_t waits = add_wait(p, thread_of(p, tid, "app", 10), 'S', 9, 900,
						  "main@app log@app pthread_mutex_lock@libc.so.6", FUTEX);

			is_for(p, waits, &lock);
			ended_by(p, waits, &(struct waker){ .pid = 10, .tid = 20, .comm = "app" },
				 "main@app log@app pthread_mutex_unlock@libc.so.6", FUTEX);
		}
		struct explanation *e = explanation_new(p, NULL);
		const struct headline *first = &g_array_index(e->headlines, struct headline, 0);

		g_test_message("%s; %s", first->sentence, first->evidence);
		g_assert_cmpint(strstr(first->sentence, "waits for a mutex") != NULL, ==, is_client);
		g_assert_cmpint(g_str_has_prefix(headline_with(e, "waits for a mutex")->advice, "It only queues behind"), ==, !is_client);
		explanation_free(e);
		profile_free(p);
	}
}

/* Three wait for what a fourth raises, which waits for its data: look at that.  Of one that computes nothing is said. */
static void test_latest(void)
{
	const struct waker late = { .pid = 10, .tid = 20, .comm = "train" };

	for (int has_cause = 0; has_cause < 2; has_cause++) {
		struct profile *p = window_new();
		uint32_t last = thread_of(p, 20, "train", has_cause ? 10 : 9000);

		if (has_cause)
			add_wait(p, last, 'S', 90, 100, "main@train load@train recv@libc.so.6", "__x64_sys_recvfrom@[kernel] tcp_recvmsg@[kernel]");
		for (uint32_t tid = 21; tid < 24; tid++)
			ended_by(p, add_wait(p, thread_of(p, tid, "train", 10), 'S', 90, 100, "main@train reduce@train sem_wait@libc.so.6", FUTEX),
				 &late, "main@train reduce@train sem_post@libc.so.6", FUTEX);
		struct explanation *e = explanation_new(p, NULL);
		const struct headline *h = headline_with(e, "waits for a semaphore");

		g_assert_cmpint(g_str_has_prefix(h->advice, "One ends nearly all of these waits"), ==, has_cause);
		explanation_free(e);
		profile_free(p);
	}
}

/* What holds the last child up is told of whichever process still waited for it; that one of many sleeps is not. */
static void test_child_of_another(void)
{
	static const struct { bool is_open, is_told; const char *does; } cases[] = {
		{ true, true, "4711 network 0 10.0.0.5:80 curl" }, { false, false, "4711 network 0 10.0.0.5:80 curl" },
		{ true, false, "4711 sleeps 0 - curl" },
	};

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		struct profile *p = window_new();
		const struct object child = { .kind = OBJECT_CHILD, .name = "sh", .place = "" };
		static const char in_wait[] = "__x64_sys_wait4@[kernel] kernel_wait4@[kernel] do_wait@[kernel]",
				  user[] = "main@job render@job waitpid@libc.so.6";
		uint32_t first = add_wait(p, process_of(p, 100, "job"), 'S', 2, 4000, user, in_wait),
			 last = add_wait(p, process_of(p, 200, "job"), 'S', 1, 3000, user, in_wait);

		p->info.filters = profile_string(p, "process job");
		is_for(p, first, &child);
		is_for(p, last, &child);
		g_array_index(p->waits, struct wait, last).flags = cases[i].is_open ? WAIT_OPEN_AT_END : 0;
		profile_add_limit(p, LIMIT_CHILD, 200, 0, cases[i].does);
		struct explanation *e = explanation_new(p, NULL);
		const struct headline *h = headline_with(e, "job waits for a child to end");

		g_test_message("%s; %s", h->sentence, h->evidence);
		g_assert_cmpint(strstr(h->evidence, "its child curl/4711") != NULL, ==, cases[i].is_told);
		explanation_free(e);
		profile_free(p);
	}
}

/*
 * A script computes with the lock and sleeps without, or sleeps with it, all in one function that it never leaves: how
 * long others wait tells which.
 */
static void test_sleep_in_a_loop(void)
{
	static const uint64_t waited_ms[] = { 14, 40 };

	for (size_t i = 0; i < G_N_ELEMENTS(waited_ms); i++) {
		struct profile *p = window_new();
		uint32_t index = thread_of(p, 11, "index", 1000), api = thread_of(p, 12, "api", 100);
		uint32_t lock = add_wait(p, api, 'S', 100, waited_ms[i], "main@api price@api pthread_mutex_lock@libc.so.6",
					 "__x64_sys_futex@[kernel] futex_wait@[kernel]");

		p->info.has_wakers = true;
		add_wait(p, index, 'S', 100, 57, "main@index {main}@index.pl clock_nanosleep@libc.so.6",
			 "__x64_sys_clock_nanosleep@[kernel] do_nanosleep@[kernel]");
		add_wait(p, index, 'R', 100, 30, "main@index {main}@index.pl rebuild@index.pl", "");
		woken_in(p, lock, index, "main@index {main}@index.pl pthread_mutex_unlock@libc.so.6", 100, 100 * waited_ms[i]);
		struct explanation *e = explanation_new(p, NULL);
		const struct headline *h = headline_with(e, "waits for a mutex in price");

		g_test_message("%s", h->evidence);
		g_assert_nonnull(strstr(h->evidence, i ? "meanwhile sleeps" : "meanwhile waits for a CPU"));
		explanation_free(e);
		profile_free(p);
	}
}

/* Who reads from a full pipe computes: that is what takes the time, and no fault of the pipe's. */
static void test_computing_reader(void)
{
	for (unsigned computes = 0; computes < 2; computes++) {
		struct profile *p = window_new();
		uint32_t tar = thread_of(p, 11, "tar", 20), xz = thread_of(p, 12, "xz", computes ? 9000 : 10);
		uint32_t wait = add_wait(p, tar, 'S', 20, 400, "main@tar write@libc.so.6",
					 "__x64_sys_write@[kernel] vfs_write@[kernel] pipe_write@[kernel]");

		p->info.has_wakers = true;
		g_array_index(p->threads, struct thread, xz).pid = 12;
		woken_in(p, wait, xz, "main@xz read@libc.so.6", 20, 8000);
		struct explanation *e = explanation_new(p, NULL);
		const struct headline *h = headline_with(e, "tar waits for room in a full pipe");

		g_test_message("%s; %s", h->evidence, h->advice);
		g_assert_true(g_str_has_prefix(h->advice, computes ? "Its reader computes" : "The reader of the pipe is slower"));
		explanation_free(e);
		profile_free(p);
	}
}

/* A server's process for one session begins in the window, and has the name of the recorded one that began it. */
static void test_unrecorded_kin(void)
{
	static const char *const names[] = { "sshd", "inetd" };

	for (size_t i = 0; i < G_N_ELEMENTS(names); i++) {
		const struct object to = { .kind = OBJECT_SOCKET, .operation = "", .name = "127.0.0.1:22 (sshd)", .place = "tcp" };
		struct profile *p = window_new();
		uint32_t ssh = thread_of(p, 11, "ssh", 20), sshd = thread_of(p, 12, names[i], 1);
		uint32_t wait = add_wait(p, ssh, 'S', 3, 1700, "main@ssh read@libc.so.6",
					 "__x64_sys_read@[kernel] tcp_recvmsg@[kernel] sk_wait_data@[kernel]");
		const struct waker waker = { .pid = 99, .tid = 99, .comm = "sshd" };
		const struct wake wake = { .wait = wait, .waker = profile_waker(p, &waker), .count = 3, .blocked_ns = 5100 * MS };

		p->info.has_wakers = true;
		g_array_index(p->threads, struct thread, sshd).pid = 12;
		fixture_is_for(p, wait, &to);
		profile_add_wake(p, &wake);
		struct explanation *e = explanation_new(p, NULL);
		const struct headline *h = headline_with(e, "ssh waits for data from the network");

		g_test_message("%s; %s", h->evidence, h->advice);
		g_assert_true(g_str_has_prefix(h->advice, i ? "Look at the peer" : "Who answers began meanwhile"));
		explanation_free(e);
		profile_free(p);
	}
}

/* Who looks by a time limit whether a helper of its own process has written is behind what that one waits for. */
static void test_behind_own_helper(void)
{
	for (int is_own = 0; is_own < 2; is_own++) {
		struct profile *p = window_new();
		const struct object both = { .kind = OBJECT_SOCKET, .pid = 10, .operation = "", .place = "unix", .name = "unix socket (hook)" };
		const struct object peer = { .kind = OBJECT_SOCKET, .operation = "", .name = "10.0.0.5:80", .place = "tcp" };
		const struct waker timer = { .comm = "", .irq = "timer" };
		const struct waker writes = { .pid = is_own ? 10 : 20, .tid = 12, .comm = "hook" };
		uint32_t looks = add_wait(p, thread_of(p, 11, "hook", 500), 'S', 32, 250, "main@hook send_all@hook recv@libc.so.6",
					  "__x64_sys_recvfrom@[kernel] unix_stream_read_generic@[kernel]");
		uint32_t asks = add_wait(p, thread_of(p, 12, "hook", 500), 'S', 4, 1750, "helper@hook resolve@hook recv@libc.so.6",
					 "__x64_sys_recvfrom@[kernel] tcp_recvmsg@[kernel]");
		const struct wake wakes[] = {
			{ .wait = looks, .waker = profile_waker(p, &timer), .count = 28, .blocked_ns = 7000 * MS },
			{ .wait = looks, .waker = profile_waker(p, &writes), .count = 4, .blocked_ns = 1000 * MS },
		};

		p->info.has_wakers = true;
		fixture_is_for(p, looks, &both);
		fixture_is_for(p, asks, &peer);
		profile_add_wake(p, &wakes[0]);
		profile_add_wake(p, &wakes[1]);
		struct explanation *e = explanation_new(p, NULL);
		const struct headline *behind = headline_with(e, "in send_all");

		g_assert_true((&g_array_index(e->headlines, struct headline, 0) == behind) == !is_own);
		g_assert_true(g_str_has_prefix(behind->advice, "It only queues behind") == is_own);
		explanation_free(e);
		profile_free(p);
	}
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/explain/thread-for-each-task", test_thread_for_each_task);
	g_test_add_func("/explain/sleep-that-is-awaited", test_sleep_that_is_awaited);
	g_test_add_func("/explain/clock-that-answers", test_clock_that_answers);
	g_test_add_func("/explain/connections", test_connections);
	g_test_add_func("/explain/full-queue", test_full_queue);
	g_test_add_func("/explain/full-ring-buffer", test_full_ring_buffer);
	g_test_add_func("/explain/shared-lock", test_shared_lock);
	g_test_add_func("/explain/load", test_load);
	g_test_add_func("/explain/load-of-idle", test_load_of_idle);
	g_test_add_func("/explain/own-conditions", test_own_conditions);
	g_test_add_func("/explain/asyncio-deadlock", test_asyncio_deadlock);
	g_test_add_func("/explain/relay", test_relay);
	g_test_add_func("/explain/sole-waker", test_sole_waker);
	g_test_add_func("/explain/unanswered", test_unanswered);
	g_test_add_func("/explain/child-of-another", test_child_of_another);
	g_test_add_func("/explain/chain-to-lock", test_chain_to_lock);
	g_test_add_func("/explain/own-program", test_own_program);
	g_test_add_func("/explain/lock-before-peer", test_lock_before_peer);
	g_test_add_func("/explain/latest", test_latest);
	g_test_add_func("/explain/chain-of-pipes", test_chain_of_pipes);
	g_test_add_func("/explain/pausing-workers", test_pausing_workers);
	g_test_add_func("/explain/sleep-in-a-loop", test_sleep_in_a_loop);
	g_test_add_func("/explain/computing-reader", test_computing_reader);
	g_test_add_func("/explain/unrecorded-kin", test_unrecorded_kin);
	g_test_add_func("/explain/behind own helper", test_behind_own_helper);
	return g_test_run();
}
