/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "features/storms/analysis.h"

#include "../crowd.h"
#include "../fixture.h"

static const struct storm_row *row_of(const struct storm_table *t, unsigned i)
{
	g_assert_cmpuint(i, <, t->rows->len);
	return &g_array_index(t->rows, struct storm_row, i);
}

static void check(const struct storm_row *r, enum storm_kind kind, enum storm_verdict verdict, bool one_by_one)
{
	g_assert_cmpint(r->kind, ==, kind);
	g_assert_cmpint(r->verdict, ==, verdict);
	g_assert_cmpint(r->one_by_one, ==, one_by_one);
}

static void test_rows(void)
{
	struct profile *p = crowd_new();
	struct storm_table *t = storm_table_new(p, NULL);

	g_assert_cmpuint(t->rows->len, ==, 4);
	check(row_of(t, 0), STORM_CONDITION, STORM_IN_VAIN, false);
	check(row_of(t, 1), STORM_EPOLL_ACCEPT, STORM_IN_VAIN, false);
	check(row_of(t, 2), STORM_TIMER, STORM_UNSEEN, false);
	check(row_of(t, 3), STORM_CONDITION, STORM_WORK, true);
	g_assert_nonnull(strstr(storm_advice(row_of(t, 1)), "EPOLLEXCLUSIVE"));
	g_assert_null(storm_advice(row_of(t, 3)));	/* nothing is wrong with it */
	storm_table_free(t);
	profile_free(p);
}

/* Two threads in one place are one row; two places are two. */
static void test_sleepers(void)
{
	struct profile *p = crowd_new();
	struct storm_table *t = storm_table_new(p, NULL);
	const GArray *of_boss = row_of(t, 0)->sleepers, *of_client = row_of(t, 1)->sleepers;

	g_assert_cmpuint(of_boss->len, ==, 1);
	g_assert_cmpuint(g_array_index(of_boss, struct storm_sleepers, 0).count, ==, 2000);
	g_assert_cmpuint(g_array_index(of_boss, struct storm_sleepers, 0).threads, ==, 2);
	g_assert_cmpuint(of_client->len, ==, 2);
	g_assert_cmpuint(g_array_index(of_client, struct storm_sleepers, 0).count, ==, 40);
	g_assert_cmpuint(g_array_index(of_client, struct storm_sleepers, 1).count, ==, 10);
	storm_table_free(t);
	profile_free(p);
}

/* A thread is one, however many rows its sleeps in that place are: open at the start, or for another lock. */
static void test_threads(void)
{
	struct profile *p = profile_new();
	const struct waker waker = { .pid = 1, .tid = 1, .comm = "w" };
	const struct storm s = { .waker = profile_waker(p, &waker), .event_cnt = 2, .call_cnt = 2, .woken_cnt = 400,
				 .most_cnt = 100, .ended_cnt = 400, .again_cnt = 400 };
	const struct object lock = { .name = "lock" };
	uint32_t user = fixture_stack(p, FRAME_USER, STACK_COMPLETE, "main@/bin/a pthread_cond_wait@/lib/libc.so.6");

	for (uint32_t i = 0; i < 100; i++) {
		uint32_t thread = fixture_thread(p, 10, 10 + i, "t", "t");
		const struct wait waits[] = {
			{ .thread = thread, .user = user, .state = 'S', .count = 1, .flags = WAIT_OPEN_AT_START },
			{ .thread = thread, .user = user, .state = 'S', .count = 2 },
			{ .thread = thread, .user = user, .state = 'S', .count = 1, .object = profile_object(p, &lock) + 1 },
		};

		for (unsigned k = 0; k < G_N_ELEMENTS(waits); k++) {
			const struct wake wake = { .wait = profile_add_wait(p, &waits[k]), .count = waits[k].count };

			profile_add_wake(p, &wake);
		}
	}
	profile_add_storm(p, &s);
	struct storm_table *t = storm_table_new(p, NULL);
	const GArray *sleepers = row_of(t, 0)->sleepers;

	g_assert_cmpuint(sleepers->len, ==, 1);
	g_assert_cmpuint(g_array_index(sleepers, struct storm_sleepers, 0).threads, ==, 100);
	g_assert_cmpuint(g_array_index(sleepers, struct storm_sleepers, 0).count, ==, 400);
	storm_table_free(t);
	profile_free(p);
}

static void test_selection(void)
{
	struct profile *p = crowd_new();
	const uint32_t tid = 32;
	const struct query one = { .tids = &tid, .tids_cnt = 1 }, none = { .comm = "hog" };
	struct selection *of_one = selection_new(p, &one, NULL), *of_none = selection_new(p, &none, NULL);
	struct storm_table *t = storm_table_new(p, of_one), *empty = storm_table_new(p, of_none);

	g_assert_cmpuint(t->rows->len, ==, 2);	/* those that woke thread 32 */
	g_assert_cmpuint(row_of(t, 0)->sleepers->len, ==, 1);
	g_assert_cmpuint(empty->rows->len, ==, 0);
	storm_table_free(t);
	storm_table_free(empty);
	selection_free(of_one);
	selection_free(of_none);
	profile_free(p);
}

struct told {
	const char *waker_kernel, *kernel, *user;
	enum storm_kind kind;
};

/* Which kind it is the stacks tell, of the woken and of the waker. */
static void test_kinds(void)
{
	static const struct told cases[] = {
		{ "sys_futex futex_wake", "sys_futex futex_wait_queue schedule", "main pthread_cond_timedwait", STORM_CONDITION },
		{ "sys_futex futex_wake", "sys_futex futex_wait_queue schedule", "main pthread_barrier_wait", STORM_FUTEX },
		{ "sys_write pipe_write", "sys_epoll_wait ep_poll schedule", "main epoll_wait", STORM_EPOLL },
		{ "unix_stream_connect sock_def_readable", "sys_epoll_wait ep_poll schedule", "main", STORM_EPOLL_ACCEPT },
		{ "tcp_child_process sock_def_readable", "do_sys_poll schedule", "main poll", STORM_ACCEPT },
		{ "tcp_v4_rcv sock_def_readable", "do_sys_poll schedule", "main poll", STORM_POLL },
		{ "tcp_child_process sock_def_readable", "__sys_accept4 inet_csk_accept schedule", "main accept", STORM_ACCEPT },
		{ "do_group_exit zap_other_threads", "sys_futex futex_wait_queue", "main pthread_cond_wait", STORM_SIGNAL },
		{ "sys_write pipe_write", "sys_read pipe_read schedule", "main read", STORM_OTHER },
		{ "tcp_v4_rcv sock_def_readable", NULL, "main epoll_wait", STORM_EPOLL },
		{ "tcp_v4_rcv sock_def_readable", NULL, NULL, STORM_UNKNOWN },
	};

	for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
		const struct told *c = &cases[i];
		struct profile *p = profile_new();
		struct waker waker = { .pid = 1, .tid = 1, .comm = "w" };
		struct wait w = { .thread = fixture_thread(p, 2, 2, "t", "t"), .state = 'S', .count = 9 };
		struct wake k = { .count = 9 };
		struct storm s = { .event_cnt = 1, .call_cnt = 1, .woken_cnt = 9, .most_cnt = 9, .ended_cnt = 9, .again_cnt = 9 };

		waker.kernel = fixture_stack(p, FRAME_KERNEL, STACK_COMPLETE, c->waker_kernel);
		w.kernel = c->kernel ? fixture_stack(p, FRAME_KERNEL, STACK_COMPLETE, c->kernel) : 0;
		w.user = c->user ? fixture_stack(p, FRAME_USER, STACK_COMPLETE, c->user) : 0;
		s.waker = k.waker = profile_waker(p, &waker);
		k.wait = profile_add_wait(p, &w);
		profile_add_wake(p, &k);
		profile_add_storm(p, &s);
		struct storm_table *t = storm_table_new(p, NULL);

		g_test_message("case %u", i);
		g_assert_cmpint(row_of(t, 0)->kind, ==, c->kind);
		storm_table_free(t);
		profile_free(p);
	}
}

/* Wakers of one name at one place are one row, and those that wake one by one come last. */
static void test_grouping(void)
{
	struct profile *p = profile_new();
	uint32_t at = fixture_stack(p, FRAME_KERNEL, STACK_COMPLETE, "sys_write try_to_wake_up");
	uint32_t elsewhere = fixture_stack(p, FRAME_KERNEL, STACK_COMPLETE, "sys_futex try_to_wake_up");
	const struct { const char *comm; uint32_t tid, kernel; uint64_t calls; } wakers[] = {
		{ "a", 1, at, 10 }, { "a", 2, at, 10 }, { "b", 3, at, 1 }, { "a", 4, elsewhere, 1 }, { "a", 5, at, 10 },
	};

	for (unsigned i = 0; i < G_N_ELEMENTS(wakers); i++) {
		const struct waker w = { .pid = 1, .tid = wakers[i].tid, .comm = wakers[i].comm, .kernel = wakers[i].kernel };
		const struct storm s = { .waker = profile_waker(p, &w), .event_cnt = 1, .call_cnt = wakers[i].calls,
					 .woken_cnt = 10, .most_cnt = 10, .ended_cnt = 10, .again_cnt = 9 - i };

		profile_add_storm(p, &s);
	}
	struct storm_table *t = storm_table_new(p, NULL);

	g_assert_cmpuint(t->rows->len, ==, 3);
	g_assert_cmpuint(row_of(t, 0)->storm.again_cnt, ==, 7);	/* b */
	g_assert_cmpuint(row_of(t, 1)->storm.again_cnt, ==, 6);
	g_assert_cmpuint(row_of(t, 2)->wakers, ==, 3);
	g_assert_cmpuint(row_of(t, 2)->storm.woken_cnt, ==, 30);
	g_assert_cmpuint(row_of(t, 2)->storm.again_cnt, ==, 9 + 8 + 5);
	g_assert_cmpint(row_of(t, 2)->verdict, ==, STORM_ONE_BY_ONE);
	g_assert_cmpint(row_of(t, 0)->verdict, ==, STORM_IN_VAIN);
	storm_table_free(t);
	profile_free(p);
}

/* At the edges between the verdicts. */
static void test_verdicts(void)
{
	static const struct { uint64_t woken, ended, again; enum storm_verdict verdict; } cases[] = {
		{ 100, 100, 50, STORM_IN_VAIN }, { 100, 100, 49, STORM_PARTLY }, { 100, 100, 20, STORM_PARTLY },
		{ 100, 100, 19, STORM_WORK },	 { 100, 50, 25, STORM_IN_VAIN }, { 100, 49, 49, STORM_UNSEEN },
		{ 8, 0, 0, STORM_UNSEEN },
	};

	for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
		struct profile *p = profile_new();
		const struct waker waker = { .pid = 1, .tid = 1, .comm = "w" };
		const struct storm s = { .waker = profile_waker(p, &waker), .event_cnt = 1, .woken_cnt = cases[i].woken,
					 .ended_cnt = cases[i].ended, .again_cnt = cases[i].again };

		profile_add_storm(p, &s);
		struct storm_table *t = storm_table_new(p, NULL);

		g_assert_cmpint(row_of(t, 0)->verdict, ==, cases[i].verdict);
		g_assert_cmpint(row_of(t, 0)->kind, ==, STORM_UNKNOWN);
		storm_table_free(t);
		profile_free(p);
	}
}

/* Every kind has a name for programs and one for people. */
static void test_names(void)
{
	for (int i = 0; i < STORM_KIND_COUNT; i++) {
		g_assert_nonnull(storm_kind_id((enum storm_kind)i));
		const struct storm_row row = { .kind = (enum storm_kind)i };

		g_assert_nonnull(storm_title(&row));
		for (int k = 0; k < i; k++)
			g_assert_cmpstr(storm_kind_id((enum storm_kind)i), !=, storm_kind_id((enum storm_kind)k));
	}
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/storms/rows", test_rows);
	g_test_add_func("/storms/sleepers", test_sleepers);
	g_test_add_func("/storms/threads", test_threads);
	g_test_add_func("/storms/selection", test_selection);
	g_test_add_func("/storms/kinds", test_kinds);
	g_test_add_func("/storms/grouping", test_grouping);
	g_test_add_func("/storms/verdicts", test_verdicts);
	g_test_add_func("/storms/names", test_names);
	return g_test_run();
}
