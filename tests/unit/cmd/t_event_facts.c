/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "cmd/events/events.h"

#define FUTEX 11
#define EXIT_LOOP 12
#define WAITER 21
#define PENDING 31
#define MUTEX 41
#define WAKER 51

static unsigned asked, wakers_asked;
static struct profile *profile;

static uint32_t node_of(const struct frame *frames, unsigned cnt)
{
	uint32_t node = 0;

	for (unsigned i = 0; i < cnt; i++)
		node = profile_node(profile, node, profile_frame(profile, &frames[i]));
	return node;
}

/* Outermost first.  False: it has not arrived. */
static bool stack_of(uint64_t id, uint32_t *ret_node)
{
	static const struct frame futex[] = {
		{ .name = "__x64_sys_futex", .module = "[kernel]", .kind = FRAME_KERNEL },
		{ .name = "__futex_wait", .module = "[kernel]", .kind = FRAME_KERNEL },
		{ .name = "schedule", .module = "[kernel]", .kind = FRAME_KERNEL },
	}, exit_loop[] = {
		{ .name = "exit_to_user_mode_loop", .module = "[kernel]", .kind = FRAME_KERNEL },
		{ .name = "schedule", .module = "[kernel]", .kind = FRAME_KERNEL },
	}, waiter[] = {
		{ .name = "GET /a", .module = "[http.route]", .kind = FRAME_CONTEXT },
		{ .name = "do_work", .module = "/bin/a" },
		{ .name = "pthread_cond_wait@@GLIBC_2.3.2", .module = "/lib/libc.so.6" },
		{ .name = "__futex_abstimed_wait_common", .module = "/lib/libc.so.6" },
	};

	*ret_node = id == FUTEX	      ? node_of(futex, G_N_ELEMENTS(futex))
		    : id == EXIT_LOOP ? node_of(exit_loop, G_N_ELEMENTS(exit_loop))
		    : id == WAITER    ? node_of(waiter, G_N_ELEMENTS(waiter))
				      : 0;
	return !id || *ret_node;
}

static bool wait_of(const struct offcpu_rec_event *e, struct wait *ret_wait, void *data)
{
	const struct object mutex = { .kind = LOCK_MUTEX, .name = "queue_lock", .operation = "FUTEX_WAIT" };
	bool has_user, has_kernel;

	asked++;
	*ret_wait = (struct wait){
		.state = e->state, .count = 1, .blocked_ns = e->blocked_ns, .runnable_ns = e->runnable_ns,
		.preempted_ns = e->preempted_ns,
		.flags = (e->is_throttled ? WAIT_THROTTLED : 0) | (e->open_at_start ? WAIT_OPEN_AT_START : 0),
		.object = e->object == MUTEX ? profile_object(profile, &mutex) + 1 : 0,
	};
	has_user = stack_of(e->ustack, &ret_wait->user);
	has_kernel = stack_of(e->kstack, &ret_wait->kernel);
	return has_user && has_kernel;
}

static uint32_t waker_of(uint64_t id, void *data)
{
	const struct waker waker = { .pid = 7, .tid = 8, .comm = "server" };

	wakers_asked++;
	return id == WAKER ? profile_waker(profile, &waker) + 1 : 0;
}

static const struct profile *profile_of(void *data)
{
	return profile;
}

static const struct event_source source = { wait_of, waker_of, profile_of, NULL };

static void expect(struct event_facts *n, const struct offcpu_rec_event *rec, const char *where, enum reason reason)
{
	struct wait_event e;

	event_facts_find(n, rec, &e);
	g_assert_cmpstr(e.where, ==, where);
	g_assert_cmpstr(reason_name(e.reason), ==, reason_name(reason));
}

/* As a report has it: libc's inner function tells nothing, its caller is named beside the function it called. */
static void test_facts(void)
{
	struct event_facts *n = event_facts_new(&source);
	struct offcpu_rec_event e = { .state = 'S', .blocked_ns = 5, .kstack = FUTEX, .ustack = WAITER };

	expect(n, &e, "futex_wait (pthread_cond_wait <- do_work)", REASON_LOCK_CONDITION);
	e = (struct offcpu_rec_event){ .state = 'R', .preempted_ns = 5, .kstack = EXIT_LOOP, .ustack = WAITER };
	expect(n, &e, "preempted (pthread_cond_wait <- do_work)", REASON_CPU_QUEUE);
	e.is_throttled = 1;
	expect(n, &e, "throttled (pthread_cond_wait <- do_work)", REASON_CPU_THROTTLED);
	e = (struct offcpu_rec_event){ .state = 'R', .runnable_ns = 5, .kstack = FUTEX, .ustack = WAITER, .open_at_start = 1 };
	expect(n, &e, "runnable (pthread_cond_wait <- do_work)", REASON_CPU_QUEUE);
	e = (struct offcpu_rec_event){ .state = 'S', .blocked_ns = 5 };
	expect(n, &e, "[no stack]", REASON_OTHER);
	event_facts_free(n);
}

/* Each is found once, but of a stack that has not arrived yet. */
static void test_cache(void)
{
	struct event_facts *n = event_facts_new(&source);
	struct offcpu_rec_event e = { .state = 'S', .blocked_ns = 5, .kstack = FUTEX, .ustack = WAITER };

	asked = 0;
	for (int i = 0; i < 3; i++)
		expect(n, &e, "futex_wait (pthread_cond_wait <- do_work)", REASON_LOCK_CONDITION);
	g_assert_cmpuint(asked, ==, 1);
	e.ustack = PENDING;
	for (int i = 0; i < 3; i++)
		expect(n, &e, "futex_wait", REASON_LOCK_OTHER);
	g_assert_cmpuint(asked, ==, 4);
	event_facts_free(n);
}

/* An object makes other facts of the same stacks; a waker that has not arrived is asked for again. */
static void test_who_and_what(void)
{
	struct event_facts *n = event_facts_new(&source);
	struct offcpu_rec_event rec = { .state = 'S', .blocked_ns = 5, .kstack = FUTEX, .ustack = WAITER };
	struct wait_event e;

	wakers_asked = 0;
	event_facts_find(n, &rec, &e);
	g_assert_null(e.object);
	g_assert_null(e.waker);
	g_assert_cmpstr(e.route, ==, "GET /a");
	g_assert_cmpuint(wakers_asked, ==, 0);
	rec.object = MUTEX;
	rec.waker = WAKER;
	for (int i = 0; i < 3; i++) {
		event_facts_find(n, &rec, &e);
		g_assert_cmpstr(e.object, ==, "mutex queue_lock");
		g_assert_nonnull(e.waker);
		g_assert_cmpuint(e.waker->tid, ==, 8);
	}
	g_assert_cmpuint(wakers_asked, ==, 1);
	g_assert_null(event_facts_waker(n, WAKER + 1));
	g_assert_null(event_facts_waker(n, WAKER + 1));
	g_assert_cmpuint(wakers_asked, ==, 3);
	event_facts_free(n);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/event-facts/facts", test_facts);
	g_test_add_func("/event-facts/cache", test_cache);
	g_test_add_func("/event-facts/who-and-what", test_who_and_what);
	profile = profile_new();
	int status = g_test_run();

	profile_free(profile);
	return status;
}
