/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "window.h"

#include "features/slices/rows_build.h"
#include "profile/limits.h"

#define READ "__x64_sys_pread64@[kernel] filemap_read@[kernel] folio_wait_bit_common@[kernel] io_schedule@[kernel]"
#define NAP "__x64_sys_clock_nanosleep@[kernel] do_nanosleep@[kernel]"
#define USER "main@app serve@app read@libc.so.6"

static void set_object(struct profile *p, uint32_t wait, const struct object *object)
{
	fixture_is_for(p, wait, object);
}

/* A timer that ends the waits of a kernel thread is known as it is of others. */
static void test_kernel_thread(void)
{
	struct profile *p = window_new();
	uint32_t thread = thread_of(p, 7, "kwork", 0);
	const struct waker timer = { .comm = "", .irq = "timer" };

	g_array_index(p->threads, struct thread, thread).flags = THREAD_KERNEL;
	p->info.has_wakers = true;
	uint32_t wait = add_wait(p, thread, 'D', 100, 50, "", "kthread@[kernel] msleep@[kernel] schedule_timeout@[kernel]");
	const struct wake wake = { .wait = wait, .waker = profile_waker(p, &timer), .count = 100, .blocked_ns = 5000 * MS };

	profile_add_wake(p, &wake);
	struct explanation *e = explanation_new(p, NULL);

	g_assert_cmpuint(e->headlines->len, ==, 1);
	g_assert_cmpstr(g_array_index(e->findings->rows, struct finding, 0).by.comm, ==, "timer");
	g_assert_cmpuint(explanation_headline_of(e, wait), ==, 1);
	explanation_free(e);
	profile_free(p);
}

/* Eighty short waits in ten seconds are nobody's trouble; one that somebody notices is. */
static void test_healthy(void)
{
	for (unsigned is_slow = 0; is_slow < 2; is_slow++) {
		struct profile *p = window_new();
		uint32_t thread = thread_of(p, 11, "app", 40);

		add_wait(p, thread, 'D', 80, 4, USER, READ);
		add_wait(p, thread, 'R', 80, 1, USER, "");
		if (is_slow)
			add_wait(p, thread, 'D', 1, 150, "main@app flush@app read@libc.so.6", READ);
		struct explanation *e = explanation_new(p, NULL);

		g_assert_cmpint(e->little == NULL, ==, is_slow);
		g_assert_cmpint(e->headlines->len > 0, ==, is_slow);
		if (e->little)
			g_assert_nonnull(strstr(e->little, "Little to find: "));
		explanation_free(e);
		profile_free(p);
	}
}

#define PARK "jdk.internal.misc.Unsafe.park@jvm Unsafe_Park@libjvm.so pthread_cond_timedwait@libc.so.6"
#define FUTEX "__x64_sys_futex@[kernel] futex_wait@[kernel]"

#define NGINX "main@nginx ngx_master_process_cycle@nginx ngx_spawn_process@nginx "
#define SENDS "ngx_event_process_posted@nginx ngx_http_output_filter@nginx sendfile@libc.so.6"

/*
 * What a worker of nginx waits for while it serves one connection all others wait for; where it waits for them it is
 * idle.  It serves them one by one, whatever it is that it waits for.
 */
static void test_only_loop(void)
{
	static const struct {
		const char *user, *kernel, *says;
		char state;
	} cases[] = {
		{ NGINX SENDS, "__x64_sys_sendfile64@[kernel] filemap_get_pages@[kernel] folio_wait_bit_common@[kernel] "
			       "io_schedule@[kernel]", "nginx holds up its event loop (nginx): it waits for a read from disk", 'D' },
		{ NGINX "ngx_http_log_handler@nginx write@libc.so.6", "__x64_sys_write@[kernel] ksys_write@[kernel] "
			"balance_dirty_pages@[kernel] io_schedule_timeout@[kernel]", "nginx holds up its event loop (nginx): it ", 'D' },
		{ NGINX "epoll_wait@libc.so.6", "__x64_sys_epoll_wait@[kernel] ep_poll@[kernel]", NULL, 'S' },
	};

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		struct profile *p = window_new();
		uint32_t worker = thread_of(p, 11, "nginx", 200);

		add_wait(p, worker, cases[i].state, 40, 200, cases[i].user, cases[i].kernel);
		struct explanation *e = explanation_new(p, NULL);

		g_assert_cmpuint(e->headlines->len, ==, cases[i].says != NULL);
		if (cases[i].says) {
			const struct headline *first = &g_array_index(e->headlines, struct headline, 0);

			if (!strstr(first->sentence, cases[i].says))
				g_error("case %zu: %s", i, first->sentence);
			g_assert_nonnull(strstr(first->advice, "A worker serves its connections one by one"));
		}
		explanation_free(e);
		profile_free(p);
	}
}

/* A writer that nobody read from all the time has no slow reader. */
static void test_pipe_of_nobody(void)
{
	for (unsigned is_slow = 0; is_slow < 2; is_slow++) {
		struct profile *p = window_new();

		p->info.has_wakers = true;
		uint32_t wait = add_wait(p, thread_of(p, 11, "app", 0), 'S', is_slow ? 20 : 1, is_slow ? 400 : 9900,
					 "main@app put@app write@libc.so.6", "__x64_sys_write@[kernel] vfs_write@[kernel] pipe_write@[kernel]");
		g_array_index(p->waits, struct wait, wait).flags = is_slow ? 0 : WAIT_OPEN_AT_END;
		struct explanation *e = explanation_new(p, NULL);
		const struct headline *h = &g_array_index(e->headlines, struct headline, 0);

		g_assert_cmpint(g_str_has_prefix(h->advice, "Nobody read from it"), ==, !is_slow);
		g_assert_cmpint(g_str_has_prefix(h->advice, "The reader of the pipe is slower"), ==, is_slow);
		explanation_free(e);
		profile_free(p);
	}
}

/* No all-clear while clients wait, of a process that is asked for; who queues for what is mostly free? */
static void test_healthy_but_owing(void)
{
	static const struct {
		uint32_t pid;
		const char *limit, *told;
	} cases[] = {
		{ 20, "6 clients wait, 1 connections to 10.0.0.5:80 (db)", "Little to find: " },
		{ 10, "6 clients wait, 1 connections to 10.0.0.5:80 (db)",
		  "6 clients of app waited for answers as the recording ended, with one connection to 10.0.0.5:80 (db), "
		  "for which the others queue if it carries one request at a time, and little is found in its threads: " },
		{ 10, "5 of 7 looks, 6 of 7 asked: 6 clients wait, 1 connections to 10.0.0.5:80 (db)",
		  "About 6 clients of app waited for answers in 5 of 7 looks, with one connection to 10.0.0.5:80 (db), which was busy in "
		  "6 of 7 looks and for which the others queue if it carries one request at a time, and little is found in its threads: " },
		{ 10, "7 of 7 looks, 7 of 14 asked: 6 clients wait, 2 connections to 10.0.0.5:80 (db)",
		  "About 6 clients of app waited for answers in 7 of 7 looks, with 2 connections to 10.0.0.5:80 (db), of which 1.0 were busy "
		  "on average and for which the others queue if each carries one request at a time, and little is found in its threads: " },
		{ 10, "7 of 7 looks, 6 of 14 asked: 6 clients wait, 2 connections to 10.0.0.5:80 (db)",
		  "About 6 clients of app waited for answers in 7 of 7 looks, with 2 connections to 10.0.0.5:80 (db), of which 0.9 were busy "
		  "on average, and little is found in its threads: " },
		{ 10, "7 of 7 looks, 7 of 7 asked: 6 clients wait, 1 connections to 127.0.0.1:6379 (redis-server)",
		  "About 6 clients of app waited for answers in 7 of 7 looks, with one connection to 127.0.0.1:6379 (redis-server), which "
		  "was busy in 7 of 7 looks and for which the others queue if it carries one request at a time. That server had nothing to "
		  "do: a command that waits for work (BRPOP, XREAD, SUBSCRIBE) keeps all behind it waiting, so give it a connection of its "
		  "own. Else little is found: " },
	};

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		struct profile *p = window_new();
		uint32_t thread = thread_of(p, 11, "app", 40);

		add_wait(p, thread, 'D', 80, 4, USER, READ);
		profile_add_limit(p, LIMIT_OWED, cases[i].pid, 0, cases[i].limit);
		profile_add_limit(p, LIMIT_RESTS, 50, 0, "13 of 13 looks");
		bool selected[] = { true }, waits[] = { true };
		struct selection selection = { .threads = selected, .waits = waits };
		struct explanation *e = explanation_new(p, &selection);

		g_assert_true(g_str_has_prefix(e->little, cases[i].told));
		explanation_free(e);
		profile_free(p);
	}
}

/* An event loop that tries again and again to connect waits for nothing: its connections tell. */
static void test_healthy_but_alone(void)
{
	static const struct {
		const char *limit;
		uint32_t tid;	/* whose they are; thread 11 is selected */
		bool is_told;
	} cases[] = {
		{ "5 connections to 10.0.0.5:80: refused", 11, true },
		{ "4 connections to 10.0.0.5:80: refused", 11, false },	/* less than one in two seconds */
		{ "5 connections to 10.0.0.5:80: refused", 12, false },
	};

	for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
		struct profile *p = window_new();
		uint32_t thread = thread_of(p, 11, "app", 40);
		bool selected[] = { true, false }, waits[] = { true };
		struct selection selection = { .threads = selected, .waits = waits };

		thread_of(p, 12, "app", 40);
		add_wait(p, thread, 'D', 80, 4, USER, READ);
		profile_add_limit(p, LIMIT_CONNECT, 10, cases[i].tid, cases[i].limit);
		struct explanation *e = explanation_new(p, &selection);

		g_assert_nonnull(e->little);
		g_assert_cmpint(g_str_has_prefix(e->little, "5 connections to 10.0.0.5:80 were refused, and little is found in the threads "
							    "of app: "), ==, cases[i].is_told);
		g_assert_cmpint(g_str_has_suffix(e->little, "if it needs that service, see why it fails."), ==, cases[i].is_told);
		explanation_free(e);
		profile_free(p);
	}
}

/* What computes waits for a CPU now and then, and is told to look elsewhere; with as many waits as work it is not. */
static void test_computes(void)
{
	for (unsigned is_crowded = 0; is_crowded < 2; is_crowded++) {
		struct profile *p = window_new();

		for (uint32_t i = 0; i < 2; i++)
			add_wait(p, thread_of(p, 20 + i, "xz", is_crowded ? 5000 : 9700), 'R', 100, is_crowded ? 50 : 3,
				 "main@xz encode@xz", "");
		struct explanation *e = explanation_new(p, NULL);

		if (is_crowded)
			g_assert_cmpuint(e->headlines->len, ==, 1);
		else
			g_assert_cmpstr(e->little, ==,
					"Little to find: xz computes: 97% of its workers' time is on CPU; a CPU profile tells more.");
		/* the two CPUs were free for half of the time */
		if (is_crowded)
			g_assert_nonnull(strstr(g_array_index(e->headlines, struct headline, 0).advice, "CPUs were free"));
		explanation_free(e);
		profile_free(p);
	}
}

/*
 * A ticker that nobody waits for never leads, and where it is all there is that is little, also with what it asks at each turn; one that also works, or sleeps as it comes, is none,
 * but chose to sleep: what threads cannot help waiting for leads before three times as much of that.
 */
static void test_clock(void)
{
	enum { STALL, ALONE, BESIDE, WORKS, IRREGULAR, CASES };

	for (unsigned i = 0; i < CASES; i++) {
		struct profile *p = window_new();
		uint32_t ticker = thread_of(p, 11, "shop", i == WORKS ? 1200 : 40);

		add_wait(p, ticker, 'S', i == IRREGULAR ? 200 : 3000, i == IRREGULAR ? 20 : 3,
			 "main@shop ticker@shop clock_nanosleep@libc.so.6", NAP);
		if (i == IRREGULAR)
			add_wait(p, ticker, 'S', 1000, 5, "main@shop ticker@shop clock_nanosleep@libc.so.6", NAP);
		if (i == BESIDE)
			set_object(p, add_wait(p, ticker, 'S', 100, 7, "main@shop ticker@shop recv@libc.so.6",
					       "__x64_sys_recvfrom@[kernel] tcp_recvmsg@[kernel]"),
				   &(struct object){ .kind = OBJECT_SOCKET, .name = "10.0.0.5:80", .place = "tcp", .operation = "" });
		for (uint32_t k = 0; k < 4 && i != ALONE && i != BESIDE; k++)
			add_wait(p, thread_of(p, 20 + k, "shop", 100), 'D', 1, 700, USER, READ);
		struct explanation *e = explanation_new(p, NULL);

		g_assert_cmpint(e->little != NULL, ==, i == ALONE || i == BESIDE);
		if (e->little) {
			g_assert_nonnull(strstr(e->little, "idle or a clock's"));
			g_assert_nonnull(strstr(e->little, " shop sleeps until a timer in ticker, 300 times a second. It only"));
			explanation_free(e);
			profile_free(p);
			continue;
		}
		g_assert_cmpint(g_array_index(e->headlines, struct headline, 0).finding->reason, ==, REASON_DISK_READ);
		const struct headline *sleep = headline_with(e, "sleeps until a timer");
		g_assert_cmpint(sleep->finding->clock_ns > 0, ==, i == STALL);
		g_assert_true(g_str_has_prefix(sleep->advice, sleep->finding->clock_ns ? "It only sleeps" : "See why it pauses"));
		explanation_free(e);
		profile_free(p);
	}
}

/* A traced process that stops tells its tracer in a function whose name begins as that of one that ends. */
static void test_tracer(void)
{
	static const struct {
		const char *kernel, *says;
	} cases[] = {
		{ "ptrace_stop@[kernel] do_notify_parent_cldstop@[kernel]", "that it traces or controls to stop" },
		{ "do_exit@[kernel] exit_notify@[kernel] do_notify_parent@[kernel]", "waits for a child to end" },
	};

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		struct profile *p = window_new();
		const struct waker traced = { .comm = "app", .pid = 20, .tid = 20,
					      .kernel = fixture_stack(p, FRAME_KERNEL, STACK_COMPLETE, cases[i].kernel) };
		uint32_t wait = add_wait(p, thread_of(p, 11, "strace", 40), 'S', 20, 100,
					 "main@strace wait4@libc.so.6", "__x64_sys_wait4@[kernel] do_wait@[kernel]");
		const struct wake wake = { .wait = wait, .waker = profile_waker(p, &traced), .count = 20,
					   .blocked_ns = 2000 * MS };

		p->info.has_wakers = true;
		profile_add_wake(p, &wake);
		struct explanation *e = explanation_new(p, NULL);

		g_assert_nonnull(strstr(g_array_index(e->headlines, struct headline, 0).sentence, cases[i].says));
		explanation_free(e);
		profile_free(p);
	}
}

/* A run queue ranks behind what has less time, and the screen says why. */
static void test_order(void)
{
	struct profile *p = window_new();
	uint32_t thread = thread_of(p, 11, "app", 1000);

	add_wait(p, thread, 'D', 20, 100, USER, READ);
	add_wait(p, thread, 'R', 100, 40, "main@app work@app", "");
	struct explanation *e = explanation_new(p, NULL);
	const struct headline *h = &g_array_index(e->headlines, struct headline, 0);

	g_assert_cmpuint(e->headlines->len, ==, 2);
	g_assert_true(g_str_has_prefix(h[0].sentence, "33% of the time that matters: app waits for a read"));
	g_assert_true(g_str_has_prefix(h[1].sentence, "67% of the time that matters: app waits for a CPU"));
	g_assert_nonnull(strstr(h[1].evidence, "behind others, as the load of others causes it"));
	explanation_free(e);
	profile_free(p);
}


static void set_lock(struct profile *p, uint32_t wait, uint8_t kind, const char *name, uint64_t addr)
{
	const struct object lock = {
		.kind = kind,
		.is_private = true,
		.operation = "FUTEX_WAIT",
		.name = profile_string(p, name),
		.place = profile_string(p, *name == 'h' ? "[heap]" : "/usr/bin/app"),
		.pid = 10,
		.addr = addr,
	};

	fixture_is_for(p, wait, &lock);
}

/* Twelve locks on the heap at one place are one finding, and so is an array; a name of its own is told apart. */
static void test_one_of(void)
{
	static const struct {
		unsigned cnt;
		const char *function, *name;
		const char *says;
	} kinds[] = {
		{ 12, "put_row", "heap 0x%x", "waits for a mutex, one of 12, in put_row" },
		{ 4, "hash_put", "stripes+0x%x", "waits for a mutex, one of 4 in stripes, in hash_put" },
		{ 1, "audit", "audit_lock+0x0", "waits for a mutex, audit_lock, in audit" },
	};
	struct profile *p = window_new();
	uint32_t tid = 100;

	for (unsigned k = 0; k < G_N_ELEMENTS(kinds); k++)
		for (unsigned i = 0; i < kinds[k].cnt; i++, tid++) {
			char user[128], name[64];

			g_snprintf(user, sizeof(user), "main@app %s@app pthread_mutex_lock@libc.so.6", kinds[k].function);
			if (k == 2)
				g_strlcpy(name, kinds[k].name, sizeof(name));
			else
				g_snprintf(name, sizeof(name), k ? "stripes+0x%x" : "heap 0x%x", 0x1000 + 64 * i);
			uint32_t wait = add_wait(p, thread_of(p, tid, "app", 0), 'S', 20, 100, user, FUTEX);

			set_lock(p, wait, LOCK_MUTEX, name, 0x10000 * (k + 1) + 64 * i);
		}
	struct explanation *e = explanation_new(p, NULL);

	g_assert_cmpuint(e->findings->rows->len, ==, 3);
	for (unsigned k = 0; k < G_N_ELEMENTS(kinds); k++) {
		const struct headline *h = &g_array_index(e->headlines, struct headline, k);

		g_assert_nonnull(strstr(h->sentence, kinds[k].says));
		g_assert_cmpuint(h->finding->locks_cnt, ==, kinds[k].cnt);
		g_assert_cmpuint(h->finding->time_ns, ==, kinds[k].cnt * 2000 * MS);
	}
	explanation_free(e);
	profile_free(p);
}

#define UV "start_thread@libc.so.6 worker@node "
#define LOOKUP "uv__getaddrinfo_work@node getaddrinfo@libc.so.6 send_dg@libc.so.6 poll@libc.so.6"
#define SUBMIT "fetchPrice@/app/dns.js <anonymous>@/app/dns.js lookup@node:dns uv_getaddrinfo@node uv__work_submit@node "

/* Of a name server that answers nobody: the program's function and libuv's queue, not its threads' function. */
static void test_queue_of_lookups(void)
{
	struct profile *p = window_new();
	const struct waker timer = { .comm = "", .irq = "timer" };
	const struct waker main = { .comm = "node", .pid = 10, .tid = 10,
				    .user = fixture_stack(p, FRAME_USER, STACK_COMPLETE,
							  SUBMIT "uv_cond_signal@node pthread_cond_signal@libc.so.6") };

	p->info.has_wakers = true;
	for (uint32_t i = 0; i < 4; i++) {
		uint32_t thread = thread_of(p, 20 + i, "node", 0);
		uint32_t idle = add_wait(p, thread, 'S', 5, 1000, UV "uv_cond_wait@node pthread_cond_wait@libc.so.6", FUTEX);
		uint32_t lookup = add_wait(p, thread, 'S', 5, 1000, UV LOOKUP, "__x64_sys_poll@[kernel] do_sys_poll@[kernel]");
		const struct wake asked = { .wait = idle, .waker = profile_waker(p, &main), .count = 5, .blocked_ns = 5000 * MS };
		const struct wake late = { .wait = lookup, .waker = profile_waker(p, &timer), .count = 5, .blocked_ns = 5000 * MS };

		profile_add_wake(p, &asked);
		profile_add_wake(p, &late);
	}
	struct explanation *e = explanation_new(p, NULL);
	const struct headline *h = &g_array_index(e->headlines, struct headline, 0);

	g_assert_nonnull(strstr(h->sentence, "node waits for a name server (DNS) for fetchPrice"));
	g_assert_nonnull(strstr(h->evidence, "libuv does 2 of them at a time, so others queue"));
	g_assert_true(g_str_has_prefix(h->advice, "This name server does not answer"));
	explanation_free(e);
	profile_free(p);
}

#define FLOCK "__x64_sys_flock@[kernel] locks_lock_inode_wait@[kernel] schedule@[kernel]"

/* Of a pipe nothing is told twice, and whose other end is not known has no name. */
static void test_nameless_pipe(void)
{
	static const struct { const char *name, *told; } cases[] = {
		{ "pipe", "waits for data in a pipe in fetch" }, { "pipe from gcc", "waits for data in a pipe (from gcc) in fetch" },
	};

	for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
		struct profile *p = window_new();
		const struct object pipe = { .kind = OBJECT_PIPE, .operation = "", .name = cases[i].name, .place = "" };
		uint32_t w = add_wait(p, thread_of(p, 11, "lint", 10), 'S', 9, 1000, "main@lint fetch@lint read@libc.so.6",
				      "__x64_sys_read@[kernel] anon_pipe_read@[kernel]");

		fixture_is_for(p, w, &pipe);
		struct explanation *e = explanation_new(p, NULL);
		headline_with(e, cases[i].told);
		explanation_free(e);
		profile_free(p);
	}
}

/*
 * It sleeps the same time again and again, but with a lock that somebody waits for; or another has that one; or it lets
 * the lock go before, as nobody waits for longer than a moment.
 */
static void test_clock_with_lock(void)
{
	enum { OTHER, HELD, BRIEFLY, CASES };

	for (unsigned waits = 0; waits < CASES; waits++) {
		struct profile *p = window_new();
		uint32_t holder = thread_of(p, 11, "shop", 40), waiter = thread_of(p, 12, "shop", 40);
		unsigned each_ms = waits == BRIEFLY ? 2 : 10, cnt = waits == BRIEFLY ? 600 : 400;
		uint32_t lock = add_wait(p, waiter, 'S', cnt, each_ms, "main@shop append@shop flock@libc.so.6", FLOCK);

		p->info.has_wakers = true;
		add_wait(p, holder, 'S', 400, 20, "main@shop flush@shop device@shop clock_nanosleep@libc.so.6", NAP);
		woken_in(p, lock, waits ? holder : thread_of(p, 13, "cron", 40),
			 waits ? "main@shop flush@shop flock@libc.so.6" : "main@cron tidy@cron flock@libc.so.6", cnt, cnt * each_ms);
		struct explanation *e = explanation_new(p, NULL);
		const struct headline *h = headline_with(e, "sleeps until a timer in device");

		g_assert_cmpint(h->finding->clock_ns > 0, ==, true);
		if (!g_str_has_prefix(h->advice, waits == HELD ? "Others wait meanwhile" : "It only sleeps"))
			g_error("%u: %s", waits, h->advice);
		explanation_free(e);
		profile_free(p);
	}
}

/* All of its holders sleep and write in one function: for longer than the window is none can have slept with the lock. */
static void test_sleep_beside_lock(void)
{
	enum { THREADS = 6, CNT = 400 };

	for (unsigned ms = 3; ms <= 6; ms += 3) {
		struct profile *p = window_new();
		uint32_t threads[THREADS];

		p->info.has_wakers = true;
		for (unsigned i = 0; i < THREADS; i++)
			threads[i] = thread_of(p, 11 + i, "shop", 40);
		for (unsigned i = 0; i < THREADS; i++) {
			uint32_t lock = add_wait(p, threads[i], 'S', CNT, 10, "main@shop note@shop pthread_mutex_lock@libc.so.6", FUTEX);

			add_wait(p, threads[i], 'D', CNT, 2, "main@shop note@shop fsync@libc.so.6",
				 "__x64_sys_fsync@[kernel] ext4_sync_file@[kernel] jbd2_log_wait_commit@[kernel]");
			add_wait(p, threads[i], 'S', CNT, ms, "main@shop note@shop clock_nanosleep@libc.so.6", NAP);
			woken_in(p, lock, threads[(i + 1) % THREADS], "main@shop note@shop pthread_mutex_unlock@libc.so.6", CNT, CNT * 10);
		}
		struct explanation *e = explanation_new(p, NULL);
		const struct headline *h = headline_with(e, "waits for a mutex in note");

		if (!strstr(h->evidence, ms == 3 ? "meanwhile sleeps" : "meanwhile waits for data to be safe on disk"))
			g_error("%u: %s", ms, h->evidence);
		explanation_free(e);
		profile_free(p);
	}
}

/*
 * One thread asks hundreds of times a second, and each answer comes soon; with eight threads, or fewer questions, each
 * rests.  Slower ones are many where they come in a row, and not two for each thing that it is asked for itself.
 */
static void test_many_small(void)
{
	static const struct { unsigned threads, count, ms, naps; bool is_told; } cases[] = {
		{ 1, 5000, 1, 0, true }, { 8, 1500, 1, 0, false }, { 1, 1500, 1, 0, false },
		{ 1, 2000, 4, 50, true }, { 1, 2000, 4, 1000, false }, { 1, 200, 40, 5, false },
	};

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		struct profile *p = window_new();

		for (unsigned k = 0; k < cases[i].threads; k++) {
			uint32_t thread = thread_of(p, 11 + k, "shop", 10);

			add_wait(p, thread, 'S', cases[i].count, cases[i].ms, "main@shop price_of@shop recv@libc.so.6",
				 "__x64_sys_recvfrom@[kernel] tcp_recvmsg@[kernel]");
			if (cases[i].naps)
				add_wait(p, thread, 'S', cases[i].naps, 1, "main@shop rest@shop clock_nanosleep@libc.so.6", NAP);
		}
		struct explanation *e = explanation_new(p, NULL);
		const char *advice = e->headlines->len ? g_array_index(e->headlines, struct headline, 0).advice : "";

		g_assert_cmpint(g_str_has_prefix(advice, "Each answer comes soon"), ==, cases[i].is_told);
		explanation_free(e);
		profile_free(p);
	}
}

/*
 * A report holds a file lock for 2.5 s; then three others are handed it within milliseconds, so most of the waiting time
 * is ended by one of them.  In the second round they hold it for long, and the report for a moment.  In the third they
 * also sleep in the same function when they have let go, often and for a moment.
 */
static void test_handed_on(void)
{
	static const char report[] = "main@app write_report@app flock@libc.so.6",
			  append[] = "main@app append_order@app flock@libc.so.6";

	for (unsigned round = 0; round < 3; round++) {
		const bool is_even = round == 1;
		struct profile *p = window_new();
		uint32_t reporter = thread_of(p, 1, "app", 1), shop[3], waits[3];

		p->info.has_wakers = true;
		add_wait(p, reporter, 'S', 4, is_even ? 3 : 2450, "main@app write_report@app usleep@libc.so.6", NAP);
		uint32_t own = add_wait(p, reporter, 'S', 4, is_even ? 2450 : 10, report, FLOCK);
		for (unsigned i = 0; i < 3; i++) {
			shop[i] = thread_of(p, 2 + i, "app", 1);
			add_wait(p, shop[i], 'S', round == 2 ? 1200 : 4, is_even ? 820 : round == 2 ? 8 : 3,
				 "main@app append_order@app usleep@libc.so.6", NAP);
			waits[i] = add_wait(p, shop[i], 'S', 4, is_even ? 1640 : 2460, append, FLOCK);
		}
		woken_in(p, waits[0], is_even ? shop[2] : reporter, is_even ? append : report, 4, is_even ? 6560 : 9840);
		woken_in(p, waits[1], shop[0], append, 4, is_even ? 6560 : 9840);
		woken_in(p, waits[2], shop[1], append, 4, is_even ? 6560 : 9840);
		woken_in(p, own, shop[2], append, 4, is_even ? 9800 : 40);
		struct explanation *e = explanation_new(p, NULL);
		const struct headline *h = &g_array_index(e->headlines, struct headline, 0);

		g_assert_nonnull(strstr(h->sentence, "waits for a lock on a file (flock, fcntl) in append_order"));
		g_assert_nonnull(strstr(h->evidence, is_even ? "; held by app threads in append_order, each of which meanwhile sleeps" :
							       "; held by app/1 in write_report, which meanwhile sleeps"));
		g_assert_true(g_str_has_prefix(h->advice, "Hold the lock for less time"));
		explanation_free(e);
		profile_free(p);
	}
}

/*
 * Processes of numbered names are one program.  One has a file lock while it waits elsewhere, in no function that its
 * stack shows, and takes it again at once: it cannot have waited itself, so it is the one that held it.  Two programs whose
 * names end with a version are two.
 */
static void test_numbered_processes(void)
{
	static const char lock[] = "main@spool pp_flock@spool flock@libc.so.6";
	struct profile *p = window_new();
	uint32_t waits[4], threads[4];

	p->info.has_wakers = true;
	for (unsigned i = 0; i < 4; i++) {
		g_autofree char *name = g_strdup_printf("spool-%u", i + 1);

		threads[i] = fixture_thread(p, 21 + i, 21 + i, name, name);
		g_array_index(p->threads, struct thread, threads[i]).to_ns = WINDOW_MS * MS;
		waits[i] = add_wait(p, threads[i], 'S', i ? 17 : 1, i ? 300 : 1, lock, FLOCK);
	}
	add_wait(p, threads[0], 'S', 18, 290, "main@spool pp_read@spool recv@libc.so.6", "__x64_sys_recvfrom@[kernel] tcp_recvmsg@[kernel]");
	for (unsigned i = 0; i < 4; i++)
		woken_in(p, waits[i], threads[(i + 3) % 4], lock, i ? 17 : 1, i ? 5100 : 1);
	for (unsigned i = 2; i < 4; i++) {
		g_autofree char *name = g_strdup_printf("python%u", i);

		add_wait(p, fixture_thread(p, 30 + i, 30 + i, name, name), 'D', 4, 300, USER, READ);
	}
	struct explanation *e = explanation_new(p, NULL);
	const struct headline *h = &g_array_index(e->headlines, struct headline, 0);

	g_assert_nonnull(strstr(h->sentence, "spool-* waits for a lock on a file (flock, fcntl) in pp_flock"));
	g_assert_nonnull(strstr(h->evidence, "4 threads of processes like spool-"));
	g_assert_nonnull(strstr(h->evidence, "; held by spool-1/21 in pp_flock"));
	for (guint i = 0; i < e->findings->rows->len; i++)
		g_assert_cmpstr(g_array_index(e->findings->rows, struct finding, i).process, !=, "python*");
	explanation_free(e);
	profile_free(p);
}

/* Many wait for what three workers do: these are counted, and asked what they wait for themselves. */
static void test_workers(void)
{
	static const char client[] = "main@app checkout@app "
				     "std::__atomic_futex_unsigned_base::_M_futex_wait_until@libstdc++.so.6 syscall@libc.so.6",
			  worker[] = "main@app fetch_offer@app recv@libc.so.6";
	const struct object peer = { .kind = OBJECT_SOCKET, .operation = "", .name = "10.0.0.5:7482", .place = "tcp" };
	struct profile *p = window_new();
	uint32_t workers[3];

	p->info.has_wakers = true;
	for (unsigned i = 0; i < 3; i++) {
		g_autofree char *name = g_strdup_printf("worker-%u", i);

		workers[i] = fixture_thread(p, 10, 30 + i, name, "app");
		set_object(p, add_wait(p, workers[i], 'S', 200, 45, worker, "__x64_sys_recvfrom@[kernel] tcp_recvmsg@[kernel]"),
			   &peer);
	}
	for (unsigned i = 0; i < 6; i++) {
		uint32_t wait = add_wait(p, thread_of(p, 11 + i, "app", 10), 'S', 60, 160, client, FUTEX);

		woken_in(p, wait, workers[i % 3], "main@app complete@app syscall@libc.so.6", 60, 9600);
	}
	struct explanation *e = explanation_new(p, NULL);
	const struct headline *h = &g_array_index(e->headlines, struct headline, 0);

	g_assert_nonnull(strstr(h->sentence, "app waits for the result of a task in checkout"));
	g_assert_nonnull(strstr(h->evidence, "ended by 3 threads like worker-"));
	g_assert_nonnull(strstr(h->evidence, "each of which mostly waits for data from the network, 10.0.0.5:7482, in fetch_offer"));
	g_assert_true(g_str_has_prefix(h->advice, "More wait than there are workers"));
	explanation_free(e);
	profile_free(p);
}

#define WAIT4 "__x64_sys_wait4@[kernel] do_wait@[kernel]"
#define FUTURE "main@python3 report@app.py MapResult.wait@pool.py acquire_timed@python3 sem_clockwait@libc.so.6"

/*
 * A pool of two processes, whose results a thread of the parent hands over.  While they compute there is little to find;
 * where they wait for a disk that is told, and where more wait than there are workers, so are these.
 */
static void test_pool_of_processes(void)
{
	enum { COMPUTE, WAIT, TOO_FEW, CASES };

	for (unsigned is = 0; is < CASES; is++) {
		struct profile *p = window_new();
		uint32_t handler = thread_of(p, 12, "python3", 0);

		p->info.has_wakers = true;
		for (uint32_t i = 0; i < 2; i++) {
			uint32_t worker = fixture_thread(p, 20 + i, 20 + i, "python3", "python3");
			struct thread *t = &g_array_index(p->threads, struct thread, worker);

			t->to_ns = WINDOW_MS * MS;
			t->on_cpu_ns = (is == WAIT ? 100 : 9900) * MS;
			if (is == WAIT)
				add_wait(p, worker, 'D', 99, 100, USER, READ);
		}
		for (uint32_t i = 0; i < (is == TOO_FEW ? 3 : 1); i++) {
			uint32_t wait = add_wait(p, thread_of(p, 30 + i, "python3", 10), 'S', 50, 199, FUTURE, FUTEX);

			woken_in(p, wait, handler, "main@python3 sem_post@libc.so.6", 50, 9950);
		}
		struct explanation *e = explanation_new(p, NULL);

		if (is == COMPUTE) {
			g_assert_nonnull(e->little);
			g_assert_nonnull(strstr(e->little, "python3 computes: 100% of its workers' time is on CPU"));
		} else if (is == WAIT) {
			g_assert_nonnull(headline_with(e, " in serve"));
			g_assert_null(strstr(headline_with(e, "result of a task")->evidence, "mostly runs"));
		} else {
			g_assert_nonnull(strstr(headline_with(e, "result of a task")->evidence,
						"ended by python3 processes, each of which mostly runs"));
			g_assert_true(g_str_has_prefix(headline_with(e, "result of a task")->advice, "More wait than there are"));
		}
		explanation_free(e);
		profile_free(p);
	}
}

/* g++ waits for cc1plus: little, if that computes; else what it waits for leads. */
static void test_compile(void)
{
	for (unsigned is_waiting = 0; is_waiting < 2; is_waiting++) {
		struct profile *p = window_new();
		const struct object child = { .kind = OBJECT_CHILD, .name = "cc1plus", .place = "", .operation = "", .pid = 40 };
		uint32_t compiler = fixture_thread(p, 40, 40, "cc1plus", "cc1plus");
		uint32_t wait = add_wait(p, thread_of(p, 11, "g++", 1), 'S', 1, 9900, "main@g++ waitpid@libc.so.6", WAIT4);
		struct thread *t = &g_array_index(p->threads, struct thread, compiler);

		p->info.has_wakers = true;
		t->to_ns = WINDOW_MS * MS;
		t->on_cpu_ns = (is_waiting ? 900 : 9900) * MS;
		if (is_waiting)
			add_wait(p, compiler, 'D', 90, 100, "main@cc1plus read@libc.so.6", READ);
		set_object(p, wait, &child);
		woken_in(p, wait, compiler, "", 1, 9900);
		struct explanation *e = explanation_new(p, NULL);

		if (is_waiting)
			g_assert_nonnull(strstr(g_array_index(e->headlines, struct headline, 0).sentence, "cc1plus waits for"));
		else
			g_assert_cmpstr(e->little, ==,
					"Little to find: cc1plus computes: 100% of its workers' time is on CPU; a CPU profile tells more.");
		explanation_free(e);
		profile_free(p);
	}
}

#define PIPE_READ "__x64_sys_read@[kernel] anon_pipe_read@[kernel]"

/*
 * In a pipeline whoever waits for who waits is told behind that one, and the shell that started it behind both; but two that
 * answer each other through pipes wait for nobody else.
 */
static void test_pipeline(void)
{
	for (unsigned is_pair = 0; is_pair < 2; is_pair++) {
		struct profile *p = window_new();
		uint32_t shell = thread_of(p, 11, "report.sh", 1), last = fixture_thread(p, 40, 40, "sort", "sort");
		uint32_t middle = fixture_thread(p, 41, 41, "cut", "cut"), first = fixture_thread(p, 42, 42, "curl", "curl");
		uint32_t of_last = add_wait(p, last, 'S', 99, 100, "main@sort read@libc.so.6", PIPE_READ);
		uint32_t of_middle = add_wait(p, middle, 'S', 98, 100, "main@cut read@libc.so.6", PIPE_READ);

		p->info.has_wakers = true;
		p->info.filters = profile_string(p, "command report.sh");
		add_wait(p, shell, 'S', 1, 9990, "main@report.sh waitpid@libc.so.6", WAIT4);
		add_wait(p, first, 'S', 97, 100, "main@curl nanosleep@libc.so.6", NAP);
		woken_in(p, of_last, middle, "write@libc.so.6", 99, 9900);
		woken_in(p, of_middle, is_pair ? last : first, "write@libc.so.6", 98, 9800);
		struct explanation *e = explanation_new(p, NULL);
		const char *said = g_array_index(e->headlines, struct headline, 0).sentence;

		g_assert_nonnull(strstr(said, is_pair ? "sort waits for data in a pipe" : "cut waits for data in a pipe"));
		g_assert_nonnull(strstr(headline_with(e, "waits for a child")->evidence, "what it waits for is in the recording"));
		explanation_free(e);
		profile_free(p);
	}
}

/*
 * A child that fills the pipe which its parent reads, that waits until it ends, is a deadlock of the two; not if another
 * thread of the parent may read, if somebody else reads, or if it came to that a moment ago.
 */
static void test_full_pipe_of_child(void)
{
	static const struct { uint32_t reader, threads; uint64_t ms; const char *pipe; bool is_ring; } cases[] = {
		{ 10, 1, WINDOW_MS, "pipe to nightly", true },	{ 10, 2, WINDOW_MS, "pipe to nightly", false },
		{ 9, 1, WINDOW_MS, "pipe to gzip", false },	{ 10, 1, 200, "pipe to nightly", false },
		{ 10, 1, WINDOW_MS, "pipe to nightly and 1 more", false },
	};

	for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
		struct profile *p = window_new();
		const struct object child = { .kind = OBJECT_CHILD, .name = "dump", .place = "", .operation = "", .pid = 40 };
		const struct object pipe = { .kind = OBJECT_PIPE, .name = cases[i].pipe, .place = "", .operation = "",
					     .pid = cases[i].reader };
		uint32_t writer = fixture_thread(p, 40, 40, "dump", "dump");
		uint32_t waits = add_wait(p, thread_of(p, 10, "nightly", 1), 'S', 1, WINDOW_MS, "main@nightly waitpid@libc.so.6", WAIT4);
		uint32_t writes = add_wait(p, writer, 'S', 1, cases[i].ms, "main@dump write@libc.so.6",
					   "__x64_sys_write@[kernel] anon_pipe_write@[kernel]");

		if (cases[i].threads > 1)
			thread_of(p, 11, "nightly", 1);
		g_array_index(p->waits, struct wait, waits).flags = WAIT_OPEN_AT_END;
		g_array_index(p->waits, struct wait, writes).flags = WAIT_OPEN_AT_END;
		set_object(p, waits, &child);
		set_object(p, writes, &pipe);
		p->info.has_wakers = p->info.has_locks = true;
		p->slices = slices_new(SLICE_DEFAULT_NS, slices_cnt_of(WINDOW_MS * MS, SLICE_DEFAULT_NS));
		struct explanation *e = explanation_new(p, NULL);
		const struct headline *h = headline_with(e, "waits for a child to end, dump");

		g_assert_cmpint(strstr(h->sentence, "is deadlocked") != NULL, ==, cases[i].is_ring);
		g_assert_cmpint(g_str_has_prefix(h->advice, "The child prints into a pipe"), ==, cases[i].is_ring);
		if (cases[i].ms == WINDOW_MS)
			g_assert_nonnull(strstr(h->evidence, "that is dump/40, which itself mostly waits for room in a full pipe"));
		explanation_free(e);
		profile_free(p);
	}
}

/* Of a futex that may be anything: its own kind ends the waits, its own time limit, or one that computes. */
static void test_futex_advice(void)
{
	static const struct { bool is_peer, is_timer; const char *advice; } cases[] = {
		{ true, false, "Threads of its own kind end the waits" },
		{ false, true, "Its own time limit ends most of these waits" },
		{ false, false, "Who ends these waits computes meanwhile" },
	};

	for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
		struct profile *p = window_new();
		uint32_t other = thread_of(p, 19, "feed", 9000), threads[4], waits[4];
		const struct waker timer = { .comm = "", .irq = "timer" };

		p->info.has_wakers = true;
		for (uint32_t k = 0; k < 4; k++) {
			threads[k] = thread_of(p, 11 + k, "app", 10);
			waits[k] = add_wait(p, threads[k], 'S', 100, 60, "main@app take_slot@app syscall@libc.so.6", FUTEX);
		}
		for (uint32_t k = 0; k < 4; k++) {
			const struct wake wake = { .wait = waits[k], .waker = profile_waker(p, &timer), .count = 100,
						   .blocked_ns = 6000 * MS };

			if (cases[i].is_timer)
				profile_add_wake(p, &wake);
			else
				woken_in(p, waits[k], cases[i].is_peer ? threads[(k + 1) % 4] : other,
					 "main@app give_slot@app syscall@libc.so.6", 100, 6000);
		}
		struct explanation *e = explanation_new(p, NULL);

		if (!strstr(headline_with(e, "in take_slot")->advice, cases[i].advice))
			g_error("case %zu: %s", i, headline_with(e, "in take_slot")->advice);
		explanation_free(e);
		profile_free(p);
	}
}

/* Sets of their own that one thread wakes may all watch one file; a set for all, or threads that work on, tell nothing. */
static void test_epoll_sets(void)
{
	enum { APART, ONE_SET, FEW, WORKS, CASES };

	for (unsigned i = 0; i < CASES; i++) {
		struct profile *p = window_new();
		uint32_t source = thread_of(p, 50, "feed", 100);

		p->info.has_wakers = true;
		for (uint32_t k = 0; k < (i == FEW ? 4 : 8); k++) {
			uint32_t t = thread_of(p, 11 + k, "herd", i == WORKS ? 900 : 10);
			g_autofree char *name = g_strdup_printf("1 pipe (fd %u of herd)", i == ONE_SET ? 3 : 3 + k);
			const struct object set = { .kind = OBJECT_EPOLL, .operation = "", .name = name, .place = "" };
			uint32_t w = add_wait(p, t, 'S', 1000, 5, "main@herd serve@herd epoll_wait@libc.so.6",
					      "__x64_sys_epoll_wait@[kernel] ep_poll@[kernel]");

			fixture_is_for(p, w, &set);
			woken_in(p, w, source, "main@feed write@libc.so.6", 1000, 5000);
			add_wait(p, t, 'R', 900, 5, "main@herd serve@herd", "");
		}
		struct explanation *e = explanation_new(p, NULL);
		bool is_told = strstr(headline_with(e, "waits for a CPU")->advice, "many epoll sets");

		g_assert_cmpint(is_told, ==, i == APART);
		explanation_free(e);
		profile_free(p);
	}
}

/* A slow peer of 45 ms is not TCP's delay, unless an interrupt ends the waits for a program of the same machine. */
static void test_delayed_ack(void)
{
	const struct object peer = { .kind = OBJECT_SOCKET, .operation = "", .name = "127.0.0.1:7482", .place = "tcp" };
	const struct waker network = { .comm = "", .irq = "softirq:NET_RX" };

	for (unsigned is_delayed = 0; is_delayed < 2; is_delayed++) {
		struct profile *p = window_new();
		uint32_t server = thread_of(p, 90, "server", 10);
		uint32_t wait = add_wait(p, thread_of(p, 11, "app", 10), 'S', 200, 45, "main@app query@app recv@libc.so.6",
					 "__x64_sys_recvfrom@[kernel] tcp_recvmsg@[kernel]");
		const struct wake wake = { .wait = wait, .waker = profile_waker(p, &network), .count = 200,
					   .blocked_ns = 9000 * MS };

		p->info.has_wakers = true;
		set_object(p, wait, &peer);
		if (is_delayed)
			profile_add_wake(p, &wake);
		else
			woken_in(p, wait, server, "main@server answer@server send@libc.so.6", 200, 9000);
		struct explanation *e = explanation_new(p, NULL);
		const char *advice = g_array_index(e->headlines, struct headline, 0).advice;

		g_assert_cmpint(strstr(advice, "acknowledgement") != NULL, ==, is_delayed);
		explanation_free(e);
		profile_free(p);
	}
}

/*
 * Who holds a file's own lock writes to that file, with O_SYNC: the object of both is the file.  It loses its CPU on the
 * way back to the program, without the lock.
 */
static void test_kernel_lock(void)
{
	static const char user[] = "main@app append@app write@libc.so.6";
	const struct object file = { .kind = OBJECT_FILE, .operation = "", .name = "/var/log/audit", .place = "" };
	struct profile *p = window_new();

	p->info.has_wakers = true;
	for (uint32_t i = 0; i < 2; i++) {
		uint32_t thread = thread_of(p, 11 + i, "app", 100);
		uint32_t lock = add_wait(p, thread, 'D', 400, 12, user, "__x64_sys_write@[kernel] __mutex_lock@[kernel]");

		set_object(p, lock, &file);
		set_object(p, add_wait(p, thread, 'D', 400, 11, user, "__x64_sys_write@[kernel] ext4_sync_file@[kernel]"), &file);
		add_wait(p, thread, 'R', 400, 12, user, "do_syscall_64@[kernel] exit_to_user_mode_loop@[kernel] schedule@[kernel]");
		woken_in(p, lock, i ? thread - 1 : thread, user, 400, 4800);
	}
	struct explanation *e = explanation_new(p, NULL);
	const struct headline *h = headline_with(e, "waits for a lock of the kernel");

	g_assert_nonnull(strstr(h->evidence, "meanwhile waits for data to be safe on disk"));
	g_assert_true(g_str_has_prefix(h->advice, "Who holds it waits for the disk"));
	explanation_free(e);
	profile_free(p);
}

/* fork() copies a private lock that another thread held: nobody in the copy can let it go. */
static void test_forked_lock(void)
{
	for (unsigned is_own = 0; is_own < 2; is_own++) {
		struct profile *p = window_new();
		uint32_t thread = thread_of(p, 11, "job", 1);
		const struct object lock = { .kind = LOCK_MUTEX, .is_private = true, .operation = "FUTEX_WAIT", .name = "log_lock",
					     .place = "/usr/bin/job", .pid = 10, .addr = 4096, .holder_tid = 77 };
		uint32_t wait = add_wait(p, thread, 'S', 1, WINDOW_MS, "main@job log_line@job pthread_mutex_lock@libc.so.6", FUTEX);

		fixture_thread(p, is_own ? 10 : 9, 77, "logger", "server");
		g_array_index(p->waits, struct wait, wait).flags = WAIT_OPEN_AT_END;
		set_object(p, wait, &lock);
		p->info.has_wakers = p->info.has_locks = true;
		p->slices = slices_new(SLICE_DEFAULT_NS, slices_cnt_of(WINDOW_MS * MS, SLICE_DEFAULT_NS));
		struct explanation *e = explanation_new(p, NULL);
		const struct headline *h = &g_array_index(e->headlines, struct headline, 0);

		g_assert_cmpint(strstr(h->sentence, "is deadlocked and waits for a mutex, log_lock, in log_line") != NULL, ==, !is_own);
		g_assert_cmpint(strstr(h->evidence, "held by thread 77, which is none of its own (logger of process 9)") != NULL, ==,
				!is_own);
		explanation_free(e);
		profile_free(p);
	}
}

#define RUN_WORKER "java.util.concurrent.ThreadPoolExecutor.runWorker@jvm "

/* All workers of a pool wait for tasks, and the other threads are idle, or one of these does a task. */
static void test_pool_stands_still(void)
{
	for (unsigned is_done = 0; is_done < 2; is_done++) {
		struct profile *p = window_new();
		uint32_t other = fixture_thread(p, 10, 40, "part-1", "shop");

		p->info.has_wakers = true;
		p->info.filters = profile_string(p, "process 10");
		p->slices = slices_new(SLICE_DEFAULT_NS, slices_cnt_of(WINDOW_MS * MS, SLICE_DEFAULT_NS));
		for (uint32_t i = 0; i < 2; i++) {
			uint32_t worker = fixture_thread(p, 10, 30 + i, i ? "page-1" : "page-2", "shop");

			g_array_index(p->threads, struct thread, worker).to_ns = WINDOW_MS * MS;
			uint32_t wait = add_wait(p, worker, 'S', 1, WINDOW_MS, RUN_WORKER "shop.Page.render@jvm "
						 "java.util.concurrent.FutureTask.get@jvm " PARK, FUTEX);

			g_array_index(p->waits, struct wait, wait).flags = WAIT_OPEN_AT_START | WAIT_OPEN_AT_END;
		}
		add_wait(p, other, 'S', 1, WINDOW_MS, is_done ? RUN_WORKER "shop.Part.read@jvm read@libc.so.6" :
			 RUN_WORKER "java.util.concurrent.ThreadPoolExecutor.getTask@jvm "
			 "java.util.concurrent.LinkedBlockingQueue.take@jvm " PARK, is_done ? READ : FUTEX);
		struct explanation *e = explanation_new(p, NULL);
		const struct headline *h = headline_with(e, "waits for the result of another task");

		g_assert_cmpint(g_str_has_prefix(h->advice, "All workers of that pool wait so"), ==, !is_done);
		explanation_free(e);
		profile_free(p);
	}
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/explain/kernel-thread", test_kernel_thread);
	g_test_add_func("/explain/healthy", test_healthy);
	g_test_add_func("/explain/healthy but owing", test_healthy_but_owing);
	g_test_add_func("/explain/pipe of nobody", test_pipe_of_nobody);
	g_test_add_func("/explain/healthy but alone", test_healthy_but_alone);
	g_test_add_func("/explain/computes", test_computes);
	g_test_add_func("/explain/order", test_order);
	g_test_add_func("/explain/clock", test_clock);
	g_test_add_func("/explain/tracer", test_tracer);
	g_test_add_func("/explain/one-of", test_one_of);
	g_test_add_func("/explain/queue-of-lookups", test_queue_of_lookups);
	g_test_add_func("/explain/handed-on", test_handed_on);
	g_test_add_func("/explain/workers", test_workers);
	g_test_add_func("/explain/many-small", test_many_small);
	g_test_add_func("/explain/numbered-processes", test_numbered_processes);
	g_test_add_func("/explain/pool-of-processes", test_pool_of_processes);
	g_test_add_func("/explain/compile", test_compile);
	g_test_add_func("/explain/pipeline", test_pipeline);
	g_test_add_func("/explain/full-pipe-of-child", test_full_pipe_of_child);
	g_test_add_func("/explain/futex-advice", test_futex_advice);
	g_test_add_func("/explain/epoll-sets", test_epoll_sets);
	g_test_add_func("/explain/clock-with-lock", test_clock_with_lock);
	g_test_add_func("/explain/sleep-beside-lock", test_sleep_beside_lock);
	g_test_add_func("/explain/nameless-pipe", test_nameless_pipe);
	g_test_add_func("/explain/delayed-ack", test_delayed_ack);
	g_test_add_func("/explain/forked-lock", test_forked_lock);
	g_test_add_func("/explain/kernel-lock", test_kernel_lock);
	g_test_add_func("/explain/pool-stands-still", test_pool_stands_still);
	g_test_add_func("/explain/only-loop", test_only_loop);
	return g_test_run();
}
