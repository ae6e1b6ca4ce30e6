/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* What is told of waits that nobody ended in the whole window. */
#include "window.h"

#include "profile/tasks.h"

/* Who should end such a wait does not do it at all; a standby's ranks behind what else somebody waits for. */
static void test_unended(void)
{
	static const struct { const char *user, *kernel, *says, *advice; bool may_be_meant; } cases[] = {
		{ "main@app borrow@app java.util.concurrent.Semaphore.acquire@jvm Unsafe_Park@libjvm.so pthread_cond_wait@libc.so.6",
		  "__x64_sys_futex@[kernel] futex_wait@[kernel]", "waits for a semaphore in borrow", "Nobody raised it", true },
		{ "main@app await@app java.util.concurrent.CompletableFuture.get@jvm Unsafe_Park@libjvm.so pthread_cond_wait@libc.so.6",
		  "__x64_sys_futex@[kernel] futex_wait@[kernel]", "waits for the result of a task in await", "No result came", true },
		{ "main@app meet@app pthread_barrier_wait@libc.so.6", "__x64_sys_futex@[kernel] futex_wait@[kernel]",
		  "waits for the other threads at a barrier in meet", "Nobody else came", true },
		{ "main@app push@app open@libc.so.6", "__x64_sys_openat@[kernel] fifo_open@[kernel] wait_for_partner@[kernel]",
		  "waits for somebody to open the other end of a named pipe in push", "No program has the other end open", false },
		{ "PostgresMain@postgres pg_advisory_lock_int8@postgres ProcSleep@postgres WaitLatch@postgres epoll_wait@libc.so.6",
		  "__x64_sys_epoll_wait@[kernel] ep_poll@[kernel]", "waits for an advisory lock (PostgreSQL)", "locktype advisory", true },
	};

	for (gsize i = 0; i < G_N_ELEMENTS(cases) * 2; i++) {
		const bool is_ended = i % 2;
		struct profile *p = window_new();
		uint32_t app = thread_of(p, 11, "app", 10);
		uint32_t wait = add_wait(p, app, 'S', 1, is_ended ? 8000 : WINDOW_MS, cases[i / 2].user, cases[i / 2].kernel);
		const struct waker waker = { .pid = 99, .tid = 99, .comm = "other" };
		const struct wake wake = { .wait = wait, .waker = profile_waker(p, &waker), .count = 1, .blocked_ns = 8000 * MS };

		p->info.has_wakers = true;
		add_wait(p, thread_of(p, 12, "disk", 10), 'D', 100, 40, "main@disk save@disk fsync@libc.so.6",
			 "__x64_sys_fsync@[kernel] jbd2_log_wait_commit@[kernel]");
		if (is_ended)
			profile_add_wake(p, &wake);
		struct explanation *e = explanation_new(p, NULL);
		const struct headline *h = headline_with(e, cases[i / 2].says);
		const bool is_first = h == &g_array_index(e->headlines, struct headline, 0);

		if (strcmp(cases[i / 2].advice, "locktype advisory") != 0)
			g_assert_cmpint(strstr(h->advice, cases[i / 2].advice) == NULL, ==, is_ended);
		g_assert_cmpint(is_first, ==, is_ended || !cases[i / 2].may_be_meant);
		explanation_free(e);
		profile_free(p);
	}
}

/* Goroutines that send where nobody is left to receive, be it that one waits at another channel; and where somebody is slow. */
static void test_unreceived(void)
{
	static const struct task_frame sends[] = { { "runtime.chansend1", NULL, 0 }, { "main.emit", NULL, 0 }, { "main.crawl", NULL, 0 } },
				       stores[] = { { "time.Sleep", NULL, 0 }, { "main.store", NULL, 0 }, { "main.collect", NULL, 0 } },
				       ticks[] = { { "runtime.chanrecv1", NULL, 0 }, { "main.tick", NULL, 0 }, { "main.report", NULL, 0 } };
	static const char *const others[] = { NULL, "sleep", "chan receive" };

	for (size_t k = 0; k < G_N_ELEMENTS(others); k++) {
		const bool has_other = others[k], is_slow = k == 1;
		struct profile *p = window_new();
		struct tasks *t = tasks_new(TASKS_GO, profile_thread(p, thread_of(p, 30, "crawler", 10))->pid);

		t->program = tasks_string(t, "crawler");
		for (int i = 0; i < 1 + has_other; i++) {
			bool is_new;
			struct task_row *row = tasks_row(t, (uint64_t)i + 1, &is_new);

			row->state = "waiting";
			row->reason = i ? others[k] : "chan send";
			row->frames = g_memdup2(!i ? sends : is_slow ? stores : ticks, sizeof(sends));
			row->frame_cnt = G_N_ELEMENTS(sends);
		}
		for (int look = 0; look < 20; look++) {
			for (int i = 0; i < 1 + has_other; i++) {
				bool is_new;

				tasks_seen(t, tasks_row(t, (uint64_t)i + 1, &is_new), 1);
			}
			tasks_look_done(t, (uint64_t)(look + 1) * 200 * MS, 200 * MS);
		}
		tasks_finish(t);
		profile_add_tasks(p, t);
		struct explanation *e = explanation_new(p, NULL);

		g_assert_cmpint(strstr(headline_with(e, "to send to a channel")->advice, "No goroutine was seen that would receive") == NULL,
				==, is_slow);
		explanation_free(e);
		profile_free(p);
	}
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/explain/unended", test_unended);
	g_test_add_func("/explain/unreceived", test_unreceived);
	return g_test_run();
}
