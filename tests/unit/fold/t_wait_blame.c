/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "features/blame/fold.h"

#include <string.h>

static void add(struct wait_blame *b, uint32_t tid, uint64_t since_ns, uint32_t kind, uint32_t by, const char *comm, uint64_t ns)
{
	struct offcpu_rec_blame part = { .kind = kind, .tid = tid, .since_ns = since_ns, .ns = ns, .stretch_cnt = 1,
					 .by_pid = by ? 500 : 0, .by_tid = by };

	memcpy(part.by_comm, comm, strlen(comm));
	wait_blame_add(b, &part);
}

static GArray *take(struct wait_blame *b, uint32_t tid, uint64_t since_ns, uint64_t delay_ns, uint64_t *ret_unknown_ns)
{
	const struct offcpu_rec_event e = { .tid = tid, .end_ns = since_ns + 50 + delay_ns, .blocked_ns = 50,
					    .runnable_ns = delay_ns / 2, .preempted_ns = delay_ns - delay_ns / 2 };

	return wait_blame_take(b, &e, ret_unknown_ns);
}

/* Parts of one name are one, threads are told apart, and what is missing is said. */
static void test_sums(void)
{
	struct wait_blame *b = wait_blame_new();
	uint64_t unknown_ns;

	add(b, 7, 1000, BLAME_THREAD, 21, "hog", 100);
	add(b, 8, 1000, BLAME_THREAD, 21, "hog", 9);
	add(b, 7, 1000, BLAME_IDLE, 0, "", 5);
	add(b, 7, 1000, BLAME_THREAD, 22, "hog", 50);
	add(b, 7, 1000, BLAME_THREAD, 23, "sixteen-bytes-ab", 300);
	g_autoptr(GArray) held = take(b, 7, 1000, 500, &unknown_ns);
	const struct held *h = &g_array_index(held, struct held, 0);

	g_assert_cmpuint(held->len, ==, 3);
	g_assert_cmpuint(unknown_ns, ==, 45);
	g_assert_cmpstr(h[0].comm, ==, "sixteen-bytes-ab");
	g_assert_cmpuint(h[0].tid, ==, 23);
	g_assert_cmpuint(h[1].ns, ==, 150);
	g_assert_cmpuint(h[1].tid, ==, 0);
	g_assert_cmpuint(h[1].stretch_cnt, ==, 2);
	g_assert_cmpuint(h[2].kind, ==, BLAME_IDLE);
	g_autoptr(GArray) other = take(b, 8, 1000, 9, &unknown_ns);
	g_assert_cmpuint(other->len, ==, 1);
	g_assert_cmpuint(unknown_ns, ==, 0);
	wait_blame_free(b);
}

/* Nothing goes from one wait to the next of the thread, whether its event came or not. */
static void test_other_wait(void)
{
	struct wait_blame *b = wait_blame_new();
	uint64_t unknown_ns;

	add(b, 7, 1000, BLAME_THREAD, 21, "hog", 100);
	add(b, 7, 2000, BLAME_THREAD, 22, "pig", 10);
	g_autoptr(GArray) second = take(b, 7, 2000, 10, &unknown_ns);
	g_assert_cmpuint(second->len, ==, 1);
	g_assert_cmpstr(g_array_index(second, struct held, 0).comm, ==, "pig");
	add(b, 7, 3000, BLAME_THREAD, 21, "hog", 100);
	g_autoptr(GArray) lost = take(b, 7, 4000, 30, &unknown_ns);
	g_assert_cmpuint(lost->len, ==, 0);
	g_assert_cmpuint(unknown_ns, ==, 30);
	g_autoptr(GArray) again = take(b, 7, 3000, 100, &unknown_ns);
	g_assert_cmpuint(again->len, ==, 0);
	wait_blame_free(b);
}

/* Threads that never have an event do not pile up. */
static void test_bounded(void)
{
	struct wait_blame *b = wait_blame_new();
	uint64_t unknown_ns;

	for (uint32_t tid = 1; tid <= 200000; tid++)
		add(b, tid, 1000, BLAME_THREAD, 21, "hog", 1);
	g_autoptr(GArray) last = take(b, 200000, 1000, 1, &unknown_ns), first = take(b, 1, 1000, 1, &unknown_ns);
	g_assert_cmpuint(last->len, ==, 1);
	g_assert_cmpuint(first->len, ==, 0);
	wait_blame_free(b);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/wait-blame/sums", test_sums);
	g_test_add_func("/wait-blame/other-wait", test_other_wait);
	g_test_add_func("/wait-blame/bounded", test_bounded);
	return g_test_run();
}
