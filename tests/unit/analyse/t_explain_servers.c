/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* What was seen from outside of those that are not recorded: a server's sessions, who had the CPUs, workers. */
#include "window.h"

#include "profile/limits.h"

#define RECV "__x64_sys_recvfrom@[kernel] tcp_recvmsg@[kernel]"
#define FUTEX "__x64_sys_futex@[kernel] futex_wait_queue@[kernel]"

/* A program that waits for PostgreSQL nearly all the time. */
static struct profile *asks_postgres(void)
{
	struct profile *p = window_new();
	const struct object o = { .kind = OBJECT_SOCKET, .name = "127.0.0.1:5432 (postgres)", .place = "tcp", .pid = 50 };

	for (uint32_t i = 0; i < 4; i++)
		fixture_is_for(p, add_wait(p, thread_of(p, 10 + i, "shop", 20), 'S', 30, 300, "main@shop sell@shop recv@libc.so.6", RECV), &o);
	return p;
}

/* Whose session is idle in transaction while others wait for locks: of that session, of the only server, at few looks, of two. */
static void test_blocked(void)
{
	static const struct {
		const char *text;
		uint32_t session, second;
		const char *evidence, *advice;
	} cases[] = {
		{ "9 of 10 looks, 8 of these 4711 import.py", 50, 0, "while one of import.py/4711 was idle in transaction (at 8)",
		  "let that program commit" },
		{ "9 of 10 looks, 8 of these 4711 import.py", 51, 0, "waited for locks at 9 of 10 looks, while one of import.py/4711",
		  "let that program commit" },
		{ "9 of 10 looks, 2 of these 4711 import.py", 50, 0, "import.py/4711", "pg_stat_activity what these do" },
		{ "9 of 10 looks, 0 of these 0 ", 50, 0, "; sessions there waited for locks at 9 of 10 looks", "pg_stat_activity what these do" },
		{ "2 of 10 looks, 2 of these 4711 import.py", 50, 0, NULL, "wait_event" },
		{ "9 of 10 looks, 8 of these 4711 import.py", 51, 61, NULL, "wait_event" },
		{ "no such text", 50, 0, NULL, "wait_event" },
	};

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		struct profile *p = asks_postgres();

		profile_add_limit(p, LIMIT_BLOCKED, cases[i].session, 40, cases[i].text);
		if (cases[i].second)
			profile_add_limit(p, LIMIT_BLOCKED, cases[i].second, 60, cases[i].text);
		struct explanation *e = explanation_new(p, NULL);
		const struct headline *h = headline_with(e, "shop waits for data from the network, 127.0.0.1:5432 (postgres)");

		g_test_message("%zu: %s; %s", i, h->evidence, h->advice);
		g_assert_true(cases[i].evidence ? strstr(h->evidence, cases[i].evidence) != NULL : !strstr(h->evidence, "sessions there"));
		g_assert_nonnull(strstr(h->advice, cases[i].advice));
		explanation_free(e);
		profile_free(p);
	}
}

/* What its statements do, or its CPU time. */
static void test_statements(void)
{
	static const struct { enum profile_limit_kind kind; const char *text, *evidence, *advice; } cases[] = {
		{ LIMIT_STATEMENTS, "60 seen, 50 ran, 2 at a disk", "of 60 statements seen there 50 computed", "take CPU time" },
		{ LIMIT_STATEMENTS, "60 seen, 5 ran, 42 at a disk", "of 60 statements seen there 42 waited for the disk", "read from the disk" },
		{ LIMIT_STATEMENTS, "60 seen, 20 ran, 20 at a disk", NULL, "wait_event" },
		{ LIMIT_STATEMENTS, "60 seen, 20 ran, 5 at a disk, 30 flush",
		  "of 60 statements seen there 30 waited until what they wrote was safe on disk", "Each commit waits" },
		{ LIMIT_STATEMENTS, "60 seen, 20 ran, 5 at a disk, 29 flush", NULL, "wait_event" },
		{ LIMIT_OTHERS, "1900 permille by 9 postgres", "postgres (9 processes) used 1.9 CPUs meanwhile", "take CPU time" },
		{ LIMIT_OTHERS, "700 permille by 9 postgres", NULL, "wait_event" },
		{ LIMIT_OTHERS, "1900 permille by 9 xz", NULL, "wait_event" },
	};

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		struct profile *p = asks_postgres();

		profile_add_limit(p, cases[i].kind, 40, 0, cases[i].text);
		struct explanation *e = explanation_new(p, NULL);
		const struct headline *h = headline_with(e, "shop waits for data from the network, 127.0.0.1:5432 (postgres)");

		g_test_message("%zu: %s; %s", i, h->evidence, h->advice);
		g_assert_true(cases[i].evidence ? strstr(h->evidence, cases[i].evidence) != NULL : !strstr(h->evidence, "statements"));
		g_assert_nonnull(strstr(h->advice, cases[i].advice));
		explanation_free(e);
		profile_free(p);
	}
}

/* MariaDB, of whose threads looks tell that they rest, or wait for a disk; at a few looks, or half and half, that says nothing. */
static void test_threads_do(void)
{
	static const struct { const char *text, *evidence, *advice; } cases[] = {
		{ "16 looks, 1 ran, 1 at a disk", "; at 14 of 16 looks no thread of that server ran or waited for a disk", "Its sessions wait for locks" },
		{ "16 looks, 3 ran, 9 at a disk", "; at 9 of 16 looks that server waited for a disk", "See which statements" },
		{ "16 looks, 5 ran, 0 at a disk", NULL, "See what its sessions do" },
		{ "5 looks, 0 ran, 0 at a disk", NULL, "See what its sessions do" },
		{ "3 looks, 9 ran, 9 at a disk", NULL, "See what its sessions do" },
		{ "no such text", NULL, "See what its sessions do" },
	};

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		const struct object o = { .kind = OBJECT_SOCKET, .name = "127.0.0.1:3306 (mariadbd)", .place = "tcp", .pid = 50 };
		struct profile *p = window_new();

		fixture_is_for(p, add_wait(p, thread_of(p, 10, "shop", 20), 'S', 30, 300, "main@shop sell@shop recv@libc.so.6", RECV), &o);
		profile_add_limit(p, LIMIT_THREADS_DO, 50, 0, cases[i].text);
		struct explanation *e = explanation_new(p, NULL);
		const struct headline *h = headline_with(e, "shop waits for data from the network, 127.0.0.1:3306 (mariadbd)");

		g_test_message("%zu: %s; %s", i, h->evidence, h->advice);
		g_assert_cmpint(strstr(h->evidence, cases[i].evidence ?: "looks") != NULL, ==, cases[i].evidence != NULL);
		g_assert_true(g_str_has_prefix(h->advice, cases[i].advice));
		explanation_free(e);
		profile_free(p);
	}
}

static uint32_t session_of(struct profile *p, uint32_t tid, uint32_t client, unsigned client_ms)
{
	const struct object o = { .kind = OBJECT_SOCKET, .name = ":3306 from 127.0.0.1 (shop)", .place = "tcp", .pid = client };
	uint32_t thread = fixture_thread(p, 20, tid, "mariadbd", "mariadbd");

	g_array_index(p->threads, struct thread, thread).to_ns = WINDOW_MS * MS;
	fixture_is_for(p, add_wait(p, thread, 'S', 20, client_ms / 20, "do_command@mariadbd my_net_read_packet@mariadbd recv@libc.so.6", RECV), &o);
	return thread;
}

/* Of sessions that have a row's lock by turns the one that hardly waits for it is named by its client; none of some that are alike is. */
static void test_session_that_keeps(void)
{
	for (unsigned has_one = 0; has_one < 2; has_one++) {
		struct profile *p = window_new();
		uint32_t sessions[4];

		p->info.has_wakers = p->info.has_objects = true;
		for (uint32_t k = 0; k < 4; k++)
			sessions[k] = session_of(p, 21 + k, has_one && k == 3 ? 40 : 10, has_one && k == 3 ? 9600 : 3000);
		for (uint32_t k = 0; k < 4; k++) {
			uint32_t wait = add_wait(p, sessions[k], 'S', 20, has_one && k == 3 ? 10 : 340,
						 "do_command@mariadbd handler::ha_rnd_next@mariadbd lock_wait@mariadbd pthread_cond_timedwait@libc.so.6", FUTEX);

			woken_in(p, wait, sessions[(k + 1) % 4], "do_command@mariadbd ha_commit_trans@mariadbd", 10, 3400);
			woken_in(p, wait, sessions[3 - (k == 3)], "do_command@mariadbd ha_commit_trans@mariadbd", 10, 3400);
		}
		uint32_t client = fixture_thread(p, 40, 40, "sync", "sync");

		g_array_index(p->threads, struct thread, client).to_ns = WINDOW_MS * MS;
		add_wait(p, client, 'S', 20, 450, "main@sync ask_supplier@sync clock_nanosleep@libc.so.6", "__x64_sys_clock_nanosleep@[kernel]");
		struct explanation *e = explanation_new(p, NULL);
		const struct headline *h = headline_with(e, "mariadbd waits for a lock on a row (InnoDB)");

		g_test_message("%u: %s; %s", has_one, h->evidence, h->advice);
		g_assert_nonnull(strstr(h->evidence, "waits for its client meanwhile"));
		g_assert_cmpint(strstr(h->evidence, "meanwhile, mostly for sync/40, which sleeps until a timer in ask_supplier") != NULL, ==, has_one);
		g_assert_cmpint(g_str_has_prefix(h->advice, "A transaction keeps its locks"), ==, has_one);
		explanation_free(e);
		profile_free(p);
	}
}

/* Of a program of this machine that was not chosen it is said to record it, too; of one elsewhere, or if all is recorded, not. */
static void test_unrecorded(void)
{
	static const struct { uint32_t peer; const char *filters, *advice; } cases[] = {
		{ 50, "process shop", "That program is on this machine" },
		{ 0, "process shop", "Look at the peer" },
		{ 50, "", "Look at the peer" },
	};

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		const struct object o = { .kind = OBJECT_SOCKET, .name = "127.0.0.1:8080 (quotes)", .place = "tcp", .pid = cases[i].peer };
		struct profile *p = window_new();

		p->info.filters = profile_string(p, cases[i].filters);
		fixture_is_for(p, add_wait(p, thread_of(p, 10, "shop", 20), 'S', 30, 300, "main@shop sell@shop recv@libc.so.6", RECV), &o);
		struct explanation *e = explanation_new(p, NULL);

		g_assert_true(g_str_has_prefix(headline_with(e, "shop waits for data from the network")->advice, cases[i].advice));
		explanation_free(e);
		profile_free(p);
	}
}

/* A thousand moments in a run queue beside a real wait are none; fewer and longer ones are. */
static void test_moments(void)
{
	static const struct { unsigned cnt; double ms; bool is_told; } cases[] = { { 3000, 0.25, false }, { 150, 5, true }, { 9000, 0.25, true } };

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		struct profile *p = window_new();
		uint32_t thread = thread_of(p, 10, "shop", 200);
		const uint64_t ns = (uint64_t)(cases[i].cnt * cases[i].ms * 1e6);

		add_wait(p, thread, 'D', 30, 100, "main@shop sell@shop fsync@libc.so.6", "__x64_sys_fsync@[kernel] io_schedule@[kernel]");
		uint32_t wait = add_wait(p, thread, 'R', cases[i].cnt, 0, "main@shop sell@shop", "");

		g_array_index(p->waits, struct wait, wait).runnable_ns = ns;
		g_array_index(p->threads, struct thread, thread).runnable_ns = ns;
		memset(g_array_index(p->waits, struct wait, wait).hist, 0, sizeof(g_array_index(p->waits, struct wait, wait).hist));
		g_array_index(p->waits, struct wait, wait).hist[cases[i].ms < 1 ? 17 : 22] = cases[i].cnt;
		struct explanation *e = explanation_new(p, NULL);
		bool is_told = false;

		for (guint k = 0; k < e->headlines->len; k++)
			is_told |= strstr(g_array_index(e->headlines, struct headline, k).sentence, "waits for a CPU") != NULL;
		g_assert_cmpint(is_told, ==, cases[i].is_told);
		explanation_free(e);
		profile_free(p);
	}
}

/* Who used the CPUs is told of who waits for one; an order is given if it used most of them. */
static void test_others(void)
{
	static const struct { const char *text, *evidence; bool is_most; } cases[] = {
		{ "1700 permille by 6 xz", "; meanwhile xz (6 processes) used 1.7 CPUs", true },
		{ "1100 permille by 1 backup.py", "; meanwhile backup.py/4711 used 1.1 CPUs", true },
		{ "300 permille by 1 backup.py", "; meanwhile backup.py/4711 used 0.3 CPUs", false },
	};

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		struct profile *p = window_new();
		uint32_t thread = thread_of(p, 11, "scorer", 900);
		uint32_t wait = add_wait(p, thread, 'R', 400, 0, "main@scorer score@scorer", "");

		g_array_index(p->waits, struct wait, wait).runnable_ns = 4000 * MS;
		g_array_index(p->threads, struct thread, thread).runnable_ns = 4000 * MS;
		profile_add_limit(p, LIMIT_OTHERS, 4711, 0, cases[i].text);
		struct explanation *e = explanation_new(p, NULL);
		const struct headline *h = headline_with(e, "scorer waits for a CPU");

		g_test_message("%zu: %s; %s", i, h->evidence, h->advice);
		g_assert_nonnull(strstr(h->evidence, cases[i].evidence));
		g_assert_cmpint(strstr(h->advice, "Another program has the CPUs") != NULL, ==, cases[i].is_most);
		explanation_free(e);
		profile_free(p);
	}
}

/* How busy all CPUs were, by the machine's own account, decides what is ordered; without it who holds them is asked. */
static void test_busy_cpus(void)
{
	static const struct { const char *text; unsigned own_ms; const char *evidence, *advice; } cases[] = {
		{ "990 permille", 900, "; all CPUs were 99% busy meanwhile, 4% with what is recorded", "Others have the CPUs" },
		{ "990 permille", 13000, "; all CPUs were 99% busy meanwhile, 65% with what is recorded", "More runnable threads than CPUs" },
		{ "430 permille", 900, "; all CPUs were 43% busy meanwhile, 4% with what is recorded", "CPUs were free meanwhile" },
		{ "700 permille", 900, "; all CPUs were 70% busy meanwhile", "Its own threads ran little" },
		{ "no such text", 900, NULL, "Its own threads ran little" },
	};

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		struct profile *p = window_new();

		p->info.filters = profile_string(p, "process scorer");
		for (uint32_t k = 0; k < 4; k++) {
			uint32_t thread = thread_of(p, 11 + k, "scorer", cases[i].own_ms / 4);
			uint32_t wait = add_wait(p, thread, 'R', 400, 0, "main@scorer score@scorer", "");

			g_array_index(p->waits, struct wait, wait).runnable_ns = 4000 * MS;
			g_array_index(p->threads, struct thread, thread).runnable_ns = 4000 * MS;
		}
		profile_add_limit(p, LIMIT_BUSY, 0, 0, cases[i].text);
		struct explanation *e = explanation_new(p, NULL);
		const struct headline *h = headline_with(e, "scorer waits for a CPU");

		g_test_message("%zu: %s; %s", i, h->evidence, h->advice);
		g_assert_cmpint(strstr(h->evidence, cases[i].evidence ?: "busy") != NULL, ==, cases[i].evidence != NULL);
		g_assert_true(g_str_has_prefix(h->advice, cases[i].advice));
		explanation_free(e);
		profile_free(p);
	}
}

/* A master whose workers were not recorded. */
static void test_workers(void)
{
	for (unsigned cnt = 0; cnt < 2; cnt++) {
		struct profile *p = window_new();

		add_wait(p, thread_of(p, 10, "gunicorn", 5), 'S', 9, 1000, "main@gunicorn select@libc.so.6",
			 "__x64_sys_select@[kernel] do_select@[kernel]");
		if (cnt)
			profile_add_limit(p, LIMIT_WORKERS, 10, 0, "3 gunicorn");
		struct explanation *e = explanation_new(p, NULL);

		g_assert_cmpstr(e->unseen, ==, cnt ? "Not recorded: 3 children of gunicorn/10 (gunicorn), and what they waited for: -p by name, or "
					     "record --follow." : NULL);
		explanation_free(e);
		profile_free(p);
	}
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/explain/blocked", test_blocked);
	g_test_add_func("/explain/statements", test_statements);
	g_test_add_func("/explain/threads-do", test_threads_do);
	g_test_add_func("/explain/session-that-keeps", test_session_that_keeps);
	g_test_add_func("/explain/unrecorded", test_unrecorded);
	g_test_add_func("/explain/moments", test_moments);
	g_test_add_func("/explain/others", test_others);
	g_test_add_func("/explain/busy-cpus", test_busy_cpus);
	g_test_add_func("/explain/workers", test_workers);
	return g_test_run();
}
