/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "analyse/reason/reasons.h"
#include "maker.h"
#include "profile/limits.h"

#define FUTEX "__x64_sys_futex@[kernel] futex_wait@[kernel]"
#define RECV "__x64_sys_recvfrom@[kernel] tcp_recvmsg@[kernel]"
#define READ_PIPE "__x64_sys_read@[kernel] vfs_read@[kernel] anon_pipe_read@[kernel]"
#define POLL "__x64_sys_ppoll@[kernel] do_sys_poll@[kernel]"

static void assert_idle(const struct profile *p, uint32_t wait, enum idle_kind kind)
{
	struct reasons *r = reasons_new(p, NULL);

	g_assert_cmpint(reasons_idle(r, wait), ==, kind);
	reasons_free(r);
}

/* On a whole machine what slept all along is at rest, but not what is known to wait for a row's lock. */
static void test_at_rest_of_machine(void)
{
	static const struct {
		const char *user, *kernel;
		enum idle_kind idle;
	} cases[] = {
		{ "main@postgres heap_update@postgres ProcSleep@postgres WaitLatch@postgres epoll_wait@libc.so.6",
		  "__x64_sys_epoll_wait@[kernel] ep_poll@[kernel]", IDLE_NOT },
		{ "main@app take@app pthread_mutex_lock@libc.so.6", "__x64_sys_futex@[kernel] futex_wait@[kernel]", IDLE_NOT },
		{ "main@app take@app read@libc.so.6", "__x64_sys_read@[kernel] pipe_read@[kernel]", IDLE_MACHINE },
	};
	struct maker m = maker_new("");

	for (uint32_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		uint32_t w = wait_of(m.p, thread_of(m.p, 1 + i, 1 + i, "a", 0), 'S', cases[i].user, cases[i].kernel, 1);

		g_array_index(m.p->waits, struct wait, w).flags |= WAIT_OPEN_AT_START | WAIT_OPEN_AT_END;
	}
	struct reasons *r = reasons_new(m.p, NULL);

	for (uint32_t i = 0; i < G_N_ELEMENTS(cases); i++)
		g_assert_cmpint(reasons_idle(r, i), ==, cases[i].idle);
	reasons_free(r);
	profile_free(m.p);
}

#define RUBY_GET "main@app rb_io_wait@libruby-3.1.so ppoll@libc.so.6"

/* A server that answers at once and has nothing to do holds back what is asked for until there is work. */
static void test_withheld(void)
{
	for (int busy = 0; busy < 2; busy++) {
		struct maker m = maker_new("process 1,2");
		uint32_t server = thread_of(m.p, 1, 1, "redis-server", 0);
		uint32_t client = thread_of(m.p, 2, 2, "app", 0), waits[3];

		woken_by(m.p,
			 wait_of(m.p, server, 'S', "main@redis-server aeMain@redis-server epoll_wait@libc.so.6",
				 "__x64_sys_epoll_wait@[kernel] ep_poll@[kernel]", busy ? 800 : 950),
			 client, "");
		waits[0] = wait_of(m.p, client, 'S', "main@app take@app recv@libc.so.6", RECV, 100);
		wait_for(m.p, waits[0], OBJECT_SOCKET, "127.0.0.1:6399 (redis-server)", 1);
		waits[1] = wait_of(m.p, client, 'S', RUBY_GET, POLL, 100);
		wait_for(m.p, waits[1], OBJECT_POLL, "127.0.0.1:6399 (redis-server) and 1 more", 1);
		waits[2] = wait_of(m.p, client, 'S', RUBY_GET, POLL, 100);
		wait_for(m.p, waits[2], OBJECT_POLL, "127.0.0.1:5432 (postgres) and 1 more", 1);
		struct reasons *r = reasons_new(m.p, NULL);
		for (int i = 0; i < 3; i++) {
			g_assert_cmpint(reasons_of(r, waits[i]), ==, REASON_NETWORK_RECEIVE);
			g_assert_cmpint(reasons_idle(r, waits[i]), ==, busy || i == 2 ? IDLE_NOT : IDLE_POOL);
		}
		reasons_free(r);
		profile_free(m.p);
	}
}

/* What `tail -F` writes into a pipeline is work of each of its parts, which rest while nothing comes. */
static void test_pipeline(void)
{
	for (int busy = 0; busy < 2; busy++) {
		struct maker m = maker_new("process 1,2,3");
		uint32_t tail = thread_of(m.p, 1, 1, "tail", 0), grep = thread_of(m.p, 2, 2, "grep", 0), last = thread_of(m.p, 3, 3, "alert", 0), waits[2];

		woken_by(m.p,
			 wait_of(m.p, tail, 'S', "main@tail tail_forever_inotify@tail poll@libc.so.6", "__x64_sys_poll@[kernel] do_sys_poll@[kernel]",
				 busy ? 800 : 950),
			 last, "");
		/* the last part stands before the one that it waits for */
		waits[1] = wait_of(m.p, last, 'S', "main@alert next@alert read@libc.so.6", READ_PIPE, 1000);
		wait_for(m.p, waits[1], OBJECT_PIPE, "pipe from grep", 2);
		waits[0] = wait_of(m.p, grep, 'S', "main@grep fill@grep read@libc.so.6", READ_PIPE, 1000);
		wait_for(m.p, waits[0], OBJECT_PIPE, "pipe from tail", 1);
		struct reasons *r = reasons_new(m.p, NULL);
		for (int i = 0; i < 2; i++) {
			g_assert_cmpint(reasons_of(r, waits[i]), ==, REASON_PIPE);
			g_assert_cmpint(reasons_idle(r, waits[i]), ==, busy ? IDLE_NOT : IDLE_POOL);
		}
		reasons_free(r);
		profile_free(m.p);
	}
}

/* The same where the server is not recorded: another client that asks there all the time is answered at once, or waits, too. */
static void test_withheld_from_one(void)
{
	for (int busy = 0; busy < 2; busy++) {
		struct maker m = maker_new("process 2");
		uint32_t worker = thread_of(m.p, 2, 2, "app", 0), asker = thread_of(m.p, 2, 3, "app", 0), waits[2];

		waits[0] = wait_of(m.p, worker, 'S', "main@app take@app recv@libc.so.6", RECV, 100);
		waits[1] = wait_of(m.p, asker, 'S', "main@app put@app recv@libc.so.6", RECV, 2000);
		g_array_index(m.p->waits, struct wait, waits[1]).blocked_ns = busy ? 500 * MS : 50 * MS;
		for (int i = 0; i < 2; i++)
			wait_for(m.p, waits[i], OBJECT_SOCKET, "127.0.0.1:6399 (redis-server)", 1);
		struct reasons *r = reasons_new(m.p, NULL);
		g_assert_cmpint(reasons_idle(r, waits[0]), ==, busy ? IDLE_NOT : IDLE_POOL);
		g_assert_cmpint(reasons_idle(r, waits[1]), ==, IDLE_NOT);
		reasons_free(r);
		profile_free(m.p);
	}
}

/* Who listens all the time to what a peer sends on its own; and who asks, reads a slow answer's pieces, or does other things. */
static void test_listens(void)
{
	static const struct {
		uint64_t count, each_ms, silent_ms, peer_ms;
		uint64_t peer_cpu_ms, others;
		enum { UNSEEN, RESTS, PACES, LOOKS } ends;
		bool is_idle;
	} cases[] = {
		{ 10, 970, 9000, 0, 0, 1, UNSEEN, true },
		{ 10, 970, 0, 9000, 0, 0, UNSEEN, false },	/* it asks */
		{ 97, 100, 9000, 0, 0, 0, UNSEEN, false },	/* pieces */
		{ 97, 100, 9000, 0, 0, 0, RESTS, true },	/* of one that has nothing to do, as a server's replica gets */
		{ 97, 100, 9000, 0, 0, 0, PACES, false },	/* of one that timers wake: it is slow by itself */
		{ 97, 100, 9000, 0, 0, 0, LOOKS, true },	/* it looks ten times a second whether something has come */
		{ 5, 970, 4500, 0, 0, 0, UNSEEN, false },	/* it works, too */
		{ 10, 970, 9000, 0, 5000, 0, UNSEEN, false },	/* the peer computes what it sends */
		{ 10, 970, 9000, 0, 0, 9, UNSEEN, false },	/* a greeting for each of its requests */
	};

	for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
		struct maker m = maker_new("process 2");
		uint32_t peer = thread_of(m.p, 1, 1, "primary", 0);
		uint32_t app = thread_of(m.p, 2, 2, "app", 0);
		uint32_t w = wait_of(m.p, app, 'S', "main@app next_change@app recv@libc.so.6", RECV, cases[i].count);
		struct wait *row;

		wait_of(m.p, app, 'S', "main@app accept@libc.so.6", "__x64_sys_accept@[kernel] inet_csk_accept@[kernel]", cases[i].others);
		g_array_index(m.p->threads, struct thread, peer).on_cpu_ns = cases[i].peer_cpu_ms * MS;
		if (cases[i].ends == RESTS || cases[i].ends == PACES)
			woken_by(m.p, wait_of(m.p, peer, 'S', "main@primary epoll_wait@libc.so.6", "__x64_sys_epoll_wait@[kernel] ep_poll@[kernel]", 980),
				 cases[i].ends == RESTS ? app : UINT32_MAX, "");
		wait_for(m.p, w, OBJECT_SOCKET, "127.0.0.1:8040 (primary)", 1);
		row = &g_array_index(m.p->waits, struct wait, w);
		row->blocked_ns = cases[i].count * cases[i].each_ms * MS;
		if (cases[i].ends != UNSEEN)
			woken_by(m.p, w, cases[i].ends == LOOKS ? UINT32_MAX : peer, "");
		const struct tcp_wait t = { .object = row->object - 1, .direction = TCP_WAIT_RECEIVE, .count = cases[i].count,
			.blocked_ns = row->blocked_ns, .silent_ns = cases[i].silent_ms * MS, .peer_ns = cases[i].peer_ms * MS };
		profile_add_tcp_wait(m.p, &t);
		assert_idle(m.p, w, cases[i].is_idle ? IDLE_CLIENT : IDLE_NOT);
		profile_free(m.p);
	}
}

/* Workers that take turns at accept by a lock: who has the turn waits for clients, so the others have nothing to do, either. */
static void test_turns(void)
{
	static const struct {
		uint64_t turn, accept, sleep, of_third, by_others;	/* hundredths of the window, of the first two threads and of the third */
		bool is_idle;
	} cases[] = {
		{ 66, 33, 0, 66, 0, true },
		{ 60, 20, 20, 60, 0, false },	/* who has the turn sleeps, too */
		{ 30, 70, 0, 30, 0, false },	/* two rest at a time: that is no turn */
		{ 95, 5, 0, 10, 0, false },	/* all wait at once, for somebody else */
		{ 66, 33, 0, 66, 20, false },	/* others end their waits */
	};

	for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
		struct maker m = maker_new("process 1");
		uint32_t threads[3], turns[3];

		for (uint32_t t = 0; t < 3; t++)
			threads[t] = thread_of(m.p, 1 + t, 1 + t, "web", 0);
		uint32_t other = thread_of(m.p, 9, 9, "other", 0);
		for (uint32_t t = 0; t < 3; t++) {
			uint64_t turn = t == 2 ? cases[i].of_third : cases[i].turn;

			turns[t] = wait_of(m.p, threads[t], 'S', "main@web serve@web pthread_mutex_lock@libc.so.6", FUTEX,
					   turn * 10 - cases[i].by_others);
			woken_by(m.p, turns[t], threads[(t + 1) % 3], "main@web serve@web pthread_mutex_unlock@libc.so.6");
			wait_of(m.p, threads[t], 'S', "main@web serve@web accept@libc.so.6",
				"__x64_sys_accept@[kernel] inet_csk_accept@[kernel]", cases[i].accept * 10);
			if (cases[i].sleep)
				wait_of(m.p, threads[t], 'S', "main@web serve@web charge@web usleep@libc.so.6",
					"__x64_sys_clock_nanosleep@[kernel] do_nanosleep@[kernel]", cases[i].sleep * 10);
			if (cases[i].by_others)
				woken_by(m.p, wait_of(m.p, threads[t], 'S', "main@web serve@web lock@web pthread_mutex_lock@libc.so.6", FUTEX,
						      cases[i].by_others * 10), other, "main@other");
		}
		struct reasons *r = reasons_new(m.p, NULL);
		for (uint32_t t = 0; t < 3; t++) {
			g_assert_cmpint(reasons_idle(r, turns[t]), ==, cases[i].is_idle ? IDLE_POOL : IDLE_NOT);
			g_assert_false(reasons_is_kept_for_client(r, turns[t]));
		}
		reasons_free(r);
		profile_free(m.p);
	}
}

/*
 * Workers share the receiver of a channel by a mutex, and nothing comes: the one that waits for a message has it. They
 * are no such workers if the mutex is a function's of the program, or none or several wait for messages.
 */
static void test_shared_receiver(void)
{
#define LOCKS " <std::sys::sync::mutex::futex::Mutex>::lock_contended@app syscall@libc.so.6"
#define RECEIVES " std::sync::mpmc::list::Channel<T>::recv@app <std::thread::thread::Thread>::park@app syscall@libc.so.6"
#define SHIM "start_thread@libc.so.6 std::sys::backtrace::__rust_begin_short_backtrace@app"
	static const struct { const char *turn, *rest; uint32_t rests; bool is_idle; uint32_t locks, holder; } cases[] = {
		{ SHIM LOCKS, SHIM RECEIVES, 1, true, 0, 0 }, { SHIM LOCKS, SHIM RECEIVES, 1, true, 1, 5 },
		{ SHIM LOCKS, SHIM RECEIVES, 1, false, 1, 3 }, { SHIM LOCKS, SHIM RECEIVES, 1, false, 2, 0 },
		{ SHIM " std::thread::_State_impl<main::{lambda()#1}>::_M_run()@app" LOCKS,
		  SHIM " std::thread::_State_impl<main::{lambda()#2}>::_M_run()@app" RECEIVES, 1, false, 1, 0 },
		{ SHIM " app::Worker::run@app" LOCKS, SHIM " app::Worker::run@app" RECEIVES, 1, true, 0, 0 },
		{ SHIM LOCKS, SHIM RECEIVES, 0, false, 0, 0 },
		{ SHIM LOCKS, SHIM RECEIVES, 2, false, 0, 0 },
		{ SHIM " app::Worker::run@app app::bill@app" LOCKS, SHIM " app::Worker::run@app" RECEIVES, 1, false, 0, 0 },
		{ SHIM " app::bill@app" LOCKS, SHIM " app::ship@app" RECEIVES, 1, false, 0, 0 },
	};

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		struct maker m = maker_new("process 1");
		uint32_t turns[3];

		for (uint32_t t = 0; t < 3 + cases[i].rests; t++) {
			const char *user = t < 3 ? cases[i].turn : cases[i].rest;
			const uint32_t w = wait_of(m.p, thread_of(m.p, 1, 2 + t, "conn", 0), 'S', user, FUTEX, 1);
			struct wait *row = &g_array_index(m.p->waits, struct wait, w);

			row->blocked_ns = row->max_ns = m.p->info.duration_ns;
			row->flags = WAIT_OPEN_AT_START | WAIT_OPEN_AT_END;
			if (t < 3 && cases[i].locks)
				fixture_is_for(m.p, w, &(struct object){ .kind = LOCK_MUTEX, .pid = 1, .name = "", .place = "",
									 .operation = "", .addr = 4096 * (1 + t % cases[i].locks),
									 .holder_tid = cases[i].holder });
			turns[MIN(t, 2)] = t < 3 ? w : turns[2];
		}
		for (uint32_t t = 0; t < 3; t++)
			assert_idle(m.p, turns[t], cases[i].is_idle ? IDLE_POOL : IDLE_NOT);
		profile_free(m.p);
	}
}

/*
 * Sessions of a database that have a row's lock by turns, and wait for their clients with it: the others wait for a
 * lock. Sessions without a transaction rest, too; but if there are times without a waiter, or they wait for other
 * things, the holder may do something else.
 */
static void test_lock_while_client_thinks(void)
{
	static const struct { uint64_t lock_ns, client_ns, disk_ns; bool is_kept; } cases[] = {
		{ 660, 330, 0, true }, { 360, 630, 0, true }, { 200, 790, 0, false }, { 360, 450, 180, false },
	};

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		struct maker m = maker_new("process 1");
		uint32_t threads[3], locks[3], clients[3];

		for (uint32_t t = 0; t < 3; t++)
			threads[t] = thread_of(m.p, 1, 1 + t, "mariadbd", 0);
		for (uint32_t t = 0; t < 3; t++) {
			locks[t] = wait_of(m.p, threads[t], 'S', "do_command@mariadbd handler::ha_rnd_next@mariadbd ?@mariadbd "
					   "pthread_cond_timedwait@libc.so.6", FUTEX, cases[i].lock_ns);
			wait_for(m.p, locks[t], (enum object_kind)LOCK_CONDITION, "", 0);
			woken_by(m.p, locks[t], threads[(t + 1) % 3], "do_command@mariadbd ha_commit_trans@mariadbd");
			clients[t] = wait_of(m.p, threads[t], 'S', "do_command@mariadbd my_net_read_packet@mariadbd recv@libc.so.6",
					     RECV, cases[i].client_ns);
			wait_for(m.p, clients[t], OBJECT_SOCKET, ":3306 from 127.0.0.1 (shop)", 9);
			if (cases[i].disk_ns)
				wait_of(m.p, threads[t], 'D', "do_command@mariadbd ha_commit_trans@mariadbd fsync@libc.so.6",
					"__x64_sys_fsync@[kernel] submit_bio_wait@[kernel]", cases[i].disk_ns);
		}
		struct reasons *r = reasons_new(m.p, NULL);
		for (uint32_t t = 0; t < 3; t++) {
			g_assert_cmpint(reasons_idle(r, clients[t]), ==, IDLE_CLIENT);
			g_assert_cmpint(reasons_idle(r, locks[t]), ==, IDLE_NOT);
			g_assert_cmpint(reasons_is_kept_for_client(r, locks[t]), ==, cases[i].is_kept);
			g_assert_cmpint(reasons_of(r, locks[t]), ==, REASON_LOCK_OTHER);
		}
		reasons_free(r);
		profile_free(m.p);
	}
}

/* A receiver under a mutex goes round: who has it waits for work that another thread brings, unless a worker asks that one. */
static void test_handed_round(void)
{
	for (int is_asked = 0; is_asked < 2; is_asked++) {
		struct maker m = maker_new("process 1");
		uint32_t source = thread_of(m.p, 1, 1, "app", 0), threads[3], turns[3], receives[3];

		for (uint32_t t = 0; t < 3; t++)
			threads[t] = thread_of(m.p, 1, 2 + t, "app", 0);
		woken_by(m.p, wait_of(m.p, source, 'S', "main@app produce@app nanosleep@libc.so.6", "__x64_sys_nanosleep@[kernel] do_nanosleep@[kernel]", 900),
			 is_asked ? threads[0] : UINT32_MAX, is_asked ? "main@app work@app receive@app send@app" : "");
		for (uint32_t t = 0; t < 3; t++) {
			turns[t] = wait_of(m.p, threads[t], 'S', "main@app work@app pthread_mutex_lock@libc.so.6", FUTEX, 660);
			woken_by(m.p, turns[t], threads[(t + 1) % 3], "main@app work@app pthread_mutex_unlock@libc.so.6");
			receives[t] = wait_of(m.p, threads[t], 'S', "main@app work@app receive@app pthread_cond_wait@libc.so.6", FUTEX, 330);
			if (t)	/* another one's goes on as the recording ends */
				woken_by(m.p, receives[t], source, "main@app produce@app send@app pthread_cond_signal@libc.so.6");
		}
		struct reasons *r = reasons_new(m.p, NULL);
		for (uint32_t t = 0; t < 3; t++) {
			g_assert_cmpint(reasons_of(r, turns[t]), ==, REASON_LOCK_MUTEX);
			g_assert_cmpint(reasons_idle(r, turns[t]), ==, is_asked ? IDLE_NOT : IDLE_POOL);
			g_assert_cmpint(reasons_idle(r, receives[t]), ==, is_asked ? IDLE_NOT : IDLE_POOL);
		}
		reasons_free(r);
		profile_free(m.p);
	}
}

/* libevent polls by functions without names where it has no epoll; a callback that polls, or a program with it inside, is another thing. */
static void test_own_poll(void)
{
	static const struct { const char *user; bool is_held_up; } cases[] = {
		{ "main@tmux proc_loop@tmux event_base_loop@libevent.so dispatch@libevent.so poll@libc.so.6", false },
		{ "main@tmux proc_loop@tmux event_base_loop@libevent.so process@libevent.so ask@tmux poll@libc.so.6", true },
		{ "main@tmux proc_loop@tmux event_base_loop@tmux ask@tmux poll@libc.so.6", true },
	};

	for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
		struct maker m = maker_new("process 1");
		uint32_t wait = wait_of(m.p, thread_of(m.p, 1, 1, "tmux", 0), 'S', cases[i].user, "__x64_sys_poll@[kernel] do_sys_poll@[kernel]", 1);
		struct reasons *r = reasons_new(m.p, NULL);

		g_assert_cmpint(reasons_loop(r, wait) != NULL, ==, cases[i].is_held_up);
		g_assert_cmpint(reasons_idle(r, wait), ==, cases[i].is_held_up ? IDLE_NOT : IDLE_LOOP);
		reasons_free(r);
		profile_free(m.p);
	}
}

/* A logger's socket has a path, and nobody is asked there; a client's has none. */
static void test_unix_datagrams(void)
{
	static const char *const names[] = { "/run/ml.sock", "unix socket (server)" };

	for (unsigned i = 0; i < G_N_ELEMENTS(names); i++) {
		struct maker m = maker_new("process 1");
		uint32_t wait = wait_of(m.p, thread_of(m.p, 1, 1, "logd", 0), 'S', "main@logd next@logd recv@libc.so.6",
					"__x64_sys_recvfrom@[kernel] unix_dgram_recvmsg@[kernel] __skb_wait_for_more_packets@[kernel]", 900);
		const struct object o = { .kind = OBJECT_SOCKET, .operation = "", .name = names[i], .place = "unix" };

		fixture_is_for(m.p, wait, &o);
		struct reasons *r = reasons_new(m.p, NULL);
		g_assert_cmpint(reasons_of(r, wait), ==, REASON_NETWORK_RECEIVE);
		g_assert_cmpint(reasons_idle(r, wait), ==, i ? IDLE_NOT : IDLE_CLIENT);
		reasons_free(r);
		profile_free(m.p);
	}
}

/* A wait whose kernel stack was lost is as that thread's others at the place; of a kernel stack alone nothing is taken over. */
static void test_lost_kernel_stack(void)
{
	for (int is_there = 0; is_there < 2; is_there++) {
		struct maker m = maker_new("process 1");
		uint32_t thread = thread_of(m.p, 1, 1, "logd", 0);
		uint32_t lost = wait_of(m.p, thread, 'S', "main@logd next@logd recv@libc.so.6", "?@[kernel]", 200);
		uint32_t seen = wait_of(m.p, thread, 'S', is_there ? "main@logd next@logd recv@libc.so.6" : "main@logd other@logd recv@libc.so.6",
					"__x64_sys_recvfrom@[kernel] __skb_wait_for_more_packets@[kernel]", 700);

		wait_for(m.p, seen, OBJECT_SOCKET, "127.0.0.1:514 bound", 0);
		struct reasons *r = reasons_new(m.p, NULL);
		g_assert_cmpint(reasons_idle(r, seen), ==, IDLE_CLIENT);
		g_assert_cmpint(reasons_idle(r, lost), ==, is_there ? IDLE_CLIENT : IDLE_NOT);
		reasons_free(r);
		profile_free(m.p);
	}
}

/* A stack that broke off tells no place: a connection that was accepted waits for its client's next request, unless others queue. */
static void test_served_by_broken_stack(void)
{
	for (int queue = 0; queue < 2; queue++) {
		struct maker m = maker_new("process 1");
		uint32_t wait = wait_of(m.p, thread_of(m.p, 1, 1, "echod", 0), 'S', "?@[jit] receive@[jit] recv@libc.so.6", RECV, 900);

		g_array_index(m.p->nodes, struct stack_node, profile_wait(m.p, wait)->user).end = STACK_BROKEN;
		wait_for(m.p, wait, OBJECT_SOCKET, ":7911 from 127.0.0.1 (client)", 2);
		if (queue)
			profile_add_limit(m.p, LIMIT_BACKLOG, 1, 0, "3 connections wait at :7911");
		assert_idle(m.p, wait, queue ? IDLE_NOT : IDLE_CLIENT);
		profile_free(m.p);
	}
}

/* A server of datagrams looks at its clock ten times a second; a client's that does so waits for an answer. */
static void test_ticks_of_datagram_server(void)
{
	static const char *const names[] = { "127.0.0.1:7914 bound", "127.0.0.1:7914 (game)" };

	for (unsigned i = 0; i < G_N_ELEMENTS(names); i++) {
		struct maker m = maker_new("process 1");
		uint32_t wait = wait_of(m.p, thread_of(m.p, 1, 1, "game", 0), 'S', "main@game poll@libc.so.6", POLL, 100);
		const struct object o = { .kind = OBJECT_SOCKET, .operation = "", .name = names[i], .place = "udp" };

		fixture_is_for(m.p, wait, &o);
		woken_by(m.p, wait, UINT32_MAX, "");
		assert_idle(m.p, wait, i ? IDLE_NOT : IDLE_LOOP);
		profile_free(m.p);
	}
}

/* Who makes a datagram socket for each question waits for answers; one that is kept, or has a chosen port, may serve. */
static void test_datagram_questions(void)
{
	static const struct { const char *names[2]; bool asks; } cases[] = {
		{ { "*:49812 bound", "*:60435 bound" }, true }, { { "*:49812 bound", "*:49812 bound" }, false },
		{ { "*:161 bound", "*:162 bound" }, false },
	};

	for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
		struct maker m = maker_new("process 1");
		uint32_t thread = thread_of(m.p, 1, 1, "poller", 0), waits[2];

		for (unsigned k = 0; k < 2; k++) {
			const struct object o = { .kind = OBJECT_SOCKET, .operation = "", .name = cases[i].names[k], .place = "udp" };

			waits[k] = wait_of(m.p, thread, 'S', "main@poller get@poller poll@libc.so.6", POLL, 4);
			fixture_is_for(m.p, waits[k], &o);
			woken_by(m.p, waits[k], UINT32_MAX, "");
		}
		struct reasons *r = reasons_new(m.p, NULL);

		for (unsigned k = 0; k < 2; k++) {
			g_assert_cmpint(reasons_idle(r, waits[k]) == IDLE_NOT, ==, cases[i].asks);
			g_assert_cmpint(reasons_of(r, waits[k]), ==, cases[i].asks ? REASON_NETWORK_RECEIVE : REASON_EVENT_LOOP);
		}
		reasons_free(r);
		profile_free(m.p);
	}
}

/* Who polls the pipes of a program that it has just started waits for that one; of one that was there it may have nothing to do. */
static void test_output_of_a_started_program(void)
{
	for (int is_new = 0; is_new < 2; is_new++) {
		struct maker m = maker_new("process 1");
		uint32_t wait = wait_of(m.p, thread_of(m.p, 1, 1, "fcgiwrap", 0), 'S', "main@fcgiwrap select@libc.so.6", POLL, 300);
		const struct object o = { .kind = OBJECT_POLL, .operation = "", .name = "pipe and 1 more", .place = "" };
		const struct waker cgi = { .pid = 2, .tid = 2, .comm = "q.cgi", .start_ns = is_new ? 2000 * MS : 500 * MS };

		m.p->info.start_ns = 1000 * MS;
		fixture_is_for(m.p, wait, &o);
		profile_add_wake(m.p, &(struct wake){ .wait = wait, .waker = profile_waker(m.p, &cgi), .count = 300, .blocked_ns = 3000 * MS });
		struct reasons *r = reasons_new(m.p, NULL);
		g_assert_cmpint(reasons_idle(r, wait), ==, is_new ? IDLE_NOT : IDLE_LOOP);
		g_assert_cmpint(reasons_of(r, wait), ==, is_new ? REASON_PIPE : REASON_EVENT_LOOP);
		reasons_free(r);
		profile_free(m.p);
	}
}

/* A sleep that goes on as the recording ends is one, as those before it at that place, whatever its descriptor is. */
static void test_last_sleep(void)
{
	struct maker m = maker_new("process 1");
	uint32_t thread = thread_of(m.p, 1, 1, "jobs", 0), waits[2];

	for (int i = 0; i < 2; i++) {
		waits[i] = wait_of(m.p, thread, 'S', "main@jobs rb_f_sleep@libruby-3.1.so ppoll@libc.so.6", POLL, i ? 1 : 6);
		wait_for(m.p, waits[i], OBJECT_EVENTFD, "fd 3 of jobs", 0);
	}
	woken_by(m.p, waits[0], UINT32_MAX, "");
	g_array_index(m.p->waits, struct wait, waits[1]).flags = WAIT_OPEN_AT_END;
	struct reasons *r = reasons_new(m.p, NULL);
	g_assert_cmpint(reasons_of(r, waits[0]), ==, REASON_SLEEP);
	g_assert_cmpint(reasons_of(r, waits[1]), ==, REASON_SLEEP);
	reasons_free(r);
	profile_free(m.p);
}

/* Of a stripped program what it begins in has no name, and is none of its functions: its main loop lies as deep as another's. */
static void test_stripped(void)
{
	static const char sleeps[] = "?@runsvdir __libc_start_main@libc.so.6 __libc_start_call_main@libc.so.6 runsvdir+0x16aa@runsvdir "
				     "runsvdir+0x37d8@runsvdir clock_nanosleep@libc.so.6";
	struct maker m = maker_new("process 1");
	uint32_t w = wait_of(m.p, thread_of(m.p, 1, 1, "runsvdir", 0), 'S', sleeps, "__x64_sys_clock_nanosleep@[kernel] do_nanosleep@[kernel]", 2);
	assert_idle(m.p, w, IDLE_TIMER);
	profile_free(m.p);
}

/* Of a stack that was cut off a pool's worker rests as it does with whole ones; one that is mostly short of something does not. */
static void test_torn(void)
{
	for (int is_short = 0; is_short < 2; is_short++) {
		struct maker m = maker_new("process 1");
		uint32_t boss = thread_of(m.p, 1, 1, "app", 0), threads[3], torn = 0;

		for (uint32_t t = 0; t < 3; t++)
			threads[t] = thread_of(m.p, 1, 2 + t, "worker", 0);
		for (uint32_t t = 0; t < 3; t++) {
			uint32_t wait = wait_of(m.p, threads[t], 'S', "start_thread@libc.so.6 work@app pthread_cond_wait@libc.so.6", FUTEX, 400);

			woken_by(m.p, wait, is_short ? threads[(t + 1) % 3] : boss, "main@app give@app pthread_cond_signal@libc.so.6");
			wait_of(m.p, threads[t], 'D', "start_thread@libc.so.6 work@app save@app fsync@libc.so.6",
				"__x64_sys_fsync@[kernel] io_schedule@[kernel]", 300);
		}
		torn = wait_of(m.p, threads[0], 'S', "", FUTEX, 200);
		g_array_index(m.p->waits, struct wait, torn).user = fixture_stack(m.p, FRAME_USER, STACK_BROKEN, "pthread_cond_wait@libc.so.6");
		woken_by(m.p, torn, threads[1], "main@app give@app pthread_cond_signal@libc.so.6");
		assert_idle(m.p, torn, is_short ? IDLE_NOT : IDLE_POOL);
		profile_free(m.p);
	}
}

/* A thread's waits that sampling left out rest as its others do. */
static void test_unlooked(void)
{
	for (int works = 0; works < 2; works++) {
		struct maker m = maker_new("process 1");
		uint32_t boss = thread_of(m.p, 1, 1, "app", 0), worker = thread_of(m.p, 1, 2, "worker", 0), left_out;

		woken_by(m.p,
			 wait_of(m.p, worker, 'S', "start_thread@libc.so.6 work@app pthread_cond_wait@libc.so.6", FUTEX, works ? 500 : 900),
			 boss, "main@app give@app pthread_cond_signal@libc.so.6");
		if (works)
			wait_of(m.p, worker, 'D', "start_thread@libc.so.6 work@app save@app fsync@libc.so.6",
				"__x64_sys_fsync@[kernel] io_schedule@[kernel]", 400);
		left_out = wait_of(m.p, worker, 'S', "", "", 50);
		g_array_index(m.p->waits, struct wait, left_out).user = fixture_stack(m.p, FRAME_USER, STACK_PENDING, "[none-sampled]");
		assert_idle(m.p, left_out, works ? IDLE_NOT : IDLE_POOL);
		profile_free(m.p);
	}
}

/*
 * A library's threads all have one name and begin in one function, as Poco's: who brings work does not do what workers do.  But
 * threads that serve clients themselves wait for what another of them does for these, and one that waits for the same is a peer.
 */
static void test_one_name(void)
{
	enum { WORK, SERVE, SHARE, CASES };

	for (int i = 0; i < CASES; i++) {
		struct maker m = maker_new("process 1");
		uint32_t client = thread_of(m.p, 2, 2, "client", 0), gives = thread_of(m.p, 1, 1, "app", 0), waits[3];

		woken_by(m.p,
			 wait_of(m.p, gives, 'S', "start_thread@libc.so.6 entry@liblib.so give@app epoll_wait@libc.so.6",
				 "__x64_sys_epoll_wait@[kernel] ep_poll@[kernel]", 900),
			 client, "");
		for (uint32_t t = 0; t < 3; t++) {
			uint32_t thread = thread_of(m.p, 1, 3 + t, "app", 0), reads;

			waits[t] = wait_of(m.p, thread, 'S', "start_thread@libc.so.6 entry@liblib.so work@app pthread_cond_wait@libc.so.6",
					   FUTEX, 900);
			woken_by(m.p, waits[t], gives, "start_thread@libc.so.6 entry@liblib.so give@app pthread_cond_signal@libc.so.6");
			wait_for(m.p, waits[t], (enum object_kind)LOCK_CONDITION, "heap 0x7f0010", 0);
			if (i != SERVE)
				continue;
			reads = wait_of(m.p, thread, 'S', "start_thread@libc.so.6 entry@liblib.so work@app read@libc.so.6", RECV, 20);
			wait_for(m.p, reads, OBJECT_SOCKET, ":8080 from 10.0.0.9 (client)", 2);
			woken_by(m.p, reads, client, "");
		}
		if (i == SHARE)
			wait_for(m.p, wait_of(m.p, gives, 'S', "start_thread@libc.so.6 entry@liblib.so give@app pthread_cond_wait@libc.so.6",
					      FUTEX, 50),
				 (enum object_kind)LOCK_CONDITION, "heap 0x7f0010", 0);
		for (uint32_t t = 0; t < 3; t++)
			assert_idle(m.p, waits[t], i == WORK ? IDLE_POOL : IDLE_NOT);
		profile_free(m.p);
	}
}

/*
 * A library's I/O thread hands a server's proxy what clients send, and that hands it to workers: they rest, unless the
 * library has asked somebody, or the proxy works itself.
 */
static void test_fed(void)
{
	enum { SERVES, ASKS_DATABASE, ASKS, HAS_NO_CLIENTS, WORKS, CASES };

	for (int i = 0; i < CASES; i++) {
		struct maker m = maker_new("process 1");
		uint32_t client = thread_of(m.p, 2, 2, "client", 0), proxy = thread_of(m.p, 1, 1, "app", 0);
		uint32_t io = thread_of(m.p, 1, 3, "ZMQbg/IO/0", 0), worker = thread_of(m.p, 1, 4, "app", 0), waits[2];
		struct connection c = { .pid = 1, .side = CONNECTION_SERVER, .local = "127.0.0.1:7374", .remote = "127.0.0.1:41000" };

		woken_by(m.p,
			 wait_of(m.p, io, 'S', "start_thread@libc.so.6 loop@libzmq.so.5 epoll_wait@libc.so.6",
				 "__x64_sys_epoll_wait@[kernel] ep_poll@[kernel]", 950),
			 client, "");
		waits[0] = wait_of(m.p, proxy, 'S', "main@app zmq_poll@libzmq.so.5 poll@libc.so.6", POLL, i == WORKS ? 400 : 950);
		wait_for(m.p, waits[0], OBJECT_POLL, "fd 8 of app and 1 more", 0);
		woken_by(m.p, waits[0], io, "");
		if (i == WORKS)
			wait_of(m.p, proxy, 'D', "main@app save@app fsync@libc.so.6", "__x64_sys_fsync@[kernel] io_schedule@[kernel]", 500);
		waits[1] = wait_of(m.p, worker, 'S', "start_thread@libc.so.6 work@app zmq_msg_recv@libzmq.so.5 poll@libc.so.6", POLL, 900);
		wait_for(m.p, waits[1], OBJECT_EVENTFD, "fd 9 of app", 0);
		woken_by(m.p, waits[1], proxy, "");
		if (i != HAS_NO_CLIENTS)
			profile_add_connection(m.p, &c);
		c = (struct connection){ .pid = 1, .side = CONNECTION_CLIENT, .local = "127.0.0.1:50000", .remote = "127.0.0.1:6379" };
		if (i == ASKS || i == ASKS_DATABASE)
			profile_add_connection(m.p, &c);
		if (i == ASKS_DATABASE)
			wait_for(m.p, wait_of(m.p, worker, 'S', "start_thread@libc.so.6 work@app get@app recv@libc.so.6", RECV, 5),
				 OBJECT_SOCKET, "127.0.0.1:6379 (redis-server)", 9);
		assert_idle(m.p, waits[0], i == SERVES || i == ASKS_DATABASE || i == WORKS ? IDLE_POOL : IDLE_NOT);
		assert_idle(m.p, waits[1], i == SERVES || i == ASKS_DATABASE ? IDLE_POOL : IDLE_NOT);
		profile_free(m.p);
	}
}

/* Workers that hand each other work rest while nobody of them works; those that are short of something others of them use do not. */
static void test_nobodys(void)
{
	for (int is_short = 0; is_short < 2; is_short++) {
		struct maker m = maker_new("process 1");
		uint32_t threads[3], waits[3];

		for (uint32_t t = 0; t < 3; t++)
			threads[t] = thread_of(m.p, 1, 2 + t, "worker", 0);
		for (uint32_t t = 0; t < 3; t++) {
			waits[t] = wait_of(m.p, threads[t], 'S', "start_thread@libc.so.6 work@app take@app pthread_cond_wait@libc.so.6", FUTEX,
					   is_short ? 600 : 950);
			woken_by(m.p, waits[t], threads[(t + 1) % 3], "start_thread@libc.so.6 work@app give@app pthread_cond_signal@libc.so.6");
			wait_of(m.p, threads[t], 'D', "start_thread@libc.so.6 work@app save@app fsync@libc.so.6",
				"__x64_sys_fsync@[kernel] io_schedule@[kernel]", is_short ? 400 : 50);
		}
		struct reasons *r = reasons_new(m.p, NULL);
		for (uint32_t t = 0; t < 3; t++)
			g_assert_cmpint(reasons_idle(r, waits[t]), ==, is_short ? IDLE_NOT : IDLE_POOL);
		reasons_free(r);
		profile_free(m.p);
	}
}

/*
 * One thread polls for all, and hands that on: whoever follows rests, also beside threads of that name that hardly ever
 * follow, and beside one whose time is up now and then.  Who looks again and again does not.
 */
static void test_followers(void)
{
	for (int looks = 0; looks < 2; looks++) {
		struct maker m = maker_new("process 1");
		uint32_t threads[2], follows[2], other = thread_of(m.p, 9, 9, "client", 0), timed;

		for (uint32_t t = 0; t < 2; t++)
			threads[t] = thread_of(m.p, 1, 2 + t, "rpc", 0);
		for (uint32_t t = 0; t < 2; t++) {
			const uint64_t timed_cnt = t ? 0 : looks ? 450 : 20;
			uint32_t polls = wait_of(m.p, threads[t], 'S', "start_thread@libc.so.6 work@rpc poll_for_work@rpc epoll_wait@libc.so.6",
						 "__x64_sys_epoll_wait@[kernel] ep_poll@[kernel]", 500);

			woken_by(m.p, polls, other, "main@client send@libc.so.6");
			follows[t] = wait_of(m.p, threads[t], 'S', "start_thread@libc.so.6 work@rpc poll_for_work@rpc pthread_cond_wait@libc.so.6",
					     FUTEX, 500 - timed_cnt);
			woken_by(m.p, follows[t], threads[1 - t], "start_thread@libc.so.6 work@rpc poll_for_work@rpc pthread_cond_signal@libc.so.6");
			if (!timed_cnt)
				continue;
			timed = wait_of(m.p, threads[t], 'S', "start_thread@libc.so.6 work@rpc poll_for_work@rpc pthread_cond_timedwait@libc.so.6",
					FUTEX, timed_cnt);
			woken_by(m.p, timed, UINT32_MAX, "");
		}
		for (uint32_t t = 0; t < 5; t++) {
			uint32_t handler = thread_of(m.p, 1, 20 + t, "rpc", 0);

			woken_by(m.p, wait_of(m.p, handler, 'S', "start_thread@libc.so.6 work@rpc answer@rpc watch@rpc pthread_cond_wait@libc.so.6",
					      FUTEX, 2), threads[0], "start_thread@libc.so.6 work@rpc tell@rpc pthread_cond_signal@libc.so.6");
		}
		assert_idle(m.p, follows[1], looks ? IDLE_NOT : IDLE_POOL);
		profile_free(m.p);
	}
}

/* A thread that only sleeps keeps house; three of a kind pause in their work, or look whether something has come. */
static void test_crew_that_sleeps(void)
{
	for (uint32_t cnt = 1; cnt <= 3; cnt += 2) {
		struct maker m = maker_new("process 1");
		uint32_t w = 0;

		for (uint32_t t = 0; t < cnt; t++)
			w = wait_of(m.p, thread_of(m.p, 1, 2 + t, "orders", 0), 'S', "start_thread@libc.so.6 work@orders usleep@libc.so.6",
				    "__x64_sys_clock_nanosleep@[kernel] do_nanosleep@[kernel]", 50);
		assert_idle(m.p, w, cnt == 1 ? IDLE_TIMER : IDLE_NOT);
		profile_free(m.p);
	}
}

/* Who looks for a client's next request, and sleeps for a moment before it looks again, rests then, too; in its work it does not. */
static void test_pauses_of_looks(void)
{
	static const char *const sleeps[] = { "start_thread@libc.so.6 work@web keep_alive@libweb.so.1 nanosleep@libc.so.6",
					      "start_thread@libc.so.6 work@web answer@libweb.so.1 nanosleep@libc.so.6" };

	for (unsigned i = 0; i < G_N_ELEMENTS(sleeps); i++) {
		struct maker m = maker_new("process 1");
		uint32_t thread = thread_of(m.p, 1, 2, "web", 0);
		uint32_t looks = wait_of(m.p, thread, 'S', "start_thread@libc.so.6 work@web keep_alive@libweb.so.1 select_read@libweb.so.1 poll@libc.so.6",
					 POLL, 800);
		uint32_t sleep = wait_of(m.p, thread, 'S', sleeps[i], "__x64_sys_clock_nanosleep@[kernel] do_nanosleep@[kernel]", 150);

		wait_for(m.p, looks, OBJECT_SOCKET, ":80 from 127.0.0.1 (shop)", 9);
		woken_by(m.p, looks, UINT32_MAX, "");
		woken_by(m.p, sleep, UINT32_MAX, "");
		struct reasons *r = reasons_new(m.p, NULL);
		g_assert_cmpint(reasons_idle(r, looks), ==, IDLE_CLIENT);
		g_assert_cmpint(reasons_idle(r, sleep), ==, i ? IDLE_NOT : IDLE_TIMER);
		reasons_free(r);
		profile_free(m.p);
	}
}

/* Without -threaded GHC's only thread runs all Haskell threads: what it waits for beside events holds them up. */
static void test_haskell_loop(void)
{
	struct maker m = maker_new("process 1");
	uint32_t thread = thread_of(m.p, 1, 1, "sensors", 0);
	uint32_t events = wait_of(m.p, thread, 'S', "main@sensors hs_main@sensors scheduleWaitThread@sensors awaitEvent@sensors select@libc.so.6",
				  "__x64_sys_pselect6@[kernel] do_select@[kernel]", 400);
	uint32_t call = wait_of(m.p, thread, 'S', "sensors+0x99@sensors read_sensor@sensors recv@libc.so.6", RECV, 600);

	woken_by(m.p, events, UINT32_MAX, "");
	struct reasons *r = reasons_new(m.p, NULL);
	g_assert_cmpint(reasons_idle(r, events), ==, IDLE_LOOP);
	g_assert_null(reasons_loop(r, events));
	g_assert_cmpint(reasons_idle(r, call), ==, IDLE_NOT);
	g_assert_cmpstr(reasons_loop(r, call)->name, ==, "GHC");
	reasons_free(r);
	profile_free(m.p);
}

/* A set of nothing but a timer is a way to sleep, and who hands out work at its ticks no shortage. */
static void test_timer_set(void)
{
	static const char *const sets[] = { "1 timerfd (fd 3 of hub)", "1 timerfd, 1 socket (fd 3 of hub)" };

	for (unsigned i = 0; i < G_N_ELEMENTS(sets); i++) {
		struct maker m = maker_new("process 1");
		uint32_t ticker = thread_of(m.p, 1, 1, "hub", 0);
		uint32_t ticks = wait_of(m.p, ticker, 'S', "main@hub epoll_wait@libc.so.6", "__x64_sys_epoll_wait@[kernel] ep_poll@[kernel]", 900);

		wait_for(m.p, ticks, OBJECT_EPOLL, sets[i], 0);
		woken_by(m.p, ticks, UINT32_MAX, "");
		struct reasons *r = reasons_new(m.p, NULL);
		g_assert_cmpint(reasons_of(r, ticks), ==, i ? REASON_EVENT_LOOP : REASON_SLEEP);
		reasons_free(r);
		profile_free(m.p);
	}
}

/* A Unix socket's client waits for whom it has connected to; who serves there, a bus and a pair of sockets tell nothing. */
static void test_unix_peer(void)
{
	static const struct { const char *name; bool is_answer; } cases[] = {
		{ "/run/my.sock (mariadbd)", true },
		{ "my.sock (mariadbd)", true },
		{ "/run/my.sock from (mysql)", false },
		{ "unix socket (worker)", false },
		{ "/run/dbus/system_bus_socket (dbus-daemon)", false },
	};

	for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
		struct maker m = maker_new("process 1");
		uint32_t wait = wait_of(m.p, thread_of(m.p, 1, 1, "dump", 0), 'S', "main@dump query@dump poll@libc.so.6", POLL, 900);
		const struct object o = { .kind = OBJECT_SOCKET, .operation = "", .name = cases[i].name, .place = "unix", .pid = 7 };

		fixture_is_for(m.p, wait, &o);
		struct reasons *r = reasons_new(m.p, NULL);
		g_assert_cmpint(reasons_of(r, wait), ==, cases[i].is_answer ? REASON_NETWORK_RECEIVE : REASON_EVENT_LOOP);
		g_assert_true(!cases[i].is_answer || !reasons_is_idle(r, wait));
		reasons_free(r);
		profile_free(m.p);
	}
}

/* A library's poll is for an answer, or for room: what it asked the kernel for tells. */
static void test_room_of_library(void)
{
	static const char *const stacks[] = {
		"main@mariadbd Protocol::write@mariadbd net_real_write@mariadbd vio_write@mariadbd vio_io_wait@mariadbd "
		"poll@libc.so.6",
		"main@app PQexec@libpq.so.5 poll@libc.so.6",
	};

	for (unsigned i = 0; i < G_N_ELEMENTS(stacks) * 2; i++) {
		struct maker m = maker_new("process 1");
		uint32_t wait = wait_of(m.p, thread_of(m.p, 1, 1, "app", 0), 'S', stacks[i / 2], POLL, 900);
		const struct object o = { .kind = OBJECT_SOCKET, .operation = i % 2 ? "send" : "", .name = ":3306 from 127.0.0.1",
					  .place = "tcp" };

		fixture_is_for(m.p, wait, &o);
		struct reasons *r = reasons_new(m.p, NULL);
		g_assert_cmpint(reasons_of(r, wait), ==, i % 2 ? REASON_NETWORK_SEND : REASON_NETWORK_RECEIVE);
		reasons_free(r);
		profile_free(m.p);
	}
}

/*
 * A server's main thread waits for its end and looks ten times a second for a signal; more often, elsewhere, or alone in
 * its process, a thread waits for something.
 */
static void test_main_looks(void)
{
	static const struct { uint64_t count; uint32_t tid; bool serves, is_idle; } cases[] = {
		{ 98, 1, true, true }, { 98, 1, false, false }, { 98, 2, true, false }, { 200, 1, true, false } };

	for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
		struct maker m = maker_new("process 1");

		if (cases[i].serves)
			wait_of(m.p, thread_of(m.p, 1, 3, "poller", 0), 'S', "start_thread@libc.so.6 poll_events@serve epoll_wait@libc.so.6",
				"__x64_sys_epoll_wait@[kernel] ep_poll@[kernel]", 10);
		uint32_t wait = wait_of(m.p, thread_of(m.p, 1, cases[i].tid, "serve", 0), 'S',
					"main@serve wait_for_termination@serve pthread_cond_timedwait@libc.so.6", FUTEX, cases[i].count);

		wait_for(m.p, wait, (enum object_kind)LOCK_CONDITION, "stopped", 0);
		woken_by(m.p, wait, UINT32_MAX, "");
		assert_idle(m.p, wait, cases[i].is_idle ? IDLE_POOL : IDLE_NOT);
		profile_free(m.p);
	}
}

#define EPOLL "__x64_sys_epoll_wait@[kernel] ep_poll@[kernel]"
#define BY_TCP "tcp_data_queue@[kernel] sock_def_readable@[kernel]"

/*
 * The loop of a recorded command waits for answers, however many come, unless somebody connects to it, it listens, or has
 * asked for nothing; so does that of a process without clients whose peer is on another machine.  Of Go's scheduler its
 * goroutines tell.  A poll of a pipe and a connection is for what comes by the connection.
 */
static void test_answers_of_command(void)
{
	enum { COMMAND, POLLS_A_PIPE, PROCESS, SERVES, LISTENS, OF_GO, IS_SENT_EVENTS, REMOTE, HAS_CLIENTS, CASES };
	for (int i = 0; i < CASES; i++) {
		struct maker m = maker_new(i == PROCESS || i >= REMOTE ? "process 1" : "command ./deploy");
		const uint32_t thread = thread_of(m.p, 1, 1, "deploy", 0);
		const bool is_poll = i == POLLS_A_PIPE, is_answer = i == COMMAND || is_poll || i == REMOTE;
		const uint32_t wait = wait_of(m.p, thread, 'S', i == OF_GO ? "main@deploy runtime.netpoll@deploy epoll_wait@libc.so.6" :
					      is_poll ? "main@deploy poll@libc.so.6" : "main@deploy epoll_wait@libc.so.6", is_poll ? POLL : EPOLL, 600);
		struct waker by = { .pid = 2, .tid = 2, .comm = "api" };
		struct connection serves = { .pid = 1, .side = CONNECTION_SERVER, .local = ":8080", .remote = i == LISTENS ? "" : "10.0.0.9" };

		wait_for(m.p, wait, is_poll ? OBJECT_POLL : OBJECT_EPOLL, is_poll ? "pipe and 1 more" :
			 i >= REMOTE ? "1 socket (fd 3 of deploy) -> 10.0.0.7:80" : "1 socket (fd 3 of deploy)", 0);
		by.kernel = fixture_stack(m.p, FRAME_KERNEL, STACK_COMPLETE, BY_TCP);
		profile_add_wake(m.p, &(struct wake){ .wait = wait, .waker = profile_waker(m.p, &by), .count = 600, .blocked_ns = 6000 * MS });
		by.kernel = fixture_stack(m.p, FRAME_KERNEL, STACK_COMPLETE, "tcp_child_process@[kernel]");
		if (i == SERVES)
			profile_add_wake(m.p, &(struct wake){ .wait = wait, .waker = profile_waker(m.p, &by), .count = 1, .blocked_ns = MS });
		if (i == LISTENS || i == HAS_CLIENTS)
			profile_add_connection(m.p, &serves);
		profile_add_tcp_wait(m.p, &(struct tcp_wait){ .object = profile_wait(m.p, wait)->object - 1, .direction = TCP_WAIT_RECEIVE,
							      .count = 600, .blocked_ns = 6000 * MS, .peer_ns = i == IS_SENT_EVENTS ? 0 : 5000 * MS,
							      .silent_ns = 900 * MS });
		struct reasons *r = reasons_new(m.p, NULL);
		g_test_message("case %d", i);
		g_assert_cmpint(reasons_idle(r, wait), ==, is_answer ? IDLE_NOT : IDLE_LOOP);
		g_assert_cmpint(reasons_of(r, wait), ==, is_answer ? REASON_NETWORK_RECEIVE : REASON_EVENT_LOOP);
		reasons_free(r);
		profile_free(m.p);
	}
}

/* Housekeeping has one thread for a duty, and sleeps in its loop; several that sleep in what that calls pause in their work. */
static void test_pauses_of_workers(void)
{
	for (int i = 0; i < 4; i++) {
		const bool are_several = i & 1, is_deep = i & 2;
		struct maker m = maker_new("process 1");
		uint32_t wait = 0;

		for (uint32_t t = 0; t < (are_several ? 3 : 1); t++)
			wait = wait_of(m.p, thread_of(m.p, 1, 10 + t, "spooler", 0), 'S',
				       is_deep ? "work@spooler put@spooler nanosleep@libc.so.6" : "work@spooler nanosleep@libc.so.6",
				       "__x64_sys_nanosleep@[kernel] hrtimer_nanosleep@[kernel]", 10);
		assert_idle(m.p, wait, are_several && is_deep ? IDLE_NOT : IDLE_TIMER);
		profile_free(m.p);
	}
}

/*
 * A worker's loop waits long for the next job of a queue, and shortly for what it asks beside; a server's waits are for
 * answers.
 */
static void test_loop_of_worker(void)
{
	enum { WORKER, SERVER, SHORT, CASES };

	for (unsigned i = 0; i < CASES; i++) {
		struct maker m = maker_new("process 2");
		uint32_t redis = thread_of(m.p, 1, 1, "redis-server", 0), worker = thread_of(m.p, 2, 2, "thumbs", 0);
		uint32_t wait = wait_of(m.p, worker, 'S', "main@thumbs uv_run@thumbs uv__io_poll@thumbs epoll_pwait@libc.so.6",
					"__x64_sys_epoll_pwait@[kernel] ep_poll@[kernel]", 60);
		struct wait *w = &g_array_index(m.p->waits, struct wait, wait);

		w->blocked_ns = i == SHORT ? 8000 * MS : 7000 * MS;
		w->hist[profile_hist_slot(10 * MS)] = i == SHORT ? 0 : 46;
		w->hist[profile_hist_slot(i == SHORT ? 130 * MS : 500 * MS)] = i == SHORT ? 60 : 14;
		wait_for(m.p, wait, OBJECT_EPOLL, "2 sockets (fd 3 of thumbs) -> 127.0.0.1:6379 (redis-server)", 1);
		woken_by(m.p, wait, redis, "main@redis-server writeToClient@redis-server");
		const struct connection c = { .pid = 2, .side = CONNECTION_SERVER, .local = "127.0.0.1:80",
					      .remote = "127.0.0.1:4711" };
		if (i == SERVER)
			profile_add_connection(m.p, &c);
		assert_idle(m.p, wait, i == WORKER ? IDLE_LOOP : IDLE_NOT);
		profile_free(m.p);
	}
}

/* A page that a FUSE server's write brings is none of a disk. */
static void test_page_of_fuse(void)
{
	for (int is_fuse = 0; is_fuse < 2; is_fuse++) {
		struct maker m = maker_new("process 1");
		uint32_t wait = wait_of(m.p, thread_of(m.p, 1, 1, "web", 0), 'S', "main@web read@libc.so.6",
					"__x64_sys_read@[kernel] filemap_read@[kernel] folio_wait_bit_common@[kernel]", 10);
		struct waker by = { .pid = 2, .tid = 2, .comm = "rclone" };

		by.kernel = fixture_stack(m.p, FRAME_KERNEL, STACK_COMPLETE,
					  is_fuse ? "fuse_dev_do_write@[kernel] folio_unlock@[kernel]" : "blk_update_request@[kernel] folio_unlock@[kernel]");
		profile_add_wake(m.p, &(struct wake){ .wait = wait, .waker = profile_waker(m.p, &by), .count = 10, .blocked_ns = 100 * MS });
		struct reasons *r = reasons_new(m.p, NULL);
		g_assert_cmpint(reasons_of(r, wait), ==, REASON_DISK_READ);
		g_assert_cmpstr(reasons_rule(r, wait)->name, ==, is_fuse ? "fuse-page" : "disk-read");
		reasons_free(r);
		profile_free(m.p);
	}
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/idle/at-rest/machine", test_at_rest_of_machine);
	g_test_add_func("/idle/listens", test_listens);
	g_test_add_func("/idle/turns", test_turns);
	g_test_add_func("/idle/shared-receiver", test_shared_receiver);
	g_test_add_func("/idle/torn", test_torn);
	g_test_add_func("/idle/unlooked", test_unlooked);
	g_test_add_func("/idle/one-name", test_one_name);
	g_test_add_func("/idle/fed", test_fed);
	g_test_add_func("/idle/nobodys", test_nobodys);
	g_test_add_func("/idle/followers", test_followers);
	g_test_add_func("/idle/crew-that-sleeps", test_crew_that_sleeps);
	g_test_add_func("/idle/pauses-of-looks", test_pauses_of_looks);
	g_test_add_func("/idle/haskell-loop", test_haskell_loop);
	g_test_add_func("/idle/timer-set", test_timer_set);
	g_test_add_func("/idle/unix-peer", test_unix_peer);
	g_test_add_func("/idle/room-of-library", test_room_of_library);
	g_test_add_func("/idle/main-looks", test_main_looks);
	g_test_add_func("/idle/loop-of-worker", test_loop_of_worker);
	g_test_add_func("/idle/lock-while-client-thinks", test_lock_while_client_thinks);
	g_test_add_func("/idle/withheld", test_withheld);
	g_test_add_func("/idle/handed-round", test_handed_round);
	g_test_add_func("/idle/own-poll", test_own_poll);
	g_test_add_func("/idle/unix-datagrams", test_unix_datagrams);
	g_test_add_func("/idle/lost-kernel-stack", test_lost_kernel_stack);
	g_test_add_func("/idle/served-by-broken-stack", test_served_by_broken_stack);
	g_test_add_func("/idle/ticks-of-datagram-server", test_ticks_of_datagram_server);
	g_test_add_func("/idle/datagram-questions", test_datagram_questions);
	g_test_add_func("/idle/output-of-a-started-program", test_output_of_a_started_program);
	g_test_add_func("/idle/last-sleep", test_last_sleep);
	g_test_add_func("/idle/stripped", test_stripped);
	g_test_add_func("/idle/pipeline", test_pipeline);
	g_test_add_func("/idle/withheld-from-one", test_withheld_from_one);
	g_test_add_func("/idle/answers-of-command", test_answers_of_command);
	g_test_add_func("/idle/pauses-of-workers", test_pauses_of_workers);
	g_test_add_func("/idle/page-of-fuse", test_page_of_fuse);
	return g_test_run();
}
