/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Event loops and the servers that they ask: many questions, several at once, or a few that take long. */
#include "window.h"

#define LOOP "main@shop uv_run@libuv.so.1 uv__io_poll@libuv.so.1 epoll_pwait@libc.so.6"
#define EPOLL "__x64_sys_epoll_pwait@[kernel] ep_poll@[kernel]"

struct loop {
	uint64_t answers, answers_ms, requests, requests_ms;
	uint64_t longest_ms;	/* for an answer; 0: all are equally long */
};

/* A loop with that upstream, whose waits answers and clients' requests end. */
static struct profile *profile_of_loop(const struct loop *l, const char *upstream, const char *comm)
{
	struct profile *p = window_new();
	const struct waker server = { .pid = 70, .tid = 70, .comm = comm };
	const struct waker client = { .pid = 40, .tid = 40, .comm = "load" };
	const struct object epoll = { .kind = OBJECT_EPOLL, .operation = "", .name = upstream, .place = "9 sockets",
				      .pid = 70 };
	const uint64_t cnt = l->answers + l->requests, ms = l->answers_ms + l->requests_ms;
	const uint32_t wait = add_wait(p, thread_of(p, 11, "shop", 40), 'S', cnt, 1, LOOP, EPOLL);
	struct wait *w = &g_array_index(p->waits, struct wait, wait);

	p->info.has_wakers = p->info.has_objects = true;
	p->info.filters = profile_string(p, "process shop");
	fixture_is_for(p, wait, &epoll);
	w->blocked_ns = ms * MS;
	profile_add_wake(p, &(struct wake){ .wait = wait, .waker = profile_waker(p, &server), .count = l->answers,
					    .blocked_ns = l->answers_ms * MS });
	profile_add_wake(p, &(struct wake){ .wait = wait, .waker = profile_waker(p, &client), .count = l->requests,
					    .blocked_ns = l->requests_ms * MS });
	if (l->longest_ms) {
		w->max_ns = l->longest_ms * MS;
		w->max_waker = profile_waker(p, &server) + 1;
		w->hist[profile_hist_slot(w->max_ns)] = 9;
	}
	return p;
}

/* A Redis that does one long command after another keeps a loop waiting between times in which it has little to do. */
static void test_one_command(void)
{
	static const struct loop often = { 600, 2500, 1000, 5500, 400 }, seldom = { 600, 400, 9000, 9000, 90 };
	static const struct { const struct loop *loop; const char *looks, *evidence, *says; } cases[] = {
		{ &often, "8 of 12 looks, 3 in a command, 3 of 71 stats.rb",
		  "that server was busy with one command at 3 of 12 looks while others waited, mostly of stats.rb/71",
		  "It does one command after another, so a long one keeps all others waiting: SLOWLOG GET" },
		{ &often, "8 of 12 looks, 3 in a command, 1 of 71 stats.rb",
		  "busy with one command at 3 of 12 looks while others waited",
		  "It does one command after another, so a long one" },
		{ &often, "8 of 12 looks, 3 in a command", "busy with one command at 3 of 12 looks while others waited",
		  "It does one command after another, so a long one" },
		{ &often, "8 of 12 looks, 1 in a command, 1 of 71 stats.rb", "",
		  "Most answers come at once, and some only after long" },
		{ &often, "8 of 12 looks", "", "Most answers come at once, and some only after long" },
		{ &often, "12 of 12 looks", NULL, "Nothing was waited for" }, { &often, NULL, NULL, "Nothing was waited for" },
		{ &seldom, "8 of 12 looks", NULL, "Nothing was waited for" },
		{ &seldom, "8 of 12 looks, 3 in a command, 3 of 71 stats.rb", NULL,
		  "127.0.0.1:6379 (redis-server), which shop asks, was busy with one command at 3 of 12 looks while others "
		  "waited, mostly of stats.rb/71. It does one command after another" },
	};

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		struct profile *p = profile_of_loop(cases[i].loop, "9 sockets (fd 14 of shop) -> 127.0.0.1:6379 (redis-server)",
						    "redis-server");

		profile_add_limit(p, LIMIT_POOL, 10, 0, "1 of 1 connections to 127.0.0.1:6379, for 9 from clients, of which 9 wait");
		if (cases[i].looks)
			profile_add_limit(p, LIMIT_RESTS, 70, 0, cases[i].looks);
		struct explanation *e = explanation_new(p, NULL);
		const struct headline *h =
			cases[i].evidence ? headline_with(e, "for an answer from 127.0.0.1:6379 (redis-server)") : NULL;

		g_test_message("%zu: %s, %s", i, h ? h->evidence : e->little, h ? h->advice : "");
		g_assert_true(g_str_has_prefix(h ? h->advice : e->little, cases[i].says));
		if (h) {
			g_assert_nonnull(strstr(h->evidence, cases[i].evidence));
			g_assert_cmpint(!!strstr(h->evidence, "stats.rb"), ==, !i);
			g_assert_cmpint(!!strstr(h->evidence, "one command"), ==, !!*cases[i].evidence);
			g_assert_null(strstr(h->sentence, "one connection"));
		}
		explanation_free(e);
		profile_free(p);
	}
}

/*
 * What a loop waits is an answer's time if it asks one question after the other: over one connection, many times for
 * each request, and not where a few answers take most of the time.
 */
static void test_many_small(void)
{
	static const struct { struct loop loop; unsigned made; bool serves, is_told; } cases[] = {
		{ { 9000, 9000, 50, 100, 0 }, 1, true, true },
		{ { 9000, 9000, 50, 100, 0 }, 1, false, true },
		{ { 9000, 9000, 50, 100, 0 }, 24, true, false },
		{ { 9000, 9000, 50, 100, 0 }, 24, false, false },
		{ { 9000, 7000, 5000, 1000, 0 }, 1, true, false },
		{ { 9000, 9000, 50, 100, 0 }, 0, false, true },
		{ { 9000, 9000, 50, 100, 5000 }, 1, true, false },
	};

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		struct profile *p = profile_of_loop(&cases[i].loop,
						    "9 sockets (fd 14 of shop) -> 127.0.0.1:24102 (orders)", "orders");

		for (unsigned k = 0; k < cases[i].made; k++) {
			g_autofree char *local = g_strdup_printf("127.0.0.1:%u", 40000 + k);

			profile_add_connection(p, &(struct connection){ .pid = 10, .side = CONNECTION_CLIENT,
									.local = local, .remote = "127.0.0.1:24102" });
		}
		if (cases[i].serves)
			profile_add_connection(p, &(struct connection){ .pid = 10, .side = CONNECTION_SERVER,
									.local = "127.0.0.1:80", .remote = "127.0.0.1:50000" });
		struct explanation *e = explanation_new(p, NULL);
		const struct headline *h = headline_with(e, "for an answer from 127.0.0.1:24102 (orders)");

		g_test_message("%zu: %s", i, h->advice);
		g_assert_cmpint(g_str_has_prefix(h->advice, "Each answer comes soon"), ==, cases[i].is_told);
		explanation_free(e);
		profile_free(p);
	}
}

/* A loop's own timer ends the longest of its waits: if a command was seen there that one was for it, too. */
static void test_timer(void)
{
	static const struct loop loop = { 600, 2500, 1000, 5500, 400 };

	for (unsigned is_seen = 0; is_seen < 2; is_seen++) {
		struct profile *p = profile_of_loop(&loop, "9 sockets (fd 14 of shop) -> 127.0.0.1:6379 (redis-server)",
						    "redis-server");

		profile_add_limit(p, LIMIT_RESTS, 70, 0, is_seen ? "8 of 12 looks, 1 in a command" : "8 of 12 looks");
		g_array_index(p->waits, struct wait, 0).max_waker =
			profile_waker(p, &(struct waker){ .comm = "", .irq = "timer" }) + 1;
		struct explanation *e = explanation_new(p, NULL);

		g_assert_cmpint(e->headlines->len != 0, ==, is_seen);
		explanation_free(e);
		profile_free(p);
	}
}

/* A server that stalls now and then holds a loop's clients up, however short most answers are. */
static void test_stalls(void)
{
	static const struct { struct loop loop; unsigned stalls, silent_ms; bool serves, by_client, is_told; } cases[] = {
		{ { 600, 2500, 1000, 5500, 400 }, 3, 0, true, false, true },
		{ { 600, 2500, 1000, 5500, 400 }, 3, 300, true, false, true },
		{ { 600, 2500, 1000, 5500, 400 }, 3, 2000, true, false, false },	/* it was sent most of it unasked */
		{ { 600, 2500, 1000, 5500, 400 }, 3, 0, false, false, false },
		{ { 600, 2500, 1000, 5500, 400 }, 3, 0, true, true, false },	/* the longest was for a request */
		{ { 600, 2500, 1000, 5500, 400 }, 1, 0, true, false, false },
		{ { 600, 2500, 1000, 5500, 90 }, 3, 0, true, false, false },
		{ { 25, 2500, 1000, 5500, 400 }, 6, 0, true, false, false },	/* all answers take so long: a long poll */
		{ { 600, 700, 1000, 7300, 400 }, 3, 0, true, false, false },
	};

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		struct profile *p = profile_of_loop(&cases[i].loop, "9 sockets (fd 14 of shop) -> 127.0.0.1:26431 (tariff)",
						    "tariff");
		struct wait *w = &g_array_index(p->waits, struct wait, 0);

		w->hist[profile_hist_slot(w->max_ns)] = cases[i].stalls;
		if (cases[i].by_client)
			w->max_waker = profile_waker(p, &(struct waker){ .pid = 40, .tid = 40, .comm = "load" }) + 1;
		profile_add_tcp_wait(p, &(struct tcp_wait){ .object = w->object - 1, .direction = TCP_WAIT_RECEIVE, .count = 600,
							    .blocked_ns = 2500 * MS, .silent_ns = cases[i].silent_ms * MS });
		if (cases[i].serves)
			profile_add_connection(p, &(struct connection){ .pid = 10, .side = CONNECTION_SERVER,
									.local = "127.0.0.1:80", .remote = "" });
		struct explanation *e = explanation_new(p, NULL);
		const struct headline *h = e->headlines->len ? &g_array_index(e->headlines, struct headline, 0) : NULL;

		g_test_message("%zu: %s", i, h ? h->sentence : e->little);
		g_assert_cmpint(h && strstr(h->sentence, "for an answer from 127.0.0.1:26431 (tariff)"), ==, cases[i].is_told);
		explanation_free(e);
		profile_free(p);
	}
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/explain/one-command", test_one_command);
	g_test_add_func("/explain/one-command-timer", test_timer);
	g_test_add_func("/explain/many-small-of-loops", test_many_small);
	g_test_add_func("/explain/stalls-of-loops", test_stalls);
	return g_test_run();
}
