/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* What healthy programs do all the time, which is no finding. */
#include "window.h"

#define FUTEX "__x64_sys_futex@[kernel] futex_wait@[kernel]"
#define ACCEPT "__x64_sys_accept4@[kernel] inet_csk_accept@[kernel]"
#define SEND "main@tok feed@tok std::sync::mpmc::array::Channel<T>::send@tok <std::thread::thread::Thread>::park@tok"
#define PIPE "__x64_sys_read@[kernel] anon_pipe_read@[kernel]"
#define NAP "__x64_sys_clock_nanosleep@[kernel] do_nanosleep@[kernel]"

/*
 * Whoever has the mutex waits for a client itself: the others wait for their turn.  With another wait it is a lock, and
 * so it is if times are missing, unless they are estimates.
 */
static void test_turns(void)
{
	static const char lock[] = "main@httpd serve@httpd pthread_mutex_lock@libc.so.6";
	static const struct object mutex = { .kind = LOCK_MUTEX, .name = "accept_mutex", .place = "", .operation = "" };
	static const struct { bool sleeps, is_rough, is_sampled, is_found; } cases[] = {
		{ false, false, false, false }, { true, false, false, true }, { false, true, false, true }, { false, true, true, false },
	};

	for (unsigned k = 0; k < G_N_ELEMENTS(cases); k++) {
		struct profile *p = window_new();
		uint32_t threads[4], waits[4];

		p->info.filters = profile_string(p, "process httpd");
		p->info.has_wakers = p->info.has_locks = true;
		p->info.sampling.max_ns = cases[k].is_sampled ? 400 * MS : 0;
		for (uint32_t i = 0; i < 4; i++) {
			threads[i] = thread_of(p, 10 + i, "httpd", 5);
			waits[i] = add_wait(p, threads[i], 'S', 20, 370, lock, FUTEX);
			fixture_is_for(p, waits[i], &mutex);
			add_wait(p, threads[i], 'S', 20, cases[k].is_rough ? 95 : 120, cases[k].sleeps ?
				 "main@httpd serve@httpd usleep@libc.so.6" : "main@httpd serve@httpd accept@libc.so.6",
				 cases[k].sleeps ? NAP : ACCEPT);
		}
		for (uint32_t i = 0; i < 4; i++)
			woken_in(p, waits[i], threads[(i + 1) % 4], "main@httpd serve@httpd pthread_mutex_unlock@libc.so.6", 20, 7400);
		struct explanation *e = explanation_new(p, NULL);

		g_test_message("%u: %s", k, e->little ?: g_array_index(e->headlines, struct headline, 0).sentence);
		g_assert_cmpint(e->headlines->len > 0, ==, cases[k].is_found);
		explanation_free(e);
		profile_free(p);
	}
}

/* A connection on which nothing is asked brings what others have to tell; one that has been asked owes an answer. */
static void test_feed(void)
{
	static const struct object there = { .kind = OBJECT_SOCKET, .name = "10.0.0.5:7381", .place = "tcp", .operation = "" };

	for (unsigned asks = 0; asks < 2; asks++) {
		struct profile *p = window_new();
		uint32_t wait = add_wait(p, thread_of(p, 10, "quotes", 5), 'S', 50, 190, "main@quotes next_quote@quotes recv@libc.so.6",
					 "__x64_sys_recvfrom@[kernel] tcp_recvmsg@[kernel]");

		p->info.filters = profile_string(p, "process quotes");
		p->info.has_objects = true;
		fixture_is_for(p, wait, &there);
		profile_add_tcp_wait(p, &(struct tcp_wait){ .object = profile_wait(p, wait)->object - 1, .direction = TCP_WAIT_RECEIVE,
							    .count = 50, .blocked_ns = 9500 * MS, .peer_ns = asks ? 9500 * MS : 0,
							    .silent_ns = asks ? 0 : 9500 * MS });
		struct explanation *e = explanation_new(p, NULL);

		g_test_message("%u: %s", asks, e->little ?: g_array_index(e->headlines, struct headline, 0).sentence);
		g_assert_cmpint(e->little && strstr(e->little, "if this is meant: process quotes waits for data from the network"), ==, !asks);
		explanation_free(e);
		profile_free(p);
	}
}

/* Who has nearly all of the CPUs' time waits for its own threads that run: none of that takes the time. */
static void test_all_cpus(void)
{
	for (unsigned lacks = 0; lacks < 2; lacks++) {
		struct profile *p = window_new();
		uint32_t feeder = thread_of(p, 10, "tok", 100), worker = 0;

		p->info.filters = profile_string(p, "process tok");
		p->info.cpus = 2;
		p->info.has_wakers = true;
		for (uint32_t i = 0; i < 2; i++) {
			worker = thread_of(p, 11 + i, "tok", lacks ? 4000 : 9700);
			add_wait(p, worker, 'R', 1000, lacks ? 5 : 0, "start_thread@libc.so.6 split@tok", "");
		}
		uint32_t wait = add_wait(p, feeder, 'S', 1700, 5, SEND, FUTEX);

		woken_in(p, wait, worker, "start_thread@libc.so.6 split@tok pthread_cond_signal@libc.so.6", 1700, 8500);
		struct explanation *e = explanation_new(p, NULL);

		g_test_message("%u: %s", lacks, e->little ?: g_array_index(e->headlines, struct headline, 0).sentence);
		g_assert_cmpint(e->little && strstr(e->little, "tok computes: it had 98% of the time of all 2 CPUs"), ==, !lacks);
		explanation_free(e);
		profile_free(p);
	}
}

/*
 * Stages of a job wait for each other, and both want CPUs that others have: no wait of theirs takes the time.  One that
 * wants a CPU all the time bounds the other.  For a lock that is so only where the job wants all CPUs.
 */
static void test_job(void)
{
	static const struct { uint64_t sort_ms, awk_ms; const char *waits_in, *kernel; bool serves, is_told; } cases[] = {
		{ 6000, 5000, "main@sort read@libc.so.6", PIPE, false, true },
		{ 9900, 5000, "main@sort read@libc.so.6", PIPE, false, false },
		{ 3000, 2000, "main@sort read@libc.so.6", PIPE, false, false },
		{ 6000, 5000, "main@sort read@libc.so.6", PIPE, true, false },
		{ 6000, 5000, SEND, FUTEX, false, false },
		{ 9900, 9900, SEND, FUTEX, false, true },
	};

	for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
		struct profile *p = window_new();
		const uint32_t sort = thread_of(p, 11, "sort", cases[i].sort_ms / 2), awk = thread_of(p, 12, "awk", cases[i].awk_ms / 2),
			       third = thread_of(p, 13, "sort", 100);

		p->info.filters = profile_string(p, "command sh -c awk|sort");
		p->info.cpus = 2;
		p->info.has_wakers = true;
		add_wait(p, sort, 'R', 100, cases[i].sort_ms / 200, "main@sort compare@sort", "");
		add_wait(p, awk, 'R', 100, cases[i].awk_ms / 200, "main@awk split@awk", "");
		uint32_t wait = add_wait(p, third, 'S', 1000, 9, cases[i].waits_in, cases[i].kernel);

		woken_in(p, wait, awk, "main@awk write@libc.so.6", 1000, 9000);
		if (cases[i].serves)
			profile_add_connection(p, &(struct connection){ .pid = 12, .side = CONNECTION_SERVER, .local = "127.0.0.1:80",
									.remote = "127.0.0.1:4711" });
		struct explanation *e = explanation_new(p, NULL);

		g_test_message("%zu: %s", i, e->little ?: g_array_index(e->headlines, struct headline, 0).sentence);
		g_assert_cmpint(e->little && strstr(e->little, "sort and awk compute, and share the CPUs with others: they ran for 5"), ==,
				cases[i].is_told);
		explanation_free(e);
		profile_free(p);
	}
}

/* Processes take from one queue in turns: while one waits for its turn the other waits for work. With work nobody waits so. */
static void test_takers(void)
{
	static const char lock[] = "load@etl PyInit__multiprocessing@_multiprocessing.cpython-311.so Queue.get@queues.py __futex_wait@libc.so.6",
			  take[] = "load@etl Queue.get@queues.py read@libc.so.6";

	for (unsigned turns_ms = 200; turns_ms <= 7000; turns_ms += 6800) {
		struct profile *p = window_new();

		p->info.filters = profile_string(p, "process etl");
		p->info.has_wakers = true;
		for (uint32_t i = 0; i < 2; i++) {
			uint32_t taker = thread_of(p, 11 + i, "etl", 100), pipe;
			const struct object o = { .kind = OBJECT_PIPE, .operation = "", .place = "", .name = "etl", .pid = 99 };

			g_array_index(p->threads, struct thread, taker).pid = 11 + i;
			add_wait(p, taker, 'S', 20, turns_ms / 20, lock, FUTEX);
			pipe = add_wait(p, taker, 'S', 30, 100, take, PIPE);
			fixture_is_for(p, pipe, &o);
		}
		struct explanation *e = explanation_new(p, NULL);

		g_test_message("%u: %s", turns_ms, e->little ?: g_array_index(e->headlines, struct headline, 0).sentence);
		g_assert_cmpint(e->little && strstr(e->little, "all threads ran or were idle"), ==, turns_ms == 7000);
		explanation_free(e);
		profile_free(p);
	}
}

/*
 * On a whole host: a shell waits for its command, a logger for lines now and then, a script sleeps, and a job runner
 * looks by a time limit of its own.  Beside few processes, or often, these are findings.
 */
static void test_bystanders(void)
{
	static const struct { unsigned others; uint64_t lines; bool is_little; } cases[] = {
		{ 12, 3, true }, { 2, 3, false }, { 12, 400, false },
	};
	static const struct object pipe = { .kind = OBJECT_PIPE, .name = "pipe", .place = "", .operation = "" };

	for (unsigned k = 0; k < G_N_ELEMENTS(cases); k++) {
		struct profile *p = window_new();

		for (uint32_t i = 0; i < cases[k].others; i++) {
			const uint32_t idle = fixture_thread(p, 100 + i, 100 + i, "daemon", "daemon");

			g_array_index(p->threads, struct thread, idle).to_ns = WINDOW_MS * MS;
			add_wait(p, idle, 'S', 1, WINDOW_MS, "main@daemon accept@libc.so.6", ACCEPT);
		}
		add_wait(p, thread_of(p, 11, "bash", 4), 'S', 1, WINDOW_MS, "main@bash waitpid@libc.so.6",
			 "__x64_sys_wait4@[kernel] do_wait@[kernel]");
		const uint32_t lines = add_wait(p, thread_of(p, 12, "logger", 4), 'S', cases[k].lines, 9900 / cases[k].lines,
						"main@logger read@libc.so.6", "__x64_sys_read@[kernel] pipe_read@[kernel]");
		fixture_is_for(p, lines, &pipe);
		add_wait(p, thread_of(p, 13, "sleep", 4), 'S', 1, 8000, "main@sleep clock_nanosleep@libc.so.6", NAP);
		struct explanation *e = explanation_new(p, NULL);

		g_test_message("%u: %s", k, e->little ?: g_array_index(e->headlines, struct headline, 0).sentence);
		g_assert_cmpint(!e->headlines->len, ==, cases[k].is_little);
		explanation_free(e);
		profile_free(p);
	}
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/explain/turns", test_turns);
	g_test_add_func("/explain/feed", test_feed);
	g_test_add_func("/explain/all-cpus", test_all_cpus);
	g_test_add_func("/explain/bystanders", test_bystanders);
	g_test_add_func("/explain/job", test_job);
	g_test_add_func("/explain/takers", test_takers);
	return g_test_run();
}
