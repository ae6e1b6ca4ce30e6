/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Who waits for another program, or for itself: pools, queues of connections, tries, the network. */
#include "explain/explain.h"
#include "second.h"

static uint32_t socket_of(struct profile *p, const char *name, uint32_t pid)
{
	const struct object object = { .kind = OBJECT_SOCKET, .operation = "", .name = name, .place = "tcp", .pid = pid };

	return profile_object(p, &object) + 1;
}

/*
 * Clients that wait for a proxy, whose connections to the server there are known: of each a thread of the server waits
 * for rest_ms of a second for the next request.
 */
static struct profile *proxy_new(unsigned clients, unsigned made, unsigned servers, uint64_t rest_ms, const char *there)
{
	struct profile *p = window_new();
	g_autofree char *text = g_strdup_printf(LIMIT_POOL_FORMAT, made, made, "127.0.0.1:5432", clients);

	fixture_thread(p, 20, 20, "proxy", "pro\033xy");
	for (unsigned i = 0; i < clients; i++) {
		add_wait(p, runner(p, 10 + 100 * i, "shop"), 'S', 1, 950, "main@shop query@shop recv@libc.so.6",
			 "__x64_sys_recvfrom@[kernel] tcp_recvmsg@[kernel]");
		g_array_index(p->waits, struct wait, p->waits->len - 1).object = socket_of(p, there, 20);
	}
	for (unsigned i = 0; i < servers; i++) {
		add_wait(p, runner(p, 11 + 100 * i, "postgres"), 'S', 1, rest_ms, "main@postgres next@postgres recv@libc.so.6",
			 "__x64_sys_recvfrom@[kernel] tcp_recvmsg@[kernel]");
		g_array_index(p->waits, struct wait, p->waits->len - 1).object = socket_of(p, ":5432 from 127.0.0.1 (proxy)", 20);
	}
	profile_add_limit(p, LIMIT_POOL, 20, 0, text);
	return p;
}

static void test_pool_of_proxy(void)
{
	static const struct {
		unsigned clients, made, servers;
		uint64_t rest_ms;
		bool is_told;
	} cases[] = {
		{ 8, 2, 2, 20, true },
		{ 8, 2, 1, 20, true },		/* one never rested */
		{ 8, 2, 2, 500, false },
		{ 8, 2, 3, 20, false },		/* there are others, too */
		{ 3, 2, 2, 200, false },
		{ 8, 2, 0, 0, false },		/* of a server elsewhere nothing is known, and the proxy asks nobody */
	};

	for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
		struct profile *p = proxy_new(cases[i].clients, cases[i].made, cases[i].servers, cases[i].rest_ms, "127.0.0.1:6432 (proxy)");

		if (cases[i].is_told) {
			assert_told(p, "sentence", ": pro\\x1bxy's 2 connections to 127.0.0.1:5432 (postgres) are all busy");
			assert_told(p, "evidence", "has 8 connections from clients, of which 7.6 wait on average");
		} else {
			struct findings *f = findings_new(p, NULL);

			for (guint r = 0; r < f->rows->len; r++)
				g_assert_null(g_array_index(f->rows, struct finding, r).limit.limit);
			findings_free(f);
		}
		profile_free(p);
	}
}

/* A pooler is known by its name: its clients wait for its connections, whether it is recorded or not. */
static void test_pooler(void)
{
	for (unsigned clients = 2; clients < 9; clients += 6) {
		struct profile *p = proxy_new(clients, 2, 0, 0, "127.0.0.1:6432 (pgbouncer)");

		if (clients > 2)
			assert_told(p, "sentence", ": pro\\x1bxy has 2 connections to 127.0.0.1:5432");
		assert_told(p, "evidence", clients > 2 ? "has 8 connections from clients, of which 7.6 wait on average" : "2 threads");
		assert_advice(p, "Who waits for a pooler waits for a statement, or until a connection of the pool is free");
		profile_free(p);
	}
}

/* It asks an address where its own process accepts connections, as these or its queue tell; another service's it may ask. */
static void test_asks_itself(void)
{
	static const struct {
		const char *asked, *served, *backlog;	/* NULL: none */
		uint32_t server;
		bool is_itself;
	} cases[] = {
		{ "127.0.0.1:8018", "127.0.0.1:8018", NULL, 10, true },
		{ "10.0.0.5:8018", "10.0.0.5:8018", NULL, 10, true },
		{ "127.0.0.1:8018 (shop)", ":8018", NULL, 10, true },
		{ "127.0.0.1:8018", NULL, "4 connections wait at :8018", 0, true },
		{ "10.0.0.5:8018", ":8018", NULL, 10, false },	/* another machine's */
		{ "127.0.0.1:8018", "127.0.0.1:801", NULL, 10, false },
		{ "127.0.0.1:8018", "127.0.0.1:8018", NULL, 20, false },
		{ "127.0.0.1:8018", NULL, "4 connections wait at :8017", 0, false },
	};

	for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
		struct profile *p = window_new();
		const struct connection c = { .pid = cases[i].server, .side = CONNECTION_SERVER, .local = cases[i].served, .remote = "" };

		add_wait(p, runner(p, 10, "shop"), 'S', 4, WINDOW_MS / 5, "main@shop fetch_pdf@shop recv@libc.so.6",
			 "__x64_sys_recvfrom@[kernel] tcp_recvmsg@[kernel]");
		g_array_index(p->waits, struct wait, 0).object = socket_of(p, cases[i].asked, 0);
		if (cases[i].served)
			profile_add_connection(p, &c);
		if (cases[i].backlog)
			profile_add_limit(p, LIMIT_BACKLOG, 10, 0, cases[i].backlog);
		struct findings *f = findings_new(p, NULL);
		struct parts parts;

		parts_of(f, 0, &parts);
		g_assert_true(g_str_has_prefix(parts.sentence, "shop waits for itself, ") == cases[i].is_itself);
		g_assert_true(g_str_has_prefix(parts.advice, "A request that asks its own service") == cases[i].is_itself);
		parts_clear(&parts);
		findings_free(f);
		profile_free(p);
	}
}

/* A thread that sleeps until it tries again what nobody takes does not rest. */
static void test_retries(void)
{
	static const struct {
		const char *limit;
		uint32_t tid;	/* whose connections failed */
		const char *sentence, *evidence;	/* NULL: nothing is said of it */
	} cases[] = {
		{ "4 connections to 10.0.0.5:80: refused", 20, ": 10.0.0.5:80 refuses connections",
		  "; 4 connections to 10.0.0.5:80 were refused" },
		{ "4 connections to 10.0.0.5:80: without a port", 20,
		  ": no local port is free to connect to 10.0.0.5:80", "; 4 connections to 10.0.0.5:80 found no free port" },
		{ "1 connections to 10.0.0.5:80: refused", 20, NULL, NULL },	/* it sleeps four times */
		{ "4 connections to 10.0.0.5:80: refused", 21, NULL, NULL },
		{ "2 connections to 10.0.0.5:80: reset", 20, ": 10.0.0.5:80 resets connections",
		  "; 2 connections to 10.0.0.5:80 were reset" },
	};

	for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
		struct profile *p = window_new();

		add_wait(p, runner(p, 20, "shop"), 'S', 4, 200, "main@shop price_of@shop nanosleep@libc.so.6",
			 "__x64_sys_clock_nanosleep@[kernel] do_nanosleep@[kernel]");
		profile_add_limit(p, LIMIT_CONNECT, 10, cases[i].tid, cases[i].limit);
		struct findings *f = findings_new(p, NULL);
		struct parts parts = { 0 };

		if (cases[i].sentence) {
			g_assert_cmpuint(f->rows->len, ==, 1);
			parts_of(f, 0, &parts);
			g_assert_nonnull(strstr(parts.sentence, cases[i].sentence));
			g_assert_nonnull(strstr(parts.evidence, cases[i].evidence));
		} else if (f->rows->len) {
			parts_of(f, 0, &parts);
			g_assert_null(strstr(parts.sentence, "connections"));
		}
		parts_clear(&parts);
		findings_free(f);
		profile_free(p);
	}
}

/* Waits as long as TCP's timer, to a peer that much was sent to again. */
static void test_losses(void)
{
	static const struct {
		const char *limit;
		uint64_t waits, each_ms;
		bool is_told;
	} cases[] = {
		{ "5 segments sent again: 10.0.0.5:5432", 4, 210, true },
		{ "4 segments sent again: 10.0.0.5:5432", 4, 210, false },
		{ "5 segments sent again: 10.0.0.5:54321", 4, 210, false },
		{ "5 segments sent again: 10.0.0.5:543", 4, 210, false },
		{ "50 segments sent again: 10.0.0.5:5432", 40, 20, false },	/* shorter than the timer */
		{ "5 segments sent again", 4, 210, false },
	};

	for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
		struct profile *p = window_new();

		add_wait(p, runner(p, 20, "shop"), 'S', cases[i].waits, cases[i].each_ms, "main@shop query@shop recv@libc.so.6",
			 "__x64_sys_recvfrom@[kernel] tcp_recvmsg@[kernel]");
		g_array_index(p->waits, struct wait, 0).object = socket_of(p, "10.0.0.5:5432 (postgres)", 30);
		profile_add_limit(p, LIMIT_LOSS, 0, 0, cases[i].limit);
		if (cases[i].is_told) {
			assert_told(p, "sentence", ": packets are lost on the way");
			assert_told(p, "evidence", "; TCP sent 5 segments again to 10.0.0.5:5432");
		} else {
			struct findings *f = findings_new(p, NULL);

			g_assert_cmpuint(f->rows->len, ==, 1);
			g_assert_null(g_array_index(f->rows, struct finding, 0).limit.limit);
			findings_free(f);
		}
		profile_free(p);
	}
}

#define RECV_CLIENT "main@shop serve@shop recv@libc.so.6"
#define RECV "__x64_sys_recvfrom@[kernel] tcp_recvmsg@[kernel]"

/*
 * Workers that wait for clients all the time are idle, but where connections wait to be accepted that nobody else
 * accepts: nor does a worker that rests, one that waits in accept(), or whoever is held up before it.
 */
static void test_taken(void)
{
	static const struct {
		const char *backlog, *other, *kernel;	/* another thread; NULL: there is none */
		uint64_t clients_ms;
		bool is_taken;
	} cases[] = {
		{ "3 connections wait at :8080", NULL, NULL, WINDOW_MS - 10, true },
		{ "2 of 9 looks: 3 connections wait at :8080", NULL, NULL, WINDOW_MS - 10, true },
		{ NULL, NULL, NULL, WINDOW_MS - 10, false },
		{ "3 connections wait at :8081", NULL, NULL, WINDOW_MS - 10, false },
		{ "3 connections wait at :8080", "main@shop take@shop accept@libc.so.6",
		  "__x64_sys_accept4@[kernel] inet_csk_accept@[kernel]", WINDOW_MS - 10, false },
		{ "3 connections wait at :8080", "main@shop take@shop fsync@libc.so.6",
		  "__x64_sys_fsync@[kernel] io_schedule@[kernel]", WINDOW_MS - 10, false },
		{ "3 connections wait at :8080", NULL, NULL, WINDOW_MS / 4, false },
	};

	for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
		struct profile *p = window_new();

		for (uint32_t tid = 10; tid < 12; tid++) {
			uint32_t t = runner(p, tid, "shop");

			add_wait(p, t, 'S', 1, cases[i].clients_ms, RECV_CLIENT, RECV);
			g_array_index(p->waits, struct wait, p->waits->len - 1).object = socket_of(p, ":8080 from 10.0.0.7", 0);
			if (cases[i].clients_ms < WINDOW_MS / 2)
				add_wait(p, t, 'S', 1, WINDOW_MS / 2, "main@shop serve@shop accept@libc.so.6",
					 "__x64_sys_accept4@[kernel] inet_csk_accept@[kernel]");
		}
		if (cases[i].other)
			add_wait(p, runner(p, 12, "shop"), 'S', 1, WINDOW_MS - 10, cases[i].other, cases[i].kernel);
		if (cases[i].backlog)
			profile_add_limit(p, LIMIT_BACKLOG, 10, 0, cases[i].backlog);
		struct findings *f = findings_new(p, NULL);

		g_assert_true(reasons_is_idle(f->reasons, 0) == !cases[i].is_taken);
		findings_free(f);
		if (cases[i].is_taken) {
			assert_told(p, "sentence", "shop waits for a client's next request, or the rest of one, :8080 from 10.0.0.7, in serve");
			assert_told(p, "evidence", i == 1 ? "; in 2 of 9 looks up to 3 connections at :8080 waited to be accepted"
							  : "; as the recording ended 3 connections at :8080 waited to be accepted");
			assert_advice(p, "Clients that are slow");
		}
		profile_free(p);
	}
}

/* Workers that were free for long rest on their clients as the recording ends, and connections wait. */
static void test_taken_at_end(void)
{
	static const char says[] = " at :8080 waited to be accepted, while all recorded workers of "
				   "shop wait for further requests of connections that are kept open: shorten the keep-alive";

	static const struct {
		bool is_free;
		const char *backlog, *told;	/* NULL: not this */
	} cases[] = {
		{ false, "3 connections wait at :8080", "As the recording ended 3 connections" },
		{ false, "4 of 7 looks: 3 connections wait at :8080", "In 4 of 7 looks up to 3 connections" },
		{ false, "3 of 7 looks: 3 connections wait at :8080", NULL },
		{ true, "3 connections wait at :8080", NULL },
	};

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autofree char *told = g_strconcat(cases[i].told ? cases[i].told : "", says, NULL);
		struct profile *p = window_new();

		for (uint32_t tid = 10; tid < 12; tid++) {
			uint32_t t = runner(p, tid, "shop");

			for (int is_client = 0; is_client < 2; is_client++) {
				add_wait(p, t, 'S', 1, is_client ? WINDOW_MS / 4 : WINDOW_MS / 2,
					 is_client ? RECV_CLIENT : "main@shop serve@shop accept@libc.so.6",
					 is_client ? RECV : "__x64_sys_accept4@[kernel] inet_csk_accept@[kernel]");
				struct wait *w = &g_array_index(p->waits, struct wait, p->waits->len - 1);

				w->flags = is_client == !(cases[i].is_free && tid == 11) ? WAIT_OPEN_AT_END : 0;
				w->object = is_client ? socket_of(p, ":8080 from 10.0.0.7", 0) : 0;
			}
		}
		profile_add_limit(p, LIMIT_BACKLOG, 10, 0, cases[i].backlog);
		struct explanation *e = explanation_new(p, NULL);

		g_test_message("%s", e->little);
		g_assert_true(e->little && strstr(e->little, says) ? cases[i].told && g_str_has_prefix(e->little, told) : !cases[i].told);
		explanation_free(e);
		profile_free(p);
	}
}

/* Where connections are dropped, the listener on this machine is told, and no network. */
static void test_full_queue(void)
{
	static const struct {
		const char *limits[2], *kernel;
		uint64_t each_ms;
		const char *sentence;	/* how it ends */
	} cases[] = {
#define CONNECT "__x64_sys_connect@[kernel] inet_wait_for_connect@[kernel]"
#define FULL "2 connections in a queue for 1 at 127.0.0.1:80 (shopd)"
#define LOST "9 segments sent again: 127.0.0.1:80"
		{ { FULL, NULL }, CONNECT, 300, "127.0.0.1:80, in ask" },	/* sooner than the first segment is sent again */
		{ { FULL, NULL }, CONNECT, 980, "in ask: the queue of connections there is full" },
		{ { FULL, NULL }, RECV, 980, "127.0.0.1:80, in ask" },	/* its answer may only be slow */
		{ { FULL, LOST }, RECV, 980, "in ask: the queue of connections there is full" },
		{ { LOST, NULL }, RECV, 980, "in ask: TCP sends again what was dropped" },
	};

	for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
		struct profile *p = window_new();

		add_wait(p, runner(p, 20, "shop"), 'S', 1, cases[i].each_ms, "main@shop ask@shop connect@libc.so.6", cases[i].kernel);
		g_array_index(p->waits, struct wait, 0).object = socket_of(p, "127.0.0.1:80", 0);
		for (unsigned k = 0; k < G_N_ELEMENTS(cases[i].limits) && cases[i].limits[k]; k++)
			profile_add_limit(p, cases[i].limits[k][0] == '2' ? LIMIT_FULL : LIMIT_LOSS, 0, 0, cases[i].limits[k]);
		struct findings *f = findings_new(p, NULL);
		struct parts parts;

		parts_of(f, 0, &parts);
		g_assert_true(g_str_has_suffix(parts.sentence, cases[i].sentence));
		parts_clear(&parts);
		findings_free(f);
		if (i == 1)
			assert_told(p, "evidence",
				    "; as the recording ended 2 connections waited to be accepted at 127.0.0.1:80 (shopd), whose queue is for 1");
		profile_free(p);
	}
}

/* A write that was seen to be held back, and waits as long as a delayed acknowledgement. */
static void test_nagle(void)
{
	static const struct {
		uint64_t cnt, each_ms;
		const char *there;
		bool is_told;
	} cases[] = {
		{ 20, 41, "10.0.0.5:502", true }, { 20, 20, "10.0.0.5:502", false }, { 20, 41, "10.0.0.5:5020", false },
		{ 9, 41, "10.0.0.5:502", false },
	};

	for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
		struct profile *p = window_new();

		add_wait(p, runner(p, 20, "poll"), 'S', cases[i].cnt, cases[i].each_ms, "main@poll ask@poll read@libc.so.6", RECV);
		g_array_index(p->waits, struct wait, 0).object = socket_of(p, "10.0.0.5:502 (plc)", 30);
		profile_add_limit(p, LIMIT_NAGLE, 10, 0, cases[i].there);
		struct findings *f = findings_new(p, NULL);

		g_assert_true((g_array_index(f->rows, struct finding, 0).limit.limit != NULL) == cases[i].is_told);
		findings_free(f);
		if (cases[i].is_told)
			assert_told(p, "sentence", "in ask: its own last write is held back until an earlier one is acknowledged");
		profile_free(p);
	}
}

/* The end of a server's answers is held back: clients are told why, if it is that server that they wait for. */
static void test_held_back(void)
{
	for (int is_other = 0; is_other < 2; is_other++) {
		struct profile *p = window_new();

		add_wait(p, runner(p, 20, "page"), 'S', 20, 41, "main@page ask@page read@libc.so.6", RECV);
		g_array_index(p->waits, struct wait, 0).object = socket_of(p, "127.0.0.1:81 (shop)", is_other ? 31 : 30);
		profile_add_limit(p, LIMIT_HELD_BACK, 30, 0, "12 of 40 looks: 127.0.0.1:81");
		struct findings *f = findings_new(p, NULL);
		struct parts parts;

		parts_of(f, 0, &parts);
		g_assert_true((strstr(parts.evidence, "; at 12 of 40 looks at connections there the end of an answer") != NULL) == !is_other);
		g_assert_true((strstr(parts.advice, "let the server set TCP_NODELAY") != NULL) == !is_other);
		parts_clear(&parts);
		findings_free(f);
		profile_free(p);
	}
}

/* Threads that wait for results, or clients of their process: it has few connections to whom it asks, all busy; not so where most are free. */
static void test_results_queue(void)
{
	enum { QUEUES, ARE_FREE, OF_CLIENT, CASES };

	for (int i = 0; i < CASES; i++) {
		struct profile *p = window_new();
		const char *asked = i == ARE_FREE ? "7 of 7 looks, 2 of 14 asked: 20 clients wait, 2 connections to 10.0.0.9:80 (pricing)" :
						    "7 of 7 looks, 13 of 14 asked: 20 clients wait, 2 connections to 10.0.0.9:80 (pricing)";

		for (uint32_t t = 0; i != OF_CLIENT && t < 6; t++)
			add_wait(p, runner(p, 20 + t, "quote"), 'S', 10, 400, "main@shop std::__future_base::_State_baseV2::wait@shop "
				 "std::__atomic_futex_unsigned_base::_M_futex_wait_until@libstdc++.so.6", "__x64_sys_futex@[kernel] futex_wait_queue@[kernel]");
		if (i == OF_CLIENT) {
			add_wait(p, runner(p, 20, "page"), 'S', 20, 200, "main@page ask@page read@libc.so.6", RECV);
			g_array_index(p->waits, struct wait, 0).object = socket_of(p, "127.0.0.1:81 (shop)", 30);
		}
		profile_add_limit(p, LIMIT_OWED, i == OF_CLIENT ? 30 : 10, 0, asked);
		struct findings *f = findings_new(p, NULL);
		struct parts parts;

		parts_of(f, 0, &parts);
		g_test_message("%d: %s; %s %s", i, parts.sentence, parts.evidence, parts.advice);
		g_assert_cmpint(strstr(parts.evidence, "2 connections to 10.0.0.9:80 (pricing), of which 1.9 were busy on average") != NULL, ==,
				i != ARE_FREE);
		g_assert_cmpint(g_str_has_prefix(parts.advice, "If a connection there carries one request at a time"), ==, i != ARE_FREE);
		parts_clear(&parts);
		findings_free(f);
		profile_free(p);
	}
}

/* Two processes that wait for each other go first; of one alone it is only told what waits in its queue. */
static void test_cycle(void)
{
	for (int both = 0; both < 2; both++) {
		struct profile *p = window_new();
		uint32_t other = fixture_thread(p, 30, 30, "billing", "billing");

		g_array_index(p->threads, struct thread, other).to_ns = WINDOW_MS * MS;
		add_wait(p, runner(p, 10, "crm"), 'S', 1, WINDOW_MS - 10, "main@crm balance@crm recv@libc.so.6", RECV);
		g_array_index(p->waits, struct wait, 0).object = socket_of(p, "127.0.0.1:81 (billing)", 30);
		add_wait(p, other, 'S', 1, WINDOW_MS - 10, "main@billing address@billing recv@libc.so.6", RECV);
		g_array_index(p->waits, struct wait, 1).object = socket_of(p, both ? "127.0.0.1:80" : "127.0.0.1:800", 0);
		for (unsigned i = 0; i < p->waits->len; i++)
			g_array_index(p->waits, struct wait, i).flags = WAIT_OPEN_AT_END;
		profile_add_limit(p, LIMIT_CYCLE, 10, 0, "process 30 waits at :80");
		struct findings *f = findings_new(p, NULL);

		for (guint i = 0; i < f->rows->len; i++) {
			const struct finding *row = &g_array_index(f->rows, struct finding, i);
			g_autofree char *advice = g_strdup(sentence_advice(f, row));

			if (strcmp(row->process, "crm") == 0)
				g_assert_true(g_str_has_prefix(advice, both ? "Each waits for the other" : "It may have asked back"));
		}
		findings_free(f);
		if (both) {
			assert_told(p, "sentence", "in balance, of which a connection waits to be accepted here, at :80");
			assert_told(p, "evidence", "; billing/30 waits for an answer from here in address");
		}
		profile_free(p);
	}
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/peers/pool of a proxy", test_pool_of_proxy);
	g_test_add_func("/peers/retries", test_retries);
	g_test_add_func("/peers/losses", test_losses);
	g_test_add_func("/peers/asks itself", test_asks_itself);
	g_test_add_func("/peers/pooler", test_pooler);
	g_test_add_func("/peers/taken", test_taken);
	g_test_add_func("/peers/taken at end", test_taken_at_end);
	g_test_add_func("/peers/full queue", test_full_queue);
	g_test_add_func("/peers/nagle", test_nagle);
	g_test_add_func("/peers/held back", test_held_back);
	g_test_add_func("/peers/results queue", test_results_queue);
	g_test_add_func("/peers/cycle", test_cycle);
	return g_test_run();
}
