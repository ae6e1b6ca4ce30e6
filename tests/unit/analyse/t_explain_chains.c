/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Which link of a chain of waits leads, and what whoever holds a lock did meanwhile. */
#include "task_maker.h"
#include "window.h"

#define FLOCK "__x64_sys_flock@[kernel] locks_lock_inode_wait@[kernel]"
#define NAP "__x64_sys_clock_nanosleep@[kernel] do_nanosleep@[kernel]"
#define EPOLL "__x64_sys_epoll_wait@[kernel] do_epoll_wait@[kernel]"
#define RECV "__x64_sys_recvfrom@[kernel] tcp_recvmsg@[kernel]"

static uint32_t process_of(struct profile *p, uint32_t pid, uint32_t tid, const char *name)
{
	uint32_t thread = fixture_thread(p, pid, tid, name, name);
	struct thread *t = &g_array_index(p->threads, struct thread, thread);

	t->to_ns = WINDOW_MS * MS;
	t->on_cpu_ns = 40 * MS;
	return thread;
}

static void asks(struct profile *p, uint32_t wait, enum object_kind kind, const char *name, uint32_t peer)
{
	const struct object o = { .kind = kind, .name = name, .place = "tcp", .operation = "", .pid = peer };

	fixture_is_for(p, wait, &o);
}

/*
 * Ten clients ask an event loop, which asks workers, which ask a database.  The clients' next requests end most of the
 * loop's waits, and the workers' answers the others: the workers lead, unless they wait for a tenth of that time only.
 */
static void test_proxy(void)
{
	static const struct { uint64_t asked_ms; const char *leads; } cases[] = {
		{ 900, "php-fpm waits for data from the network, 10.0.0.9:3306" },
		{ 100, "nginx waits in its event loop for an answer from 127.0.0.1:9000" },
	};

	for (unsigned k = 0; k < G_N_ELEMENTS(cases); k++) {
		struct profile *p = window_new();
		uint32_t clients[10], waits[10], loop = process_of(p, 20, 20, "nginx");

		p->info.has_wakers = p->info.has_objects = true;
		uint32_t waits_of_loop = add_wait(p, loop, 'S', 100, 95, "main@nginx ngx_process_events@nginx "
						  "epoll_wait@libc.so.6", EPOLL);
		asks(p, waits_of_loop, OBJECT_EPOLL, "12 sockets (fd 7 of nginx) -> 127.0.0.1:9000 (php-fpm)", 30);
		for (uint32_t i = 0; i < 10; i++) {
			clients[i] = process_of(p, 10, 10 + i, "shop");
			waits[i] = add_wait(p, clients[i], 'S', 10, 950, "main@shop page@shop recv@libc.so.6", RECV);
			asks(p, waits[i], OBJECT_SOCKET, "127.0.0.1:80 (nginx)", 20);
			woken_in(p, waits[i], loop, "main@nginx ngx_writev@nginx writev@libc.so.6", 10, 9500);
			woken_in(p, waits_of_loop, clients[i], "main@shop page@shop connect@libc.so.6", 4, 380);
		}
		for (uint32_t i = 0; i < 3; i++) {
			uint32_t worker = process_of(p, 30 + i, 30 + i, "php-fpm");
			uint32_t wait = add_wait(p, worker, 'S', 10, cases[k].asked_ms, "main@php-fpm find@php-fpm "
						 "recv@libc.so.6", RECV);

			asks(p, wait, OBJECT_SOCKET, "10.0.0.9:3306", 0);
			add_wait(p, worker, 'S', 10, 950 - cases[k].asked_ms, "main@php-fpm accept@libc.so.6",
				 "__x64_sys_accept4@[kernel] inet_csk_accept@[kernel]");
			woken_in(p, waits_of_loop, worker, "main@php-fpm write@libc.so.6", 20, 1900);
		}
		struct explanation *e = explanation_new(p, NULL);
		const struct headline *h = &g_array_index(e->headlines, struct headline, 0);

		g_test_message("%u: %s; %s", k, h->sentence, h->evidence);
		g_assert_nonnull(strstr(h->sentence, cases[k].leads));
		g_assert_null(strstr(headline_with(e, "nginx waits in its event loop")->evidence, "shop"));
		explanation_free(e);
		profile_free(p);
	}
}

/*
 * Six processes lock a file in one function and wait in another one: while one waits for the lock the others have it.
 * Some of a longer sleep is without it.  If they compute for longer than one of them waits, they may hold it then.
 */
static void test_holders_meanwhile(void)
{
	static const struct { uint64_t lock_ms, nap_ms, on_cpu_ms; bool is_told; } cases[] = {
		{ 400, 160, 40, true }, { 200, 600, 40, true }, { 400, 160, 900, false },
	};

	for (unsigned k = 0; k < G_N_ELEMENTS(cases); k++) {
		struct profile *p = window_new();
		uint32_t threads[6], waits[6];

		p->info.has_wakers = true;
		for (uint32_t i = 0; i < 6; i++) {
			threads[i] = process_of(p, 10 + i, 10 + i, "portal");
			g_array_index(p->threads, struct thread, threads[i]).on_cpu_ns = cases[k].on_cpu_ms * MS;
			waits[i] = add_wait(p, threads[i], 'S', 10, cases[k].lock_ms, "main@portal begin@portal "
					    "flock@libc.so.6", FLOCK);
			add_wait(p, threads[i], 'S', 10, cases[k].nap_ms, "main@portal report@portal clock_nanosleep@libc.so.6", NAP);
			add_wait(p, threads[i], 'S', 10, 300, "main@portal accept@libc.so.6",
				 "__x64_sys_accept4@[kernel] inet_csk_accept@[kernel]");
		}
		for (uint32_t i = 0; i < 6; i++)
			woken_in(p, waits[i], threads[(i + 1) % 6], "main@portal end@portal close@libc.so.6", 10,
				 cases[k].lock_ms * 10);
		struct explanation *e = explanation_new(p, NULL);
		const struct headline *h = headline_with(e, "portal waits for a lock on a file");

		g_test_message("%u: %s; %s", k, h->sentence, h->evidence);
		g_assert_cmpint(strstr(h->evidence, "each of which meanwhile sleeps until a timer in report") != NULL, ==,
				cases[k].is_told);
		explanation_free(e);
		profile_free(p);
	}
}

/* flock(1) has a lock for its shell, which is named; a program that ends a wait itself is the holder. */
static void test_lock_for_a_script(void)
{
	static const char *const holders[] = { "flock", "indexer" };

	for (unsigned i = 0; i < G_N_ELEMENTS(holders); i++) {
		struct profile *p = window_new();
		uint32_t upload = add_wait(p, process_of(p, 10, 10, "upload"), 'S', 10, 900, "main@upload save@upload flock@libc.so.6", FLOCK);

		p->info.has_wakers = true;
		woken_in(p, upload, process_of(p, 20, 20, holders[i]), "main@flock flock@libc.so.6", 10, 9000);
		profile_add_limit(p, LIMIT_FILE_LOCK, 10, 0, "30 0 backup.sh");
		struct explanation *e = explanation_new(p, NULL);
		const struct headline *h = headline_with(e, "upload waits for a lock on a file");

		g_test_message("%s", h->evidence);
		g_assert_cmpint(strstr(h->evidence, ", at the end for backup.sh/30") != NULL, ==, i == 0);
		explanation_free(e);
		profile_free(p);
	}
}

/*
 * Clients of one name with a service wait for it while it sleeps: the service leads, as nobody asks the clients.  If others
 * ask these they are a service themselves, whose wait says more than the sleep of whom it asks; so do clients that were
 * chosen.
 */
static void test_clients(void)
{
	for (unsigned i = 0; i < 3; i++) {
		const bool are_asked = i == 1, are_chosen = i == 2;
		struct profile *p = window_new();
		uint32_t server = process_of(p, 20, 21, "python3");
		add_wait(p, server, 'S', 40, 200, "start@libc.so.6 serve@shop answer@shop product@shop "
					"clock_nanosleep@libc.so.6", NAP);

		asks(p, add_wait(p, server, 'S', 40, 40, "start@libc.so.6 serve@shop read@shop recv@libc.so.6", RECV), OBJECT_SOCKET,
		     ":80 from 127.0.0.1", 10);
		p->info.has_wakers = p->info.has_objects = true;
		for (uint32_t k = 0; k < 3; k++) {
			uint32_t client = process_of(p, 10, 10 + k, "python3");
			uint32_t wait = add_wait(p, client, 'S', 14, 680, "main@python3 run@load recv@libc.so.6", RECV);

			asks(p, wait, OBJECT_SOCKET, "127.0.0.1:80 (python3)", 20);
			woken_in(p, wait, server, "main@python3 send@libc.so.6", 14, 9500);
		}
		if (are_chosen)
			p->info.filters = profile_string(p, "process python3");
		if (are_asked) {
			uint32_t browser = process_of(p, 30, 30, "browser");
			uint32_t wait = add_wait(p, browser, 'S', 1, 300, "main@browser show@browser recv@libc.so.6", RECV);

			asks(p, wait, OBJECT_SOCKET, "127.0.0.1:8080 (python3)", 10);
		}
		struct explanation *e = explanation_new(p, NULL);
		const struct headline *h = &g_array_index(e->headlines, struct headline, 0);

		g_test_message("%u: %s; %s", i, h->sentence, h->evidence);
		g_assert_nonnull(strstr(h->sentence, i ? "waits for data from the network, 127.0.0.1:80" : "sleeps until a timer in product"));
		explanation_free(e);
		profile_free(p);
	}
}

static const struct task_frame asking[] = { { "net/http.(*Client).Do", NULL, 0 }, { "main.load", "/src/load.go", 43 } };

/* At each look at a Go program that asks a service so many of its tasks wait for an answer. */
static void add_asking_tasks(struct profile *p, double mean)
{
	struct tasks *t = tasks_new(TASKS_GO, 10);

	for (unsigned i = 1; i <= 10; i++) {
		tasks_seen(t, row_of(t, 1, "select", asking, 2), mean);
		tasks_look_done(t, i * 1000 * MS, 1000 * MS);
	}
	tasks_finish(t);
	profile_add_tasks(p, t);
}

/*
 * The same of a client's goroutines: behind what the service's threads wait for, unless the client was chosen.  A few that
 * ask a service without any such wait are none.
 */
static void test_client_tasks(void)
{
	static const struct { double tasks; unsigned ms; bool is_chosen; const char *first; } cases[] = {
		{ 3, 200, false, "sleeps until a timer in product" },
		{ 3, 200, true, "3 goroutines wait for an answer" },
		{ 3, 4, false, "3 goroutines wait for an answer" },
		{ 0.3, 4, true, "0.3 goroutines wait for an answer" },
		{ 0.3, 4, false, NULL },
	};

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		struct profile *p = window_new();
		uint32_t client = process_of(p, 10, 10, "load");
		uint32_t wait = add_wait(p, client, 'S', 40, 200, "runtime.netpoll@load runtime.epollwait@load", EPOLL);

		uint32_t server = process_of(p, 20, 21, "python3");

		add_wait(p, server, 'S', 40, cases[i].ms,
			 "start@libc.so.6 serve@shop answer@shop product@shop clock_nanosleep@libc.so.6", NAP);
		asks(p, add_wait(p, server, 'S', 40, 40, "start@libc.so.6 serve@shop read@shop recv@libc.so.6", RECV), OBJECT_SOCKET,
		     ":80 from 127.0.0.1", 10);
		p->info.has_wakers = p->info.has_objects = true;
		asks(p, wait, OBJECT_EPOLL, "2 sockets (fd 4 of load) -> 127.0.0.1:80 (python3)", 20);
		add_asking_tasks(p, cases[i].tasks);
		if (cases[i].is_chosen)
			p->info.filters = profile_string(p, "process load");
		struct explanation *e = explanation_new(p, NULL);
		const struct headline *h = e->headlines->len ? &g_array_index(e->headlines, struct headline, 0) : NULL;

		g_test_message("%zu: %s", i, h ? h->sentence : e->little);
		g_assert_true(cases[i].first ? strstr(h->sentence, cases[i].first) != NULL : !h);
		explanation_free(e);
		profile_free(p);
	}
}

/*
 * A program that computes all the time has the CPUs: a service that waits for one leads, before its clients and before
 * that program itself.  If nobody asks who waits, or CPUs are free, or the program that computes is asked itself, the longest leads.
 */
static void test_hog(void)
{
	static const struct { bool is_asked, is_full, serves; const char *first, *hog; } cases[] = {
		{ true, true, false, "shop waits for a CPU", "; meanwhile xz/30 used 1.8 CPUs" },
		{ false, true, false, "xz waits for a CPU", NULL },
		{ true, false, false, "load waits for data from the network", NULL },
		{ true, true, true, "load waits for data from the network", NULL },
	};

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		struct profile *p = window_new();
		uint32_t server = process_of(p, 20, 21, "shop"), client = process_of(p, 10, 10, "load");
		const uint64_t ran_ns = cases[i].is_full ? 4500 * MS : 1500 * MS;

		p->info.has_wakers = p->info.has_objects = true;
		for (uint32_t k = 0; k < 4; k++) {
			uint32_t thread = process_of(p, 30, 30 + k, "xz"), wait = add_wait(p, thread, 'R', 400, 0, "main@xz encode@xz", "");

			g_array_index(p->waits, struct wait, wait).preempted_ns = 5000 * MS;
			g_array_index(p->threads, struct thread, thread).on_cpu_ns = ran_ns;
			g_array_index(p->threads, struct thread, thread).preempted_ns = 5000 * MS;
			if (k == 0 && cases[i].serves)
				asks(p, add_wait(p, thread, 'S', 4, 10, "main@xz read@libc.so.6", RECV), OBJECT_SOCKET, ":81 from 127.0.0.1", 9);
		}
		uint32_t wait = add_wait(p, server, 'R', 400, 0, "main@shop serve@shop price@shop", "");

		g_array_index(p->waits, struct wait, wait).runnable_ns = 4000 * MS;
		g_array_index(p->threads, struct thread, server).runnable_ns = 4000 * MS;
		if (cases[i].is_asked) {
			asks(p, add_wait(p, server, 'S', 40, 40, "main@shop serve@shop recv@libc.so.6", RECV), OBJECT_SOCKET, ":80 from 127.0.0.1", 10);
			wait = add_wait(p, client, 'S', 14, 680, "main@load run@load recv@libc.so.6", RECV);
			asks(p, wait, OBJECT_SOCKET, "127.0.0.1:80 (shop)", 20);
			woken_in(p, wait, server, "main@shop send@libc.so.6", 14, 9500);
		}
		struct explanation *e = explanation_new(p, NULL);
		const struct headline *h = &g_array_index(e->headlines, struct headline, 0);

		g_test_message("%zu: %s; %s; %s", i, h->sentence, h->evidence, h->advice);
		g_assert_nonnull(strstr(h->sentence, cases[i].first));
		g_assert_cmpint(strstr(h->evidence, cases[i].hog ?: "meanwhile xz") != NULL, ==, cases[i].hog != NULL);
		g_assert_cmpint(g_str_has_prefix(h->advice, "Another program has the CPUs"), ==, cases[i].hog != NULL);
		explanation_free(e);
		profile_free(p);
	}
}

static const struct task_frame awaiting[] = {
	{ "Connection.read_response", "/usr/lib/python3/dist-packages/redis/asyncio/connection.py", 9 },
	{ "Redis.execute_command", "/usr/lib/python3/dist-packages/redis/asyncio/client.py", 87 },
	{ "place_order", "/srv/orders_api.py", 11 },
};

/* Of a program with an event loop that is asked its tasks are told; a client whose answers come soon is little, unless it does little else. */
static void test_asked_loop(void)
{
	for (unsigned i_case = 0; i_case < 3; i_case++) {
		const bool is_soon = i_case, is_often = i_case == 2;
		struct profile *p = window_new();
		uint32_t client = process_of(p, 10, 10, "load"), server = process_of(p, 20, 20, "python3");
		struct tasks *t = tasks_new(TASKS_ASYNCIO, 20);
		uint32_t wait = add_wait(p, client, 'S', is_often ? 1600 : is_soon ? 400 : 40, is_soon ? 5 : 200, "main@load run@load recv@libc.so.6", RECV);

		p->info.has_wakers = p->info.has_objects = true;
		asks(p, wait, OBJECT_SOCKET, "127.0.0.1:80 (python3)", 20);
		asks(p, add_wait(p, server, 'S', 40, 4, "main@python3 recv@libc.so.6", RECV), OBJECT_SOCKET, ":80 from 127.0.0.1", 10);
		for (unsigned i = 1; i <= 10; i++) {
			struct task_row *row = row_of(t, 1, "a future", awaiting, 3);

			tasks_seen(t, row, is_soon ? 0.2 : 18);
			tasks_look_done(t, i * 1000 * MS, 1000 * MS);
		}
		tasks_finish(t);
		profile_add_tasks(p, t);
		struct explanation *e = explanation_new(p, NULL);

		g_test_message("%s", e->little ?: g_array_index(e->headlines, struct headline, 0).evidence);
		g_assert_cmpint(e->little != NULL, ==, is_soon && !is_often);
		if (!e->little)
			g_assert_cmpint(strstr(headline_with(e, "load waits for data from the network")->evidence, "; there 18 tasks await "
					       "Redis.execute_command in place_order (orders_api.py:11)") != NULL, ==, !is_soon);
		explanation_free(e);
		profile_free(p);
	}
}

#define PIPE_ROOM "__x64_sys_write@[kernel] vfs_write@[kernel] anon_pipe_write@[kernel]"

/* What readers that are not recorded were seen to do is told to the last one; what varies, or is idle, or recorded, is not. */
static void test_ends_of_pipe(void)
{
	static const struct { const char *gzip, *curl, *evidence, *advice; bool is_recorded; } cases[] = {
		{ "9 busy, 9 of 9 looks: pipe-full 30 - gzip", "9 busy, 8 of 9 looks: sleeps 0 - curl",
		  "its reader gzip/20 waits for room in a pipe (at 9 of 9 looks), and its reader curl/30 sleeps until a timer (at 8 of 9 looks)",
		  "If that one keeps to a limit of its own rate", false },
		{ "9 busy, 9 of 9 looks: network 30 127.0.0.1:9092 gzip", "0 busy, 0 of 0 looks: gone 0 - collector",
		  "its reader gzip/20 waits for 127.0.0.1:9092 (collector) (at 9 of 9 looks)", "The reader waits there", false },
		{ "9 busy, 9 of 9 looks: runs 0 - gzip", NULL, "its reader gzip/20 runs", "The last reader computes", false },
		{ "9 busy, 4 of 9 looks: runs 0 - gzip", NULL, NULL, "The reader of the pipe is slower", false },
		{ "9 busy, 9 of 9 looks: pipe 0 - gzip", NULL, NULL, "The reader of the pipe is slower", false },
		{ "9 busy, 9 of 9 looks: sleeps 0 - gzip", NULL, NULL, "", true },
	};

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		const struct object pipe = { .kind = OBJECT_PIPE, .name = "pipe to gzip", .place = "", .operation = "", .pid = 20 };
		struct profile *p = window_new();
		uint32_t wait = add_wait(p, thread_of(p, 10, "dump", 20), 'S', 20, 400, "main@dump write@libc.so.6", PIPE_ROOM);

		fixture_is_for(p, wait, &pipe);
		profile_add_limit(p, LIMIT_END, 20, 0, cases[i].gzip);
		if (cases[i].curl)
			profile_add_limit(p, LIMIT_END, 30, 0, cases[i].curl);
		if (cases[i].is_recorded)
			fixture_thread(p, 20, 20, "gzip", "gzip");
		struct explanation *e = explanation_new(p, NULL);
		const struct headline *h = headline_with(e, "waits for room in a full pipe");

		g_test_message("%s; %s", h->evidence, h->advice);
		g_assert_cmpint(strstr(h->evidence, cases[i].evidence ?: "its reader") != NULL, ==, cases[i].evidence != NULL);
		g_assert_true(g_str_has_prefix(h->advice, cases[i].advice));
		explanation_free(e);
		profile_free(p);
	}
}

/* A loop's children that are all busy while its clients wait; one that has nothing to do, or a server that owes it much, is another case. */
static void test_busy_helpers(void)
{
	static const struct { const char *second, *owed; bool is_told; } cases[] = {
		{ "9 busy, 9 of 9 looks: sleeps 0 - policy.py", "9 of 9 looks, 0 of 18 asked: 6 clients wait, 2 connections to 10.0.0.5:80", true },
		{ "3 busy, 9 of 9 looks: sleeps 0 - policy.py", "9 of 9 looks, 0 of 18 asked: 6 clients wait, 2 connections to 10.0.0.5:80", false },
		{ "9 busy, 9 of 9 looks: sleeps 0 - policy.py", "9 of 9 looks, 18 of 18 asked: 6 clients wait, 2 connections to 10.0.0.5:80", false },
	};

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		struct profile *p = window_new();

		add_wait(p, process_of(p, 10, 10, "squid"), 'D', 80, 4, "main@squid read@libc.so.6", "io_schedule@[kernel]");
		profile_add_limit(p, LIMIT_END, 20, 10, "9 busy, 9 of 9 looks: network 0 127.0.0.1:53 policy.py");
		profile_add_limit(p, LIMIT_END, 21, 10, cases[i].second);
		profile_add_limit(p, LIMIT_OWED, 10, 0, cases[i].owed);
		struct explanation *e = explanation_new(p, NULL);

		g_test_message("%s", e->little);
		g_assert_cmpint(strstr(e->little, "all of its 2 children policy.py were busy at 9 of 9 looks: policy.py/20 waits for "
						  "127.0.0.1:53. Requests queue for these") != NULL, ==, cases[i].is_told);
		explanation_free(e);
		profile_free(p);
	}
}

/* No all-clear while answers stay in a server's socket, of a process that is asked for. */
static void test_answers_held_back(void)
{
	for (uint32_t pid = 10; pid <= 20; pid += 10) {
		struct profile *p = window_new();
		bool threads[] = { true }, waits[] = { true };
		struct selection selection = { .threads = threads, .waits = waits };

		add_wait(p, process_of(p, 10, 10, "shop"), 'D', 80, 4, "main@shop read@libc.so.6", "io_schedule@[kernel]");
		profile_add_limit(p, LIMIT_HELD_BACK, pid, 0, "12 of 40 looks: 127.0.0.1:81");
		struct explanation *e = explanation_new(p, &selection);

		g_assert_true(g_str_has_prefix(e->little, pid == 10 ? "shop sends answers in pieces: at 12 of 40 looks at connections of clients "
								      "the end of an answer was held back (Nagle's algorithm) until " :
								      "Little to find: "));
		explanation_free(e);
		profile_free(p);
	}
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/explain/proxy", test_proxy);
	g_test_add_func("/explain/holders-meanwhile", test_holders_meanwhile);
	g_test_add_func("/explain/lock-for-a-script", test_lock_for_a_script);
	g_test_add_func("/explain/clients", test_clients);
	g_test_add_func("/explain/client-tasks", test_client_tasks);
	g_test_add_func("/explain/hog", test_hog);
	g_test_add_func("/explain/asked-loop", test_asked_loop);
	g_test_add_func("/explain/ends-of-pipe", test_ends_of_pipe);
	g_test_add_func("/explain/answers-held-back", test_answers_held_back);
	g_test_add_func("/explain/busy-helpers", test_busy_helpers);
	return g_test_run();
}
