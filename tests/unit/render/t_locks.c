/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "render/text/text.h"

#include <string.h>

#include "../fixture.h"
#include "render/json/json.h"

static uint32_t add_thread(struct profile *p, uint32_t tid, const char *comm)
{
	const struct thread t = { .pid = 10, .tid = tid, .comm = profile_string(p, comm), .process = profile_string(p, "app"),
				  .to_ns = 1000000000 };

	return profile_add_thread(p, &t);
}

/* A mutex whose holder let go at a known place, and a condition with a name that would steer a terminal. */
static struct profile *locks(void)
{
	struct profile *p = profile_new();
	uint32_t waiter = add_thread(p, 11, "waiter"), holder = add_thread(p, 12, "holder");
	const struct frame frame = { .name = "give_back", .module = "/bin/app" };
	const struct object mutex = { .kind = LOCK_MUTEX, .is_private = true, .operation = "FUTEX_WAIT", .name = "queue_lock",
				      .place = "/bin/app", .pid = 10, .addr = 0x4040, .holder_tid = 12 };
	const struct object condition = { .kind = LOCK_CONDITION, .operation = "FUTEX_WAIT_BITSET", .name = "ev\033[31mil" };
	const struct waker by = { .pid = 10, .tid = 12, .comm = "holder", .user = profile_node(p, 0, profile_frame(p, &frame)) };
	struct wait w = { .thread = waiter, .state = 'S', .count = 3, .blocked_ns = 300000000, .max_ns = 200000000,
			  .object = profile_object(p, &mutex) + 1 };
	struct wake k = { .count = 2, .blocked_ns = 240000000 };

	p->info.has_locks = p->info.has_wakers = true;
	k.wait = profile_add_wait(p, &w);
	k.waker = profile_waker(p, &by);
	profile_add_wake(p, &k);
	w.thread = holder;
	w.blocked_ns = 100000000;
	w.object = profile_object(p, &condition) + 1;
	profile_add_wait(p, &w);
	w.object = 0;
	profile_add_wait(p, &w);
	return p;
}

static void test_text(void)
{
	struct profile *p = locks();
	const struct text_options options = { .top = 10 };
	g_autoptr(GString) s = g_string_new(NULL);

	locks_text(s, p, NULL, &options);
	assert_has(s, "300 ms for 1 of them, 60.0% of 500 ms that threads slept\n");
	assert_has(s, "  1. 300 ms  100.0%  mutex queue_lock\n"
		      "     count 3, mean 100 ms, max 200 ms, 1 thread of app; then runnable 0\n"
		      "     FUTEX_WAIT, private, at 0x4040 in /bin/app\n"
		      "     held by     100.0%  holder-10/12\n"
		      "     released by  80.0%  holder-10/12\n"
		      "                  give_back\n");
	assert_has(s, "100 ms for 1 of them, 20.0% of 500 ms that threads slept\n");
	assert_has(s, "condition variable ev");
	g_assert_null(strchr(s->str, '\033'));
	g_assert_null(strstr(s->str, "recording with --wakers"));
	profile_free(p);
}

/* On a terminal no line is longer than it is wide, as long as no word is. */
static void test_width(void)
{
	struct profile *p = locks();
	const struct text_options options = { .top = 10, .width = 80 };
	struct accounts *a;
	g_autoptr(GString) s = g_string_new(NULL);

	for (guint i = 0; i < p->waits->len; i++) {
		g_array_index(p->waits, struct wait, i).count = 123456;
		g_array_index(p->waits, struct wait, i).blocked_ns *= 37;
		g_array_index(p->waits, struct wait, i).runnable_ns = 1234567;
	}
	for (guint i = 0; i < p->threads->len; i++) {
		struct thread *t = &g_array_index(p->threads, struct thread, i);

		t->process = profile_string(p, "a-process-of-long-name");
		t->pid = 4194303;
		t->to_ns = 35802591370369;
		t->on_cpu_ns = 12345678901234;
		t->blocked_ns = 23456789012345;
		t->preempted_ns = 123456789;
	}
	a = accounts_new(p, NULL);
	locks_text(s, p, NULL, &options);
	text_accounts(s, a, &options);
	assert_has(s, "\n     count 123,456, mean 89.9 us, max 200 ms, 1 thread of");
	assert_has(s, " runnable preempted off-CPU residual\n");

	g_auto(GStrv) lines = g_strsplit(s->str, "\n", -1);

	for (unsigned i = 0; lines[i]; i++)
		if (g_utf8_strlen(lines[i], -1) > 80)
			g_error("a line of %ld columns: %s", g_utf8_strlen(lines[i], -1), lines[i]);
	accounts_free(a);
	profile_free(p);
}

static void test_none(void)
{
	struct profile *p = profile_new();
	const struct text_options options = { .top = 10 };
	g_autoptr(GString) s = g_string_new(NULL);

	locks_text(s, p, NULL, &options);
	g_assert_cmpstr(s->str, ==, "\nNo wait for a lock.\n");
	profile_free(p);
}

static void test_json(void)
{
	struct profile *p = locks();
	g_autoptr(GString) s = g_string_new(NULL);

	json_report_drained(s, p, NULL, NULL);
	assert_has(s, "\"object\":\"queue_lock\",\"lock\":{\"kind\":\"mutex\",\"operation\":\"FUTEX_WAIT\","
		      "\"private\":true,\"place\":\"/bin/app\",\"pid\":10,\"address\":16448,\"holder_tid\":12}");
	assert_has(s, "\"object\":null,");
	profile_free(p);
}

/* The report's list of stacks tells two locks at one place apart. */
static void test_top(void)
{
	struct profile *p = locks();
	const struct text_options options = { .top = 10, .by = TOP_BY_STACK };
	g_autoptr(GString) s = g_string_new(NULL);

	text_report(s, p, NULL, NULL, &options);
	assert_has(s, "     for mutex queue_lock\n");
	assert_has(s, "     for condition variable ev");
	profile_free(p);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/locks-text/text", test_text);
	g_test_add_func("/locks-text/width", test_width);
	g_test_add_func("/locks-text/none", test_none);
	g_test_add_func("/locks-text/json", test_json);
	g_test_add_func("/locks-text/top", test_top);
	return g_test_run();
}
