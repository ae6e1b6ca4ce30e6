/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Tasks whose waits may be meant, as for events, and those that the ends of connections or the other side explain. */
#include <string.h>

#include "base/find.h"
#include "explain/findings.h"
#include "explain/sentence.h"
#include "features/tasks/analysis.h"
#include "profile/limits.h"
#include "task_maker.h"

static void add_end(struct profile *p, enum connection_side side, const char *remote)
{
	const struct connection c = { .pid = 12, .side = (uint8_t)side, .local = "127.0.0.1:8113", .remote = remote };

	profile_add_connection(p, &c);
}

static const struct task_frame naps[] = {
	{ "runtime.gopark", NULL, 0 }, { "time.Sleep", NULL, 0 }, { "main.waitForJob", "/src/export.go", 4 },
	{ "net/http.serverHandler.ServeHTTP", NULL, 0 }, { "net/http.(*conn).serve", NULL, 0 },
};
static const struct task_frame driver[] = {
	{ "net.(*conn).Read", NULL, 0 }, { "github.com/lib/pq.(*conn).recvMessage", "/root/go/pkg/mod/github.com/lib/pq@v1.10.9/conn.go", 1004 },
	{ "database/sql.(*DB).QueryRow", NULL, 0 }, { "main.load", "/src/history.go", 4 }, { "main.page", "/src/history.go", 9 },
};
static const struct task_frame limits[] = {
	{ "runtime.gopark", NULL, 0 }, { "golang.org/x/sync/errgroup.(*Group).Go", NULL, 0 }, { "main.main", "/src/build.go", 4 },
};
static const struct task_frame leaked[] = {
	{ "runtime.gopark", NULL, 0 }, { "runtime.selectgo", NULL, 0 }, { "database/sql.(*DB).conn", NULL, 0 }, { "main.hasTag", "/src/tags.go", 4 },
	{ "net/http.serverHandler.ServeHTTP", NULL, 0 },
};
static const struct task_frame subscriber[] = {
	{ "net.(*conn).Read", NULL, 0 }, { "bufio.(*Reader).ReadString", NULL, 0 }, { "main.serve", "/src/broker.go", 5 },
};

/* By the connections that a process has: what it reads from clients, and whom it waits for itself. */
static void test_ends(void)
{
	static const struct {
		const struct task_frame *frames;
		unsigned cnt, tasks;
		const char *reason, *asked, *client;	/* the latter two NULL: none such */
		const char *function, *says, *advice;	/* function NULL: no finding */
	} cases[] = {
		{ naps, 5, 4, "sleep", NULL, NULL, "main.waitForJob", "sleep until a timer", "A request waits for that pause" },
		{ driver, 5, 1, "IO wait", "127.0.0.1:5555", "127.0.0.1:40000", "main.load", "wait for an answer", "Each answer comes soon" },
		{ limits, 3, 1, "semacquire", NULL, NULL, NULL, NULL, NULL },
		{ leaked, 5, 15, "select", "127.0.0.1:5555", "127.0.0.1:40000", "main.hasTag", "wait for a connection of a pool", "Nobody gave one back" },
		{ subscriber, 3, 50, "IO wait", NULL, "127.0.0.1:40000", NULL, NULL, NULL },
		{ subscriber, 3, 50, "IO wait", "127.0.0.1:5555", "127.0.0.1:40000", NULL, NULL, NULL },
		{ subscriber, 3, 1, "IO wait", "127.0.0.1:5555", "127.0.0.1:40000", "main.serve", "wait for the network", "See what its sessions" },
	};
	static const struct object epoll = { .kind = OBJECT_EPOLL, .pid = 50, .place = "", .operation = "",
					     .name = "5 sockets (fd 5 of api) -> 127.0.0.1:5555 (postgres)" };

	for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
		struct profile *p = profile_new();
		struct tasks *t = tasks_new(TASKS_GO, 12);
		const struct wait w = { .thread = fixture_thread(p, 12, 12, "api", "api"), .state = 'S', .count = 5000, .blocked_ns = 2000000000,
					.object = profile_object(p, &epoll) + 1 };
		const struct waker server = { .pid = 50, .tid = 50, .comm = "postgres" }, client = { .pid = 60, .tid = 60, .comm = "loadgen" };
		const uint32_t wait = profile_add_wait(p, &w);

		p->info.duration_ns = 2000000000;
		profile_add_wake(p, &(struct wake){ .wait = wait, .waker = profile_waker(p, &server), .count = i == 1 ? 4900 : 20, .blocked_ns = 900000000 });
		profile_add_wake(p, &(struct wake){ .wait = wait, .waker = profile_waker(p, &client), .count = 100, .blocked_ns = 1100000000 });
		if (cases[i].asked)
			add_end(p, CONNECTION_CLIENT, cases[i].asked);
		if (cases[i].client)
			add_end(p, CONNECTION_SERVER, cases[i].client);
		for (unsigned k = 0; k < 10; k++) {
			see(t, row_of(t, 1, cases[i].reason, cases[i].frames, cases[i].cnt), cases[i].tasks);
			tasks_look_done(t, (k + 1) * (uint64_t)200000000, 200000000);
		}
		tasks_finish(t);
		struct task_findings *f = findings_of(p, t);
		const struct task_wait *one = &g_array_index(f->rows, struct task_wait, 0);

		g_test_message("%u: %s in %s: %s", i, one->says, one->function, one->advice);
		g_assert_cmpuint(f->cnt, ==, cases[i].function ? 1 : 0);
		if (cases[i].function) {
			g_assert_cmpstr(one->function, ==, cases[i].function);
			g_assert_cmpstr(one->says, ==, cases[i].says);
			g_assert_true(g_str_has_prefix(one->advice, cases[i].advice));
			g_assert_null(one->ended_by);	/* its client */
		}
		task_findings_free(f);
		profile_free(p);
	}
}

/* A goroutine that pauses while the process's connections or other tries fail, on whichever threads: both are told. */
static void test_retries(void)
{
	static const struct { const char *evidence, *advice; } told[] = {
		{ "", "" },
		{ "; 7 connections to 127.0.0.1:7521 were refused", "If it pauses between tries" },
		{ "; its tries to make run.pid fail, as it is there already", "See who made it" },
	};

	for (unsigned fails = 0; fails < G_N_ELEMENTS(told); fails++) {
		struct profile *p = profile_new();
		struct tasks *t = tasks_new(TASKS_GO, 12);
		g_autoptr(GString) evidence = g_string_new(NULL);

		fixture_thread(p, 12, 12, "api", "api");
		p->info.duration_ns = 2000000000;
		if (fails == 2) {
			profile_add_limit(p, LIMIT_FAILS, 12, 12, "2 in 2000000000 ns, errno 2, stat x");
			profile_add_limit(p, LIMIT_FAILS, 12, 14, "9 in 2000000000 ns, errno 17, open run.pid");
		} else if (fails) {
			profile_add_limit(p, LIMIT_CONNECT, 12, 12, "3 connections to 127.0.0.1:7521: refused");
			profile_add_limit(p, LIMIT_CONNECT, 12, 14, "4 connections to 127.0.0.1:7521: refused");
		}
		for (unsigned k = 0; k < 10; k++) {
			see(t, row_of(t, 1, "sleep", naps, 5), 4);
			tasks_look_done(t, (k + 1) * (uint64_t)200000000, 200000000);
		}
		tasks_finish(t);
		struct findings *of_threads = findings_new(p, NULL);
		struct task_findings *f = findings_of(p, t);
		const struct task_wait *one = &g_array_index(f->rows, struct task_wait, 0);

		sentence_task_evidence(evidence, of_threads, one);
		g_assert_nonnull(strstr(evidence->str, told[fails].evidence));
		g_assert_true(g_str_has_prefix(one->advice, told[fails].advice));
		task_findings_free(f);
		findings_free(of_threads);
		profile_free(p);
	}
}

/* A consumer asks for work and is answered late: that is told with little else, and no finding. */
static void test_long_poll(void)
{
	static const struct task_frame receives[] = { { "runtime.gopark", NULL, 0 }, { "net/http.(*Client).Do", NULL, 0 }, { "main.receive", "/src/poller.go", 3 } };

	for (int i = 0; i < 3; i++) {
		const bool is_soon = i == 1, has_client = i == 2;
		struct profile *p = profile_new();
		struct tasks *t = tasks_new(TASKS_GO, 12);
		const struct object epoll = { .kind = OBJECT_EPOLL, .pid = 50, .place = "", .operation = "",
					      .name = "2 sockets (fd 3 of poller) -> 127.0.0.1:9205 (queue-svc)" };
		const struct wait w = { .thread = fixture_thread(p, 12, 12, "poller", "poller"), .state = 'S', .count = 4,
					.blocked_ns = 6000000000, .object = profile_object(p, &epoll) + 1 };
		const struct waker server = { .pid = 50, .tid = 50, .comm = "queue-svc" };

		p->info.duration_ns = 7000000000;
		profile_add_wake(p, &(struct wake){ .wait = profile_add_wait(p, &w), .waker = profile_waker(p, &server), .count = is_soon ? 40 : 4, .blocked_ns = 6000000000 });
		add_end(p, CONNECTION_CLIENT, "127.0.0.1:9205");
		if (has_client)
			add_end(p, CONNECTION_SERVER, "127.0.0.1:40000");
		for (unsigned k = 0; k < 10; k++) {
			see(t, row_of(t, 1, "select", receives, 3), 2);
			tasks_look_done(t, (k + 1) * (uint64_t)700000000, 700000000);
		}
		tasks_finish(t);
		struct task_findings *f = findings_of(p, t);
		const struct task_wait *one = &g_array_index(f->rows, struct task_wait, 0);

		g_assert_cmpuint(f->cnt, ==, i > 0);
		g_assert_true(!one->meant == (i > 0));
		g_assert_cmpstr(one->peer, ==, "127.0.0.1:9205 (queue-svc)");
		task_findings_free(f);
		profile_free(p);
	}
}

/* Who sends unasked is listened to, unless it comes soon, as one answer in pieces does, or a question went before. */
static void test_unasked(void)
{
	static const struct task_frame listens[] = { { "internal/poll.runtime_pollWait", NULL, 0 }, { "net.(*conn).Read", NULL, 0 },
						    { "main.receive", "/src/sub.go", 3 }, { "main.run", "/src/sub.go", 9 } };
	static const struct { uint64_t count, silent_ms, peer_ms; bool is_meant; } cases[] = {
		{ 13, 3600, 0, true }, { 13, 0, 3600, false }, { 400, 3600, 0, false }, { 13, 3000, 600, false },
	};

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		struct profile *p = profile_new();
		struct tasks *t = tasks_new(TASKS_GO, 12);
		const struct object epoll = { .kind = OBJECT_EPOLL, .pid = 50, .place = "", .operation = "",
					      .name = "2 sockets (fd 3 of sub) -> 127.0.0.1:9205 (queue-svc)" };
		const struct wait w = { .thread = fixture_thread(p, 12, 12, "sub", "sub"), .state = 'S', .count = 13,
					.blocked_ns = 3900000000, .object = profile_object(p, &epoll) + 1 };
		const struct tcp_wait row = { .object = w.object - 1, .count = cases[i].count, .blocked_ns = 3900000000,
					      .silent_ns = cases[i].silent_ms * 1000000, .peer_ns = cases[i].peer_ms * 1000000 };

		p->info.duration_ns = 4000000000;
		profile_add_wait(p, &w);
		profile_add_tcp_wait(p, &row);
		for (unsigned k = 0; k < 10; k++) {
			see(t, row_of(t, 1, "IO wait", listens, 4), 1);
			tasks_look_done(t, (k + 1) * (uint64_t)400000000, 400000000);
		}
		tasks_finish(t);
		struct task_findings *f = findings_of(p, t);
		const struct task_wait *one = &g_array_index(f->rows, struct task_wait, 0);

		g_test_message("%zu: %s, %s", i, one->says, one->advice);
		g_assert_true(!one->meant == !cases[i].is_meant);
		g_assert_cmpuint(f->cnt, ==, !cases[i].is_meant);
		task_findings_free(f);
		profile_free(p);
	}
}

/* A library's limit of its own rate may be meant, but for a request that waits for it. */
static void test_limiter(void)
{
	static const struct task_frame stacks[][5] = {
		{ { "runtime.gopark", NULL, 0 }, { "golang.org/x/time/rate.(*Limiter).Wait", NULL, 0 }, { "main.submit", "/src/a.go", 3 },
		  { "main.run", "/src/a.go", 9 } },
		{ { "runtime.gopark", NULL, 0 }, { "golang.org/x/time/rate.(*Limiter).Wait", NULL, 0 }, { "main.submit", "/src/a.go", 3 },
		  { "main.handle", "/src/a.go", 9 }, { "net/http.serverHandler.ServeHTTP", NULL, 0 } },
	};

	for (int i = 0; i < 2; i++) {
		struct profile *p = profile_new();
		struct tasks *t = tasks_new(TASKS_GO, 12);

		p->info.duration_ns = 1000000000;
		for (unsigned k = 0; k < 10; k++) {
			see(t, row_of(t, 1, "select", stacks[i], i ? 5 : 4), 6);
			tasks_look_done(t, (k + 1) * (uint64_t)100000000, 100000000);
		}
		tasks_finish(t);
		struct task_findings *f = findings_of(p, t);
		const struct task_wait *one = &g_array_index(f->rows, struct task_wait, 0);

		g_test_message("%s in %s: %s", one->says, one->function, one->advice);
		g_assert_cmpstr(one->says, ==, "wait to keep to a limit of their own rate");
		g_assert_true(!one->meant == (i > 0));
		g_assert_cmpuint(f->cnt, ==, i);
		task_findings_free(f);
		profile_free(p);
	}
}

/*
 * Handlers that wait for a channel, as many in all looks, may be long polls. They are not if others of their kind, or a
 * worker, are at work meanwhile, or if their number changes.
 */
static void test_long_polls(void)
{
	static const struct task_frame worker[] = { { "net.(*conn).Read", NULL, 0 }, { "main.ask", "/src/shop.go", 9 },
						    { "main.worker", "/src/shop.go", 7 } };
	static const struct task_frame other[] = { { "net.(*conn).Read", NULL, 0 }, { "main.list", "/src/shop.go", 30 },
						   { "net/http.serverHandler.ServeHTTP", "/usr/lib/go/server.go", 9 } };
	static const struct { const char *reason; const struct task_frame *beside; unsigned varies; bool is_owing, is_meant, is_first; } cases[] = {
		{ "chan receive", NULL, 0, false, true, false }, { "sync.Cond.Wait", NULL, 0, false, true, false },
		{ "select", NULL, 0, true, true, false }, { "select", NULL, 0, false, false, false },
		{ "chan receive", other, 0, false, true, false },
		{ "chan receive", NULL, 1, false, false, true }, { "chan receive", worker, 0, false, false, true },
		{ "chan receive", query, 0, false, false, true }, { "semacquire", NULL, 0, false, false, true },
	};

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		struct tasks *t = tasks_new(TASKS_GO, 12);
		struct profile *p = profile_new();

		for (unsigned k = 0; k < 10; k++) {
			see(t, row_of(t, 1, "chan receive", work, 2), 6);
			see(t, row_of(t, 2, cases[i].reason, handler, 4), 5 - (k == 3 ? cases[i].varies : 0));
			if (cases[i].beside) {
				struct task_row *row = row_of(t, 3, "IO wait", cases[i].beside, cases[i].beside == query ? 4 : 3);

				row->creator.name = cases[i].beside == worker ? "main.begin" : row->creator.name;
				see(t, row, 1);
			}
			see(t, row_of(t, 4, "IO wait", serve, 3), 1);
			tasks_look_done(t, (k + 1) * (uint64_t)200000000, 200000000);
		}
		tasks_finish(t);
		if (cases[i].is_owing)
			profile_add_limit(p, LIMIT_OWED, 12, 0, "5 clients wait, 0 connections to nobody");
		struct task_findings *f = findings_of(p, t);
		const struct task_wait *w = FIRST_ROW(const struct task_wait, o, f->rows, strcmp(o->function, "main.buy") == 0, o, NULL);

		g_test_message("%zu: %s: %s", i, w->says, w->advice);
		g_assert_true(!w->meant == !cases[i].is_meant);
		g_assert_true(!w->meant || strstr(w->advice, "long poll"));
		g_assert_true((w == &g_array_index(f->rows, struct task_wait, 0) && f->cnt) == cases[i].is_first);
		task_findings_free(f);
		profile_free(p);
	}
}

static const struct task_frame pace[] = {
	{ "runtime.gopark", NULL, 0 }, { "time.Sleep", NULL, 0 }, { "main.ask", "/src/feed.go", 4 }, { "main.turn", "/src/feed.go", 8 },
	{ "main.client", "/src/feed.go", 9 },
};
static const struct task_frame locked[] = {
	{ "runtime.gopark", NULL, 0 }, { "sync.(*Mutex).Lock", NULL, 0 }, { "main.put", "/src/feed.go", 14 },
};

/* One goroutine that only sleeps keeps a pace; of several, or beside one that waits for a lock, it is a finding. */
static void test_pace(void)
{
	static const struct { unsigned tasks; bool is_beside; } cases[] = { { 1, false }, { 3, false }, { 1, true } };

	for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
		struct profile *p = profile_new();
		struct tasks *t = tasks_new(TASKS_GO, 12);

		p->info.duration_ns = 2000000000;
		fixture_thread(p, 12, 12, "feed", "feed");
		for (unsigned k = 0; k < 10; k++) {
			see(t, row_of(t, 1, "sleep", pace, G_N_ELEMENTS(pace)), cases[i].tasks);
			if (cases[i].is_beside)
				see(t, row_of(t, 2, "sync.Mutex.Lock", locked, G_N_ELEMENTS(locked)), 1);
			tasks_look_done(t, (k + 1) * (uint64_t)200000000, 200000000);
		}
		tasks_finish(t);
		struct task_findings *f = findings_of(p, t);

		g_test_message("%u: %u findings", i, f->cnt);
		g_assert_cmpuint(f->cnt, ==, !cases[i].is_beside ? i : 2);
		task_findings_free(f);
		profile_free(p);
	}
}

/*
 * Consumers of a Redis that rests wait for work, and so does who takes what they bring; one that works keeps them waiting.
 */
static void test_resting_server(void)
{
	static const struct task_frame consumes[] = { { "internal/poll.runtime_pollWait", NULL, 0 }, { "net.(*conn).Read", NULL, 0 },
						      { "github.com/gomodule/redigo/redis.(*activeConn).Do",
							"/root/go/pkg/mod/github.com/gomodule/redigo@v1.8.9/redis/pool.go", 9 },
						      { "main.consume", "/src/mail.go", 6 } };
	static const struct { const char *looks; bool is_meant; } cases[] = { { "13 of 13 looks", true }, { "2 of 13 looks", false } };

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		struct profile *p = profile_new();
		struct tasks *t = tasks_new(TASKS_GO, 12);
		const struct object epoll = { .kind = OBJECT_EPOLL, .pid = 50, .place = "", .operation = "",
					      .name = "6 sockets (fd 3 of mail) -> 127.0.0.1:6390 (redis-server)" };
		const struct wait w = { .thread = fixture_thread(p, 12, 12, "mail", "mail"), .state = 'S', .count = 240,
					.blocked_ns = 3900000000, .object = profile_object(p, &epoll) + 1 };
		const struct waker server = { .pid = 50, .tid = 50, .comm = "redis-server" };
		const uint32_t wait = profile_add_wait(p, &w);

		p->info.duration_ns = 4000000000;
		profile_add_wake(p, &(struct wake){ .wait = wait, .waker = profile_waker(p, &server), .count = 240,
						    .blocked_ns = 3900000000 });
		profile_add_limit(p, LIMIT_RESTS, 50, 0, cases[i].looks);
		for (unsigned k = 0; k < 10; k++) {
			see(t, row_of(t, 1, "IO wait", consumes, 4), 6);
			see(t, row_of(t, 2, "chan receive", work, 2), 1);
			tasks_look_done(t, (k + 1) * (uint64_t)400000000, 400000000);
		}
		tasks_finish(t);
		struct task_findings *f = findings_of(p, t);
		const struct task_wait *one = FIRST_ROW(const struct task_wait, o, f->rows, !strcmp(o->function, "main.consume"), o, NULL);

		g_test_message("%zu: %s, %s, %s", i, one->says, one->peer, one->advice);
		g_assert_true(!one->meant == !cases[i].is_meant);
		g_assert_cmpuint(f->cnt, ==, cases[i].is_meant ? 0 : 2);
		g_assert_cmpstr(one->peer, ==, "127.0.0.1:6390 (redis-server)");
		task_findings_free(f);
		profile_free(p);
	}
}

/* Looks at many virtual threads take time, so that their number is not quite the same at all of them. */
static void test_long_polls_of_java(void)
{
	static const struct task_frame polls[] = {
		{ "java.util.concurrent.locks.AbstractQueuedSynchronizer$ConditionObject.awaitNanos", NULL, 0 },
		{ "rooms.RoomServer.awaitChange", NULL, 0 }, { "com.sun.net.httpserver.Filter$Chain.doFilter", NULL, 0 },
	};
	static const struct { unsigned at_one_look; bool is_meant; } cases[] = { { 60, true }, { 62, true }, { 45, false } };

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		struct profile *p = profile_new();
		struct tasks *t = tasks_new(TASKS_JAVA, 12);

		p->info.duration_ns = 2000000000;
		for (unsigned k = 0; k < 10; k++) {
			see(t, row_of(t, 1, "parked for a condition", polls, 3), k == 3 ? cases[i].at_one_look : 60);
			tasks_look_done(t, (k + 1) * (uint64_t)200000000, 200000000);
		}
		tasks_finish(t);
		struct task_findings *f = findings_of(p, t);

		g_assert_cmpuint(f->cnt, ==, !cases[i].is_meant);
		task_findings_free(f);
		profile_free(p);
	}
}

/* Requests that ask their own service hold places for which others wait, but not if most of its connections are free. */
static void test_itself(void)
{
	static const struct task_frame ask[] = { { "net/http.(*Client).Get", NULL, 0 }, { "main.prices", "/src/shop.go", 9 },
						 { "main.place", "/src/shop.go", 5 },
						 { "net/http.serverHandler.ServeHTTP", "/usr/lib/go/server.go", 9 } };
	static const struct task_frame queue[] = { { "main.place", "/src/shop.go", 4 },
						   { "net/http.serverHandler.ServeHTTP", "/usr/lib/go/server.go", 9 } };
	static const struct { const char *owed; bool is_itself, is_free; } cases[] = {
		{ "7 of 7 looks, 28 of 28 asked: 5 clients wait, 4 connections to 127.0.0.1:8080 (itself)", true, false },
		{ "7 of 7 looks, 28 of 28 asked: 5 clients wait, 4 connections to 127.0.0.1:8080 (itself)", true, true },
		{ "7 of 7 looks, 9 of 28 asked: 5 clients wait, 4 connections to 127.0.0.1:8080 (itself)", false, false },
		{ "7 of 7 looks, 28 of 28 asked: 5 clients wait, 4 connections to 127.0.0.1:8081 (db)", false, false },
		{ NULL, false, false },
	};

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		struct tasks *t = tasks_new(TASKS_GO, 12);
		struct profile *p = profile_new();

		for (unsigned k = 0; k < 10; k++) {
			see(t, row_of(t, 1, "select", ask, 4), 4);
			if (!cases[i].is_free)
				see(t, row_of(t, 2, "chan send", queue, 2), 9);
			tasks_look_done(t, (k + 1) * (uint64_t)100000000, 100000000);
		}
		tasks_finish(t);
		if (cases[i].owed)
			profile_add_limit(p, LIMIT_OWED, 12, 0, cases[i].owed);
		struct task_findings *f = findings_of(p, t);

		g_assert_cmpuint(f->cnt, ==, cases[i].is_free ? 1 : 2);
		for (guint k = 0; k < f->cnt; k++) {
			const struct task_wait *w = &g_array_index(f->rows, struct task_wait, k);

			g_test_message("%zu: %s in %s: %s", i, w->says, w->function, w->advice);
			g_assert_true(!w->itself == !cases[i].is_itself);
			g_assert_true(g_str_has_prefix(w->advice, "A request that asks its own service") == (cases[i].is_itself && !cases[i].is_free));
			g_assert_true(g_str_has_prefix(w->advice, "Its own process answers") == (cases[i].is_itself && cases[i].is_free));
			g_assert_true(!strcmp(w->says, "wait for this service itself") == (cases[i].is_itself && !w->meanwhile));
		}
		task_findings_free(f);
		profile_free(p);
	}
}

/*
 * A task that sends to one after another is held up by who does not read; a handler, and one of several, serves a single
 * client, which holds up itself.
 */
static void test_slow_reader(void)
{
	static const struct task_frame stacks[][4] = {
		{ { "BaseProtocol._drain_helper", "/usr/lib/python3/dist-packages/aiohttp/base_protocol.py", 90 },
		  { "WebSocketResponse.send_str", "/usr/lib/python3/dist-packages/aiohttp/web_ws.py", 308 },
		  { "publish_quotes", "/src/quotes.py", 13 }, { "run", "/src/quotes.py", 20 } },
		{ { "FlowControlMixin._drain_helper", "/usr/lib/python3.11/asyncio/streams.py", 167 },
		  { "StreamResponse.write", "/usr/lib/python3/dist-packages/aiohttp/web_response.py", 500 }, { "download", "/src/files.py", 13 },
		  { "RequestHandler._handle_request", "/usr/lib/python3/dist-packages/aiohttp/web_protocol.py", 440 } },
	};
	static const struct { unsigned stack, tasks, cnt; } cases[] = { { 0, 1, 1 }, { 0, 4, 0 }, { 1, 1, 0 } };

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		struct profile *p = profile_new();
		struct tasks *t = tasks_new(TASKS_ASYNCIO, 12);

		p->info.duration_ns = 2000000000;
		for (unsigned k = 0; k < 10; k++) {
			see(t, row_of(t, 1, "a future", stacks[cases[i].stack], 4), cases[i].tasks);
			tasks_look_done(t, (k + 1) * (uint64_t)200000000, 200000000);
		}
		tasks_finish(t);
		struct task_findings *f = findings_of(p, t);
		const struct task_wait *one = &g_array_index(f->rows, struct task_wait, 0);

		g_test_message("%zu: %s in %s", i, one->says, one->function);
		g_assert_cmpstr(one->says, ==, "wait for a peer that reads too slowly");
		g_assert_cmpuint(f->cnt, ==, cases[i].cnt);
		task_findings_free(f);
		profile_free(p);
	}
}

/* The body of a request and that of an answer are read by one type: whose connection it is tells them apart. */
static void test_bodies(void)
{
	static const struct { const char *connection, *says; } cases[] = {
		{ "net/http.(*connReader).Read", "wait for the rest of a request from its client" },
		{ "net/http.(*persistConn).Read", "wait for an answer" },
	};

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		const struct task_frame stack[] = {
			{ "internal/poll.(*FD).Read", NULL, 0 }, { cases[i].connection, NULL, 0 }, { "net/http.(*body).Read", NULL, 0 },
			{ "io.Copy", NULL, 0 }, { "main.quote", "/src/gateway.go", 20 }, { "net/http.serverHandler.ServeHTTP", NULL, 0 },
		};
		struct profile *p = profile_new();
		struct tasks *t = tasks_new(TASKS_GO, 12);

		see(t, row_of(t, 1, "IO wait", stack, G_N_ELEMENTS(stack)), 4);
		tasks_look_done(t, 200000000, 200000000);
		tasks_finish(t);
		struct task_findings *f = findings_of(p, t);

		g_assert_cmpuint(f->cnt, ==, 1);
		g_assert_cmpstr(g_array_index(f->rows, struct task_wait, 0).says, ==, cases[i].says);
		task_findings_free(f);
		profile_free(p);
	}
}

/* Goroutines of a client wait for a service, whose own wait for a lock: the service leads, unless it hardly waits. */
static void test_clients(void)
{
	static const struct task_frame gets[] = { { "net/http.(*Client).Get", NULL, 0 }, { "main.load", "/src/load.go", 7 } };
	static const struct task_frame locks[] = { { "sync.(*Mutex).Lock", NULL, 0 }, { "main.price", "/src/prices.go", 32 },
						   { "net/http.serverHandler.ServeHTTP", NULL, 0 } };

	for (unsigned cnt = 3; cnt <= 12; cnt += 9) {
		struct profile *p = profile_new();
		struct tasks *client = tasks_new(TASKS_GO, 12), *service = tasks_new(TASKS_GO, 20);
		const struct object epoll = { .kind = OBJECT_EPOLL, .pid = 20, .place = "", .operation = "",
					      .name = "9 sockets (fd 4 of load) -> 127.0.0.1:8080 (prices)" };
		const struct wait w = { .thread = fixture_thread(p, 12, 12, "load", "load"), .state = 'S', .count = 20,
					.blocked_ns = 2000, .object = profile_object(p, &epoll) + 1 };

		profile_add_wait(p, &w);
		see(client, row_of(client, 1, "select", gets, 2), 16);
		see(service, row_of(service, 1, "sync.Mutex.Lock", locks, 3), cnt);
		tasks_look_done(client, 200000000, 200000000);
		tasks_look_done(service, 200000000, 200000000);
		tasks_finish(client);
		tasks_finish(service);
		profile_add_tasks(p, client);
		struct task_findings *f = findings_of(p, service);

		g_assert_cmpuint(f->cnt, ==, 2);
		g_assert_cmpuint(g_array_index(f->rows, struct task_wait, 0).pid, ==, cnt > 4 ? 20 : 12);
		task_findings_free(f);
		profile_free(p);
	}
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/tasks/findings/ends", test_ends);
	g_test_add_func("/tasks/retries", test_retries);
	g_test_add_func("/tasks/findings/long-poll", test_long_poll);
	g_test_add_func("/tasks/long-polls", test_long_polls);
	g_test_add_func("/tasks/findings/unasked", test_unasked);
	g_test_add_func("/tasks/findings/itself", test_itself);
	g_test_add_func("/tasks/findings/limiter", test_limiter);
	g_test_add_func("/tasks/pace", test_pace);
	g_test_add_func("/tasks/bodies", test_bodies);
	g_test_add_func("/tasks/clients", test_clients);
	g_test_add_func("/tasks/resting-server", test_resting_server);
	g_test_add_func("/tasks/slow-reader", test_slow_reader);
	g_test_add_func("/tasks/long-polls-of-java", test_long_polls_of_java);
	return g_test_run();
}
