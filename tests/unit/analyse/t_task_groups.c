/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Populations of tasks: means and errors of looks, groups, what is idle, and the sentences. */
#include <string.h>

#include "analyse/idle_part.h"
#include "explain/findings.h"
#include "explain/sentence.h"
#include "features/tasks/analysis.h"
#include "features/tasks/findings.h"
#include "features/tasks/rows.h"
#include "profile/limits.h"
#include "render/json/json.h"
#include "render/text/text.h"
#include "task_maker.h"

static const struct task_frame send[] = {
	{ "runtime.gopark", "/go/src/runtime/proc.go", 381 }, { "runtime.chansend1", "/go/src/runtime/chan.go", 145 },
	{ "main.producer", "/src/shop/main.go", 31 },
};
static struct tasks *make(uint64_t period_ns, unsigned looks)
{
	struct tasks *t = tasks_new(TASKS_GO, 12);

	t->program = tasks_string(t, "shop");
	t->version = tasks_string(t, "go1.24.1");
	for (unsigned i = 0; i < looks; i++) {
		see(t, row_of(t, 1, "chan send", send, 3), 1024);
		see(t, row_of(t, 2, "IO wait", serve, 3), 1);
		see(t, row_of(t, 3, "sleep", send, 3), i % 2 ? 4 : 2);
		tasks_look_done(t, (i + 1) * (uint64_t)period_ns, period_ns);
	}
	t->looked_at_share = 1;
	tasks_finish(t);
	return t;
}

static void test_times(void)
{
	struct tasks *t = make(1000000000, 10);
	const struct task_row *most = &g_array_index(t->rows, struct task_row, 0), *sleep = &g_array_index(t->rows, struct task_row, 1);

	g_assert_cmpuint(t->window_ns, ==, 10000000000);
	g_assert_cmpfloat(t->tasks, ==, 1028);
	g_assert_cmpuint(most->task_ns, ==, 10240000000000);
	g_assert_cmpuint(most->task_se_ns, ==, 1000000000);	/* one task, one period */
	g_assert_cmpfloat(sleep->tasks, ==, 3);
	/* nine differences of 2: sqrt(9 * 4 / 2 * 10 / 9) periods */
	g_assert_cmpuint(sleep->task_se_ns, ==, 4472135954);
	tasks_free(t);
}

static void test_groups(void)
{
	struct tasks *t = make(0, 1);
	struct task_groups g;
	const struct task_group *first;

	task_groups_make(&g, t);
	g_assert_cmpuint(g.groups->len, ==, 2);
	g_assert_cmpuint(g.reasons->len, ==, 3);
	first = &g_array_index(g.groups, struct task_group, 0);
	g_assert_cmpstr(first->at->name, ==, "main.producer");
	g_assert_cmpfloat(g.idle_tasks, ==, 1);
	g_assert_cmpstr(g_array_index(g.idle, struct task_group, 0).reason, ==, "waits for connections");
	task_groups_clear(&g);
	tasks_free(t);
}

static void test_text(void)
{
	const struct text_options options = { .top = 10 };
	g_autoptr(GString) s = g_string_new(NULL), json = g_string_new(NULL);
	struct tasks *t = make(0, 1);

	text_tasks(s, t, &options);
	g_assert_nonnull(strstr(s->str, "shop (12), go1.24.1: 1,027 goroutines, one look\n"));
	g_assert_nonnull(strstr(s->str, "1,024 goroutines wait in chan send at main.producer (main.go:31):"));
	g_assert_nonnull(strstr(s->str, "created by main.start\n"));
	g_assert_nonnull(strstr(s->str, "Idle, folded: 1 (waits for connections: 1)"));
	tasks_json(json, t);
	g_assert_nonnull(strstr(json->str, "\"tasks_milli\":1024000,\"task_ns\":null"));
	tasks_free(t);
}

static void test_rows_are_bounded(void)
{
	struct tasks *t = tasks_new(TASKS_GO, 1);
	bool is_new;

	for (uint64_t i = 0; i < TASKS_ROWS_MAX + 5; i++) {
		struct task_row *row = tasks_row(t, i, &is_new);

		g_assert_true(i < TASKS_ROWS_MAX ? row && is_new : !row);
	}
	g_assert_cmpuint(t->no_row, ==, 5);
	tasks_free(t);
}

static const struct task_frame lock[] = {
	{ "runtime.gopark", NULL, 0 }, { "sync.(*Mutex).Lock", NULL, 0 }, { "main.withdraw", "/src/bank.go", 4 }, { "main.main.func1", NULL, 7 },
};
static const struct task_frame held[] = {
	{ "runtime.gopark", NULL, 0 }, { "time.Sleep", NULL, 0 }, { "main.audit\tX", "/src/bank.go", 5 }, { "main.withdraw", "/src/bank.go", 4 },
	{ "main.main.func1", NULL, 7 },
};
static struct tasks *bank(bool accepts)
{
	struct tasks *t = tasks_new(TASKS_GO, 12);

	t->program = tasks_string(t, "bank");
	for (unsigned i = 0; i < 5; i++) {
		see(t, row_of(t, 1, "semacquire", lock, 4), 15);
		see(t, row_of(t, 2, "sleep", held, 5), 1);
		see(t, row_of(t, 3, "chan receive", work, 2), 40);
		see(t, row_of(t, 4, "IO wait", serve, 3), accepts);
		tasks_look_done(t, (i + 1) * (uint64_t)200000000, 200000000);
	}
	tasks_finish(t);
	return t;
}

/* What a recording keeps of them comes back; a worker that nobody gives work is no finding in a program that is asked from outside. */
static void test_findings(void)
{
	struct profile *p = profile_new();
	struct task_findings *f = findings_of(p, bank(true));
	const struct task_wait *w = &g_array_index(f->rows, struct task_wait, 0);

	g_assert_cmpuint(f->cnt, ==, 2);
	g_assert_cmpstr(w->function, ==, "main.withdraw");
	g_assert_cmpstr(w->says, ==, "wait for a mutex");
	g_assert_cmpuint(w->task_ns, ==, 15000000000);
	g_assert_cmpuint(w->busy_ns, ==, 16000000000);
	g_assert_nonnull(w->meanwhile);
	g_assert_cmpstr(w->meanwhile->function, ==, "main.audit\tX");
	g_assert_cmpstr(w->path, ==, "main.withdraw < main.main.func1");
	task_findings_free(f);
	profile_free(p);

	p = profile_new();
	f = findings_of(p, bank(false));
	g_assert_cmpuint(f->cnt, ==, 3);
	g_assert_cmpstr(g_array_index(f->rows, struct task_wait, 0).says, ==, "wait to receive from a channel");
	task_findings_free(f);
	profile_free(p);
}

/* Runnable goroutines are behind others only if their process runs, or its threads wait for a CPU. */
static void test_runnable(void)
{
	static const struct task_frame computes[] = { { "main.sum", NULL, 3 }, { "main.main.func1", NULL, 7 } };

	for (unsigned is_busy = 0; is_busy < 2; is_busy++) {
		struct tasks *t = tasks_new(TASKS_GO, 12);
		struct profile *p = profile_new();
		const uint32_t index = fixture_thread(p, 12, 12, "bank", "bank");
		struct thread *thread = &g_array_index(p->threads, struct thread, index);

		thread->to_ns = p->info.duration_ns = 1000000000;
		*(is_busy ? &thread->on_cpu_ns : &thread->blocked_ns) = 1000000000;
		for (unsigned i = 0; i < 5; i++) {
			struct task_row *row = row_of(t, 1, NULL, computes, 2);

			row->state = "runnable";
			see(t, row, 3);
			tasks_look_done(t, (i + 1) * (uint64_t)200000000, 200000000);
		}
		tasks_finish(t);
		struct task_findings *f = findings_of(p, t);

		g_assert_cmpuint(f->cnt, ==, is_busy);
		task_findings_free(f);
		profile_free(p);
	}
}

/* A library takes its mutex; who holds it is in a system call, which no wait of a goroutine tells. */
static void test_lock_of_a_library(void)
{
	static const struct task_frame wants[] = {
		{ "runtime.gopark", NULL, 0 }, { "sync.runtime_SemacquireMutex", NULL, 0 }, { "sync.(*Mutex).lockSlow", NULL, 0 },
		{ "log.(*Logger).Printf", NULL, 0 }, { "main.logRequest", NULL, 10 },
	};
	static const struct task_frame has[] = {
		{ "syscall.Fsync", NULL, 0 }, { "os.(*File).Sync", NULL, 0 }, { "main.syncFile.Write", NULL, 6 },
		{ "log.(*Logger).Printf", NULL, 0 }, { "main.logRequest", NULL, 10 },
	};
	struct tasks *t = tasks_new(TASKS_GO, 12);
	struct profile *p = profile_new();
	g_autoptr(GString) s = g_string_new(NULL);
	struct task_findings *f;
	const struct task_wait *w;

	for (unsigned i = 0; i < 5; i++) {
		struct task_row *holder;

		see(t, row_of(t, 1, "semacquire", wants, 5), 8);
		holder = row_of(t, 2, NULL, has, 5);
		holder->state = "syscall";
		see(t, holder, 1);
		tasks_look_done(t, (i + 1) * (uint64_t)200000000, 200000000);
	}
	tasks_finish(t);
	f = findings_of(p, t);
	w = &g_array_index(f->rows, struct task_wait, 0);
	g_assert_cmpuint(f->cnt, ==, 1);
	g_assert_cmpstr(w->says, ==, "wait for a mutex");
	struct findings *all = findings_new(p, NULL);
	sentence_task_evidence(s, all, w);
	findings_free(all);
	g_assert_nonnull(strstr(s->str, "meanwhile 1 goroutine is in os.(*File).Sync in main.syncFile.Write"));
	task_findings_free(f);
	profile_free(p);
}

/*
 * Who ends nearly all waits of a process for its sockets is whom its goroutines wait for; of two nobody is.  A server that has
 * all in memory and answers late was asked for what comes, also where clients come between.
 */
static void test_peer(void)
{
	static const struct task_frame reads[] = { { "net.(*conn).Read", NULL, 0 }, { "main.consume", "/src/jobs.go", 4 } };

	for (int i = 0; i < 4; i++) {
		const bool is_shared = i % 2, is_late = i >= 2;
		struct profile *p = profile_new();
		struct tasks *t = tasks_new(TASKS_GO, 12);
		const struct object epoll = { .kind = OBJECT_EPOLL, .pid = 50, .place = "", .operation = "",
					      .name = "epoll of 4 sockets (fd 4 of jobs) -> 127.0.0.1:6379 (redis-server)" };
		const struct waker wakers[] = { { .pid = 50, .tid = 50, .comm = "redis-server" },
						{ .pid = 60, .tid = 60, .comm = "python3" } };
		const struct wait w = { .thread = fixture_thread(p, 12, 12, "jobs", "jobs"), .state = 'S', .count = 20,
					.blocked_ns = 2000, .object = profile_object(p, &epoll) + 1 };
		uint32_t wait = profile_add_wait(p, &w);

		for (int k = 0; k < 1 + is_shared; k++) {
			const struct wake wake = { .wait = wait, .waker = profile_waker(p, &wakers[k]), .count = 10,
						   .blocked_ns = is_late && !k ? UINT64_C(20000000000) : 500 + 1000 * (uint64_t)k };

			profile_add_wake(p, &wake);
		}
		see(t, row_of(t, 1, "IO wait", reads, 2), 4);
		p->info.duration_ns = UINT64_C(60000000000);
		tasks_look_done(t, 200000000, is_late ? UINT64_C(20000000000) : 200000000);
		tasks_finish(t);
		struct task_findings *f = findings_of(p, t);
		const struct task_wait *one = &g_array_index(f->rows, struct task_wait, 0);

		g_assert_cmpuint(f->cnt, ==, !is_late);
		g_assert_cmpstr(one->peer, ==, is_shared || is_late ? NULL : "127.0.0.1:6379 (redis-server)");
		g_assert_cmpint(is_late || g_str_has_prefix(one->advice, "A command that waits for work"), ==, !is_shared || is_late);
		g_assert_cmpstr(one->ended_by ? one->ended_by->comm : NULL, ==, is_shared && !is_late ? "python3" : NULL);
		task_findings_free(f);
		profile_free(p);
	}
}

/*
 * Answers that come at once, and waits of the loop that timers end: whoever waits has a time limit, as far as is known.  Who
 * waits for a connection may have none, and what comes to a server may be requests.
 */
static void test_at_once(void)
{
	static const struct task_frame reads[] = { { "net.(*conn).Read", NULL, 0 }, { "main.consume", "/src/jobs.go", 4 } };
	static const struct task_frame asks[] = { { "net/http.(*Client).Do", NULL, 0 }, { "main.fetch", "/src/jobs.go", 4 } };
	static const struct task_frame listens[] = { { "Server.serve_forever", "/usr/lib/python3.11/asyncio/base_events.py", 372 } };
	static const struct task_frame limited[] = { { "wait_for", "/usr/lib/python3.11/asyncio/tasks.py", 466 },
						     { "read_sensor", "/srv/coap.py", 14 } };
	static const struct {
		enum tasks_kind kind;
		const struct task_frame *frames;
		const char *reason, *advice;	/* the second NULL: no finding */
		bool serves;
		uint64_t answers_ns;
	} cases[] = {
		{ TASKS_GO, reads, "IO wait", "What comes does so at once, or not at all. If", false, 2000000 },
		{ TASKS_GO, asks, "select", "Answers come at once, or not at all", false, 2000000 },
		{ TASKS_GO, asks, "select", "Hardly anything comes from its sockets", true, 2000000 },
		{ TASKS_GO, reads, "IO wait", "Look at the peer", false, 2000000000 },
		{ TASKS_ASYNCIO, limited, "a future", "Answers come at once, or not at all", false, 2000000 },
		{ TASKS_ASYNCIO, limited, "a future", NULL, true, 2000000 },
		{ TASKS_ASYNCIO, limited, "a future", NULL, false, 2000000000 },
	};

	for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
		struct profile *p = profile_new();
		struct tasks *t = tasks_new(cases[i].kind, 12);
		const struct object epoll = { .kind = OBJECT_EPOLL, .place = "", .operation = "", .name = "4 sockets (fd 4 of jobs)" };
		const struct waker peer = { .pid = 50, .tid = 50, .comm = "api" }, timer = { .comm = "", .irq = "timer" };
		const struct wait w = { .thread = fixture_thread(p, 12, 12, "jobs", "jobs"), .state = 'S', .count = 30,
					.blocked_ns = 9000000000, .object = profile_object(p, &epoll) + 1 };
		uint32_t wait = profile_add_wait(p, &w);
		const struct wake wakes[] = {
			{ .wait = wait, .waker = profile_waker(p, &peer), .count = 10, .blocked_ns = cases[i].answers_ns },
			{ .wait = wait, .waker = profile_waker(p, &timer), .count = 20, .blocked_ns = 5000000000 },
		};

		profile_add_wake(p, &wakes[0]);
		profile_add_wake(p, &wakes[1]);
		see(t, row_of(t, 1, cases[i].reason, cases[i].frames, 2), 4);
		if (cases[i].serves)
			see(t, cases[i].kind == TASKS_GO ? row_of(t, 2, "IO wait", serve, 3) : row_of(t, 2, "a future", listens, 1), 1);
		tasks_look_done(t, 200000000, 200000000);
		tasks_finish(t);
		struct task_findings *f = findings_of(p, t);
		const struct task_wait *one = &g_array_index(f->rows, struct task_wait, 0);
		const bool is_quick = cases[i].advice && cases[i].answers_ns < 1000000000;

		if (f->cnt != (cases[i].advice ? 1 : 0) || (f->cnt && !g_str_has_prefix(one->advice, cases[i].advice)))
			g_error("case %u: %s", i, one->advice);
		g_assert_cmpuint(one->at_once.answers_cnt, ==, is_quick ? 10 : 0);
		g_assert_cmpint(one->ended_by != NULL, ==, cases[i].advice && !is_quick);
		task_findings_free(f);
		profile_free(p);
	}
}

/*
 * A channel that counts places: others have come past it in the same function, or in the one that called it.  One whose
 * receivers are elsewhere is a queue, and where a goroutine of another kind is it may be one.
 */
static void test_semaphore(void)
{
	static const struct task_frame wants[] = { { "runtime.chansend1", NULL, 0 }, { "main.(*Limiter).Enter", "/src/pay.go", 2 },
						   { "main.call", "/src/pay.go", 4 }, { "main.serve", "/src/pay.go", 8 } };
	static const struct task_frame past[] = { { "net.(*conn).Read", NULL, 0 }, { "main.call", "/src/pay.go", 6 },
						  { "main.serve", "/src/pay.go", 8 } };
	static const struct task_frame far[] = { { "net.(*conn).Read", NULL, 0 }, { "main.drain", "/src/pay.go", 9 } };
	enum { PEERS, BESIDE, DIRECT, QUEUE, CASES };
	static const char *const advice[] = { "Goroutines of their own kind", "If it limits how many", "Goroutines of their own kind",
					      "Who receives is slower" };

	for (int is = 0; is < CASES; is++) {
		struct tasks *t = tasks_new(TASKS_GO, 12);
		struct profile *p = profile_new();

		see(t, is == DIRECT ? row_of(t, 1, "chan send", wants + 2, 2) : row_of(t, 1, "chan send", wants, 4), 8);
		see(t, is == QUEUE ? row_of(t, 2, "IO wait", far, 2) : row_of(t, 2, "IO wait", past, 3), 2);
		if (is == BESIDE)
			see(t, row_of(t, 3, "IO wait", far, 2), 1);
		tasks_look_done(t, 200000000, 200000000);
		tasks_finish(t);
		struct task_findings *f = findings_of(p, t);
		const struct task_wait *w = &g_array_index(f->rows, struct task_wait, 0);

		g_assert_cmpstr(w->says, ==, "wait to send to a channel");
		g_assert_nonnull(w->meanwhile);
		g_assert_true(g_str_has_prefix(w->advice, advice[is]));
		task_findings_free(f);
		profile_free(p);
	}
}

/* Threads that were held up for less than a twentieth of the window are no news beside what goroutines wait for. */
static void test_threads_beside_tasks(void)
{
	const uint64_t window_ns = 1000000000;
	struct finding row = { .pid = 12, .process = "bank", .time_ns = window_ns / 20 - 1 };
	struct profile *p = profile_new(), *without = profile_new();
	struct task_findings *f = findings_of(p, bank(true)), *none = task_findings_new(without, NULL, NULL);

	g_assert_true(task_findings_outweigh(f, &row, window_ns));
	g_assert_false(task_findings_outweigh(none, &row, window_ns));
	row.time_ns++;
	g_assert_false(task_findings_outweigh(f, &row, window_ns));
	row = (struct finding){ .pid = 12, .process = "bank", .deadlock = 1 };
	g_assert_false(task_findings_outweigh(f, &row, window_ns));
	row = (struct finding){ .pid = 13, .process = "bank" };
	g_assert_false(task_findings_outweigh(f, &row, window_ns));	/* another process */
	row.pid = 0;
	g_assert_true(task_findings_outweigh(f, &row, window_ns));
	task_findings_free(f);
	task_findings_free(none);
	profile_free(p);
	profile_free(without);
}

/* Between two requests nobody but the client is waited for. */
static void test_between_requests(void)
{
	static const struct task_frame next[] = {
		{ "net.(*conn).Read", NULL, 0 }, { "bufio.(*Reader).ReadSlice", NULL, 0 }, { "net/http.(*conn).readRequest", NULL, 0 },
		{ "net/http.(*conn).serve", NULL, 0 },
	};
	const struct task_row row = { .state = "waiting", .reason = "IO wait", .frames = next, .frame_cnt = 4 };

	g_assert_cmpstr(task_idle(TASKS_GO, &row), ==, "connections without a request (net/http)");
}

/* Who waits for a turn at a pool of Go's own library is told apart from who waits for the answer. */
static void test_turns_at_a_pool(void)
{
	static const struct task_frame turn[] = {
		{ "runtime.gopark", NULL, 0 }, { "runtime.selectgo", NULL, 0 }, { "net/http.(*Transport).getConn", NULL, 0 },
		{ "net/http.(*Client).Get", NULL, 0 }, { "main.fetchStock", "/src/shop.go", 5 },
	}, answer[] = {
		{ "runtime.gopark", NULL, 0 }, { "runtime.selectgo", NULL, 0 }, { "net/http.(*persistConn).roundTrip", NULL, 0 },
		{ "net/http.(*Client).Get", NULL, 0 }, { "main.fetchStock", "/src/shop.go", 5 },
	};
	struct tasks *t = tasks_new(TASKS_GO, 12);
	struct profile *p = profile_new();

	for (unsigned i = 0; i < 5; i++) {
		see(t, row_of(t, 1, "select", turn, 5), 18);
		see(t, row_of(t, 2, "select", answer, 5), 2);
		tasks_look_done(t, (i + 1) * (uint64_t)200000000, 200000000);
	}
	tasks_finish(t);
	struct task_findings *f = findings_of(p, t);
	const struct task_wait *w = &g_array_index(f->rows, struct task_wait, 0);

	g_assert_cmpuint(f->cnt, ==, 2);
	g_assert_cmpstr(w->says, ==, "wait for a connection of a pool");
	g_assert_nonnull(w->meanwhile);
	g_assert_cmpstr(w->meanwhile->says, ==, "wait for an answer");
	task_findings_free(f);
	profile_free(p);
}

/* A pool of connections that is a channel: who waits for one owes an answer, which tells it from a worker without work. */
static void test_handlers_that_receive(void)
{
	struct tasks *t = tasks_new(TASKS_GO, 12);
	struct profile *p = profile_new();
	struct task_findings *f;
	const struct task_wait *w;

	for (unsigned i = 0; i < 5; i++) {
		see(t, row_of(t, 1, "chan receive", work, 2), 40);
		see(t, row_of(t, 2, "chan receive", handler, 4), 8);
		see(t, row_of(t, 3, "IO wait", query, 4), 2);
		see(t, row_of(t, 4, "IO wait", serve, 3), 1);
		tasks_look_done(t, (i + 1) * (uint64_t)200000000, 200000000);
	}
	tasks_finish(t);
	f = findings_of(p, t);
	w = &g_array_index(f->rows, struct task_wait, 0);
	g_assert_cmpuint(f->cnt, ==, 2);
	g_assert_cmpstr(w->function, ==, "main.buy");
	g_assert_cmpuint(w->busy_ns, ==, 10000000000);
	g_assert_nonnull(w->meanwhile);
	g_assert_cmpstr(w->meanwhile->function, ==, "main.query");
	g_assert_nonnull(strstr(w->advice, "pool"));
	task_findings_free(f);
	profile_free(p);
}

/* Requests in a select may wait for events; beside one that waits for an answer they are told, if there are any. */
static void test_handlers_in_a_select(void)
{
	for (unsigned selecting = 0; selecting <= 8; selecting += 8) {
		struct tasks *t = tasks_new(TASKS_GO, 12);
		struct profile *p = profile_new();

		for (unsigned i = 0; i < 5; i++) {
			see(t, row_of(t, 1, "select", work, 2), 40);
			see(t, row_of(t, 2, "select", handler, 4), selecting);
			see(t, row_of(t, 3, "IO wait", query, 4), 2);
			see(t, row_of(t, 4, "IO wait", serve, 3), 1);
			tasks_look_done(t, (i + 1) * (uint64_t)200000000, 200000000);
		}
		tasks_finish(t);
		struct task_findings *f = findings_of(p, t);
		const struct task_wait *w = &g_array_index(f->rows, struct task_wait, 0);

		g_assert_cmpuint(f->cnt, ==, 1);
		g_assert_cmpstr(w->function, ==, "main.query");
		g_assert_cmpint(w->meanwhile != NULL, ==, selecting > 0);
		g_assert_cmpint(strstr(w->advice, "those in the select") != NULL, ==, selecting > 0);
		g_assert_true(!selecting || strcmp(w->meanwhile->function, "main.buy") == 0);
		task_findings_free(f);
		profile_free(p);
	}
}

/* Workers that receive may have no work, a service's ticker beside them or not; whom nobody signals may be lost. */
static void test_ticker_beside(void)
{
	static const struct task_frame tick[] = { { "runtime.gopark", NULL, 0 }, { "time.Sleep", NULL, 0 }, { "main.beat", "/src/a.go", 5 } };

	for (unsigned is_condition = 0; is_condition < 2; is_condition++) {
		struct tasks *t = tasks_new(TASKS_GO, 12);
		struct profile *p = profile_new();

		for (unsigned i = 0; i < 5; i++) {
			see(t, row_of(t, 1, is_condition ? "sync.Cond.Wait" : "chan receive", work, 2), 4);
			see(t, row_of(t, 2, "sleep", tick, 3), 1);
			tasks_look_done(t, (i + 1) * (uint64_t)200000000, 200000000);
		}
		tasks_finish(t);
		struct task_findings *f = findings_of(p, t);

		g_assert_cmpuint(f->cnt, ==, is_condition);
		task_findings_free(f);
		profile_free(p);
	}
}

/* A handler at "async with". */
static const struct task_frame gate[] = {
	{ "Semaphore.acquire", "/usr/lib/python3.11/asyncio/locks.py", 387 },
	{ "_ContextManagerMixin.__aenter__", "/usr/lib/python3.11/asyncio/locks.py", 15 }, { "handle", "/app/aio.py", 11 },
};

static void test_async_with(void)
{
	const struct task_row row = { .state = "waiting", .frames = gate, .frame_cnt = 3 }, outer = { .state = "waiting", .frames = gate + 1, .frame_cnt = 2 };

	g_assert_cmpstr(task_call(TASKS_ASYNCIO, &row), ==, "Semaphore.acquire");
	g_assert_cmpstr(task_call(TASKS_ASYNCIO, &outer), ==, "_ContextManagerMixin.__aenter__");
}

/* A method of gevent's that is compiled has no file, and is none of the program's functions. */
static void test_greenlets(void)
{
	static const struct task_frame locked[] = { { "Semaphore.acquire", NULL, 0 }, { "handle", "/app/shop.py", 18 } },
				       relocked[] = { { "Semaphore.acquire", "/usr/lib/python3/dist-packages/eventlet/semaphore.py", 115 },
						      { "Semaphore.__enter__", "/usr/lib/python3/dist-packages/eventlet/semaphore.py", 129 },
						      { "handle", "/app/shop.py", 18 } },
				       serves[] = { { "Event.wait", NULL, 0 },
						    { "BaseServer.serve_forever", "/usr/lib/python3/dist-packages/gevent/baseserver.py", 398 },
						    { "<module>", "/app/shop.py", 30 } },
				       worker[] = { { "_WorkerGreenlet._begin", "/usr/lib/python3/dist-packages/gevent/threadpool.py", 121 } },
				       accepts[] = { { "accept", "/app/shop.py", 3 } };
	struct task_row row = { .state = "waiting", .reason = "a switch to another greenlet", .frames = locked, .frame_cnt = 2 };

	g_assert_cmpstr(task_call(TASKS_GREENLET, &row), ==, "Semaphore.acquire");
	g_assert_cmpstr(task_own_frame(TASKS_GREENLET, &row)->name, ==, "handle");
	g_assert_null(task_idle(TASKS_GREENLET, &row));
	row.frames = relocked;
	row.frame_cnt = 3;
	g_assert_cmpstr(task_call(TASKS_GREENLET, &row), ==, "Semaphore.acquire");
	row.frames = serves;
	g_assert_cmpstr(task_idle(TASKS_GREENLET, &row), ==, "waits for connections");
	row.frames = worker;
	row.frame_cnt = 1;
	g_assert_nonnull(task_idle(TASKS_GREENLET, &row));
	row.frames = accepts;
	g_assert_null(task_idle(TASKS_GREENLET, &row));
}

/* A semaphore of asyncio is a finding, and what a task does that has it; who reads may have nothing to do. */
static void test_asyncio_findings(void)
{
	static const struct task_frame read[] = {
		{ "StreamReader.read", "/usr/lib/python3.11/asyncio/streams.py", 689 }, { "price", "/app/aio.py", 5 }, { "handle", "/app/aio.py", 11 },
	};
	struct tasks *t = tasks_new(TASKS_ASYNCIO, 12);
	struct profile *p = profile_new();
	struct task_findings *f;
	const struct task_wait *w;

	for (unsigned i = 0; i < 5; i++) {
		see(t, row_of(t, 1, "a future", gate, 3), 8);
		see(t, row_of(t, 2, "a future", read, 3), 2);
		tasks_look_done(t, (i + 1) * (uint64_t)200000000, 200000000);
	}
	tasks_finish(t);
	f = findings_of(p, t);
	w = &g_array_index(f->rows, struct task_wait, 0);
	g_assert_cmpuint(f->cnt, ==, 1);
	g_assert_cmpstr(w->call, ==, "Semaphore.acquire");
	g_assert_cmpuint(w->task_ns, ==, 8000000000);
	g_assert_cmpuint(w->busy_ns, ==, 10000000000);
	g_assert_nonnull(w->meanwhile);
	g_assert_cmpstr(w->meanwhile->function, ==, "price");
	task_findings_free(f);
	profile_free(p);
}

static const struct task_frame java_lock[] = {
	{ "java.util.concurrent.locks.LockSupport.park", NULL, 0 }, { "java.util.concurrent.locks.ReentrantLock.lock", NULL, 0 },
	{ "shop.Ledger.credit", NULL, 0 }, { "shop.Api.handle", NULL, 0 }, { "java.lang.VirtualThread.run", NULL, 0 },
};
static const struct task_frame holds[] = {
	{ "java.lang.Thread.sleep", NULL, 0 }, { "shop.Ledger.write", NULL, 0 }, { "shop.Ledger.credit", NULL, 0 },
	{ "shop.Api.handle", NULL, 0 }, { "java.lang.VirtualThread.run", NULL, 0 },
};
static const struct task_frame reads[] = {
	{ "sun.nio.ch.NioSocketImpl.read", NULL, 0 }, { "java.io.InputStream.read", NULL, 0 }, { "shop.Wire.next", NULL, 0 },
};
static const struct task_frame asks[] = {
	{ "java.util.concurrent.CompletableFuture.get", NULL, 0 }, { "jdk.internal.net.http.HttpClientImpl.send", NULL, 0 },
	{ "shop.Prices.ask", NULL, 0 },
};
static const struct task_frame accepts[] = {
	{ "sun.nio.ch.NioSocketImpl.accept", NULL, 0 }, { "java.net.ServerSocket.accept", NULL, 0 }, { "shop.Main.serve", NULL, 0 },
};

static const struct task_wait *java_findings(struct tasks *t, struct profile *p, struct task_findings **ret)
{
	for (unsigned i = 0; i < 5; i++)
		tasks_look_done(t, (i + 1) * (uint64_t)200000000, 200000000);
	tasks_finish(t);
	*ret = findings_of(p, t);
	return &g_array_index((*ret)->rows, struct task_wait, 0);
}

/* Of virtual threads locks are findings, with what the one does that has it; who sleeps or reads may have nothing to do. */
static void test_java_lock(void)
{
	struct tasks *t = tasks_new(TASKS_JAVA, 12);
	struct profile *p = profile_new();
	g_autoptr(GString) s = g_string_new(NULL);
	struct task_findings *f;
	const struct task_wait *w;

	see(t, row_of(t, 1, "parked for a ReentrantLock", java_lock, 5), 199);
	see(t, row_of(t, 2, "parked for a time", holds, 5), 1);
	see(t, row_of(t, 3, "parked", reads, 3), 500);
	w = java_findings(t, p, &f);
	g_assert_cmpuint(f->cnt, ==, 1);
	g_assert_cmpstr(w->call, ==, "java.util.concurrent.locks.ReentrantLock.lock");
	g_assert_nonnull(w->meanwhile);
	g_assert_cmpstr(w->meanwhile->function, ==, "shop.Ledger.write");
	sentence_task(s, w);
	g_assert_true(g_str_has_suffix(s->str, " virtual threads wait for a lock in shop.Ledger.credit"));
	task_findings_free(f);
	profile_free(p);
}

/* A thousand that read sockets, and few requests: nothing to find, but for who has asked somebody by a client. */
static void test_java_healthy(void)
{
	for (unsigned is_client = 0; is_client < 2; is_client++) {
		struct tasks *t = tasks_new(TASKS_JAVA, 12);
		struct profile *p = profile_new();
		struct task_findings *f;

		see(t, row_of(t, 1, "parked", reads, 3), 1000);
		see(t, row_of(t, 2, "parked", accepts, 3), 1);
		see(t, row_of(t, 3, "parked for a time", holds, 5), 3);
		if (is_client)
			see(t, row_of(t, 4, "parked", asks, 3), 4);
		const struct task_wait *w = java_findings(t, p, &f);

		g_assert_cmpuint(f->cnt, ==, is_client);
		if (is_client)
			g_assert_cmpstr(w->function, ==, "shop.Prices.ask");
		task_findings_free(f);
		profile_free(p);
	}
}

/* Who finds no carrier is told with those that are pinned to them, whose time is that of threads. */
static void test_java_without_carrier(void)
{
	struct tasks *t = tasks_new(TASKS_JAVA, 12);
	struct profile *p = profile_new();
	struct task_findings *f;
	struct task_row *row = row_of(t, 1, NULL, NULL, 0);

	row->state = "runnable";
	see(t, row, 198);
	see(t, row_of(t, 2, "pinned to its carrier: holds a monitor", holds, 5), 2);
	const struct task_wait *w = java_findings(t, p, &f);

	g_assert_cmpuint(f->cnt, ==, 1);
	g_assert_cmpstr(w->says, ==, "are runnable without a carrier thread");
	g_assert_nonnull(w->meanwhile);
	g_assert_cmpstr(w->meanwhile->function, ==, "shop.Ledger.write");
	task_findings_free(f);
	profile_free(p);
}

/* As a file may have them: without stacks and names, with times beyond all sums. */
static void test_hostile_findings(void)
{
	static const struct task_frame nameless[] = { { NULL, NULL, 7 }, { "", "", 0 } };
	struct tasks *t = make(0, 0);
	struct profile *p = profile_new();
	struct task_findings *f;

	for (uint64_t key = 1; key <= 100; key++) {
		struct task_row *row = row_of(t, key, key % 2 ? "sleep" : "sync.Mutex.Lock", nameless, key % 3);

		row->task_ns = UINT64_MAX / 128;
		row->creator = (struct task_frame){ 0 };
	}
	f = findings_of(p, t);
	for (guint i = 0; i < f->rows->len; i++)
		g_assert_cmpuint(g_array_index(f->rows, struct task_wait, i).busy_ns, <, UINT64_C(1) << 62);
	g_assert_cmpuint(f->rows->len, >, 0);
	task_findings_free(f);
	profile_free(p);
}

/* Tasks that have nothing to do are left out of a picture, like threads. */
static void test_idle(void)
{
	struct profile *p = fixture_new();

	fixture_add_tasks(p, 40);
	struct profile *tasks = task_profile_new(p);
	struct idle_part *idle = idle_part_new(tasks, NULL, WEIGHT_OFF_CPU);
	uint64_t idle_ns = 0, rest_ns = 0;

	for (guint i = 0; i < tasks->waits->len; i++) {
		const struct wait *w = profile_wait(tasks, i);

		*(task_profile_is_idle(tasks, w) ? &idle_ns : &rest_ns) += wait_off_cpu_ns(w);
		g_assert_true(idle->waits[i] == task_profile_is_idle(tasks, w));
	}
	g_assert_cmpuint(idle_ns, >, 0);
	g_assert_cmpuint(idle->amount, ==, idle_ns);
	g_assert_cmpuint(idle->rest, ==, rest_ns);
	idle_part_free(idle);
	profile_free(tasks);
	profile_free(p);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/tasks/times", test_times);
	g_test_add_func("/tasks/groups", test_groups);
	g_test_add_func("/tasks/text", test_text);
	g_test_add_func("/tasks/rows-are-bounded", test_rows_are_bounded);
	g_test_add_func("/tasks/findings", test_findings);
	g_test_add_func("/tasks/findings/library", test_lock_of_a_library);
	g_test_add_func("/tasks/findings/semaphore", test_semaphore);
	g_test_add_func("/tasks/findings/runnable", test_runnable);
	g_test_add_func("/tasks/findings/peer", test_peer);
	g_test_add_func("/tasks/findings/at-once", test_at_once);
	g_test_add_func("/tasks/turns-at-a-pool", test_turns_at_a_pool);
	g_test_add_func("/tasks/handlers-that-receive", test_handlers_that_receive);
	g_test_add_func("/tasks/handlers-in-a-select", test_handlers_in_a_select);
	g_test_add_func("/tasks/ticker-beside", test_ticker_beside);
	g_test_add_func("/tasks/threads-beside-tasks", test_threads_beside_tasks);
	g_test_add_func("/tasks/between-requests", test_between_requests);
	g_test_add_func("/tasks/async-with", test_async_with);
	g_test_add_func("/tasks/asyncio-findings", test_asyncio_findings);
	g_test_add_func("/tasks/java/lock", test_java_lock);
	g_test_add_func("/tasks/java/healthy", test_java_healthy);
	g_test_add_func("/tasks/java/without-carrier", test_java_without_carrier);
	g_test_add_func("/tasks/greenlets", test_greenlets);
	g_test_add_func("/tasks/hostile-findings", test_hostile_findings);
	g_test_add_func("/tasks/idle", test_idle);
	return g_test_run();
}
