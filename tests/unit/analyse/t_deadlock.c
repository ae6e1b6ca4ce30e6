/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "explain/findings_part.h"

#include "explain/findings.h"
#include "analyse/locks.h"
#include "profile/limits.h"
#include "features/slices/rows_build.h"
#include "../parts.h"

#include "../fixture.h"

#define PID 10
#define WINDOW_NS 5000000000ULL
#define LONG_NS 4000000000ULL

static struct profile *profile_of(unsigned threads)
{
	struct profile *p = profile_new();

	p->info.duration_ns = WINDOW_NS;
	p->slices = slices_new(SLICE_DEFAULT_NS, slices_cnt_of(WINDOW_NS, SLICE_DEFAULT_NS));
	for (unsigned i = 1; i <= threads; i++) {
		const struct thread t = { .pid = PID, .tid = i, .comm = profile_string(p, "app"),
					  .process = profile_string(p, "app"), .to_ns = WINDOW_NS,
					  .flags = THREAD_OPEN_AT_END };
		profile_add_thread(p, &t);
	}
	return p;
}

/* Thread number `tid` waits for a lock that `holder` has; returns the wait. */
static uint32_t add(struct profile *p, uint32_t tid, const char *lock, uint32_t holder, uint64_t ns, unsigned flags)
{
	const struct object o = { .kind = LOCK_MUTEX, .is_private = true, .operation = "FUTEX_WAIT", .name = lock,
				  .place = "/bin/app", .pid = PID, .addr = g_str_hash(lock), .holder_tid = holder };
	const struct wait w = { .thread = tid - 1, .object = profile_object(p, &o) + 1, .state = 'S', .count = 1,
				.kernel = fixture_stack(p, FRAME_KERNEL, STACK_COMPLETE, "futex_wait"),
				.user = fixture_stack(p, FRAME_USER, STACK_COMPLETE, "work@app pthread_mutex_lock@libc.so.6"),
				.flags = (uint8_t)flags, .blocked_ns = ns, .max_ns = ns };

	return profile_add_wait(p, &w);
}

static uint32_t *rings_of(const struct profile *p)
{
	g_autofree uint32_t *locks = lock_ids_new(p);

	return deadlock_rings_new(p, locks);
}

/*
 * Two processes wait for locks of files, each for what the other one has; with a second thread it is not certain.  Of
 * flock(1) the shells have them that wait for these processes.
 */
static void test_file_locks(void)
{
	static const char *const holders[][2] = { { "21", "20" }, { "31 21", "30 20" } };

	for (unsigned c = 0; c < 4; c++) {
		const bool has_more = c % 2, are_shells = c / 2;
		struct profile *p = profile_of(0);
		uint32_t waits[2];

		for (uint32_t i = 0; i < 2; i++) {
			const struct thread t = { .pid = 20 + i, .tid = 20 + i, .comm = profile_string(p, "job"),
						  .process = profile_string(p, "job"), .to_ns = WINDOW_NS,
						  .flags = THREAD_OPEN_AT_END };
			const struct wait w = { .thread = profile_add_thread(p, &t), .state = 'S', .count = 1,
						.kernel = fixture_stack(p, FRAME_KERNEL, STACK_COMPLETE, "locks_lock_inode_wait"),
						.flags = WAIT_OPEN_AT_END, .blocked_ns = LONG_NS, .max_ns = LONG_NS };

			waits[i] = profile_add_wait(p, &w);
			profile_add_limit(p, LIMIT_FILE_LOCK, 20 + i, 0, holders[are_shells][i]);
		}
		if (has_more)
			fixture_thread(p, 21, 99, "job", "job");
		g_autofree uint32_t *rings = rings_of(p);

		for (unsigned i = 0; i < 2; i++)
			g_assert_cmpuint(rings[waits[i]], ==, has_more ? 0 : waits[!i] + 1);
		profile_free(p);
	}
}

/* 1 waits for 2, 2 for 3, 3 for 1; 4 waits for 1 and is in no ring, and 5 for itself. */
static void test_rings(void)
{
	struct profile *p = profile_of(5);
	uint32_t first = add(p, 1, "a", 2, LONG_NS, WAIT_OPEN_AT_END), second = add(p, 2, "b", 3, LONG_NS, WAIT_OPEN_AT_END);
	uint32_t third = add(p, 3, "c", 1, LONG_NS, WAIT_OPEN_AT_END), fourth = add(p, 4, "c", 1, LONG_NS, WAIT_OPEN_AT_END);
	uint32_t fifth = add(p, 5, "d", 5, LONG_NS, WAIT_OPEN_AT_END);
	g_autofree uint32_t *rings = rings_of(p);

	g_assert_cmpuint(rings[first], ==, second + 1);
	g_assert_cmpuint(rings[second], ==, third + 1);
	g_assert_cmpuint(rings[third], ==, first + 1);
	g_assert_cmpuint(rings[fourth], ==, 0);
	g_assert_cmpuint(rings[fifth], ==, fifth + 1);
	profile_free(p);
}

/* A short wait, and one that has ended, may be for a lock that the other has let go. */
static void test_none(void)
{
	struct profile *p = profile_of(4);
	uint32_t waits[] = { add(p, 1, "a", 2, LONG_NS, WAIT_OPEN_AT_END), add(p, 2, "b", 1, LONG_NS, 0),
			     add(p, 3, "c", 4, LONG_NS, WAIT_OPEN_AT_END), add(p, 4, "d", 3, 1000000, WAIT_OPEN_AT_END) };
	g_autofree uint32_t *rings = rings_of(p);

	for (unsigned i = 0; i < G_N_ELEMENTS(waits); i++)
		g_assert_cmpuint(rings[waits[i]], ==, 0);
	profile_free(p);
}

/* 1 begins to wait for 2, and a second later 2 for 1. */
static struct profile *pair_new(uint32_t *ret_first)
{
	struct profile *p = profile_of(3);

	*ret_first = add(p, 1, "a", 2, LONG_NS, WAIT_OPEN_AT_END);
	add(p, 2, "b", 1, LONG_NS - 1000000000, WAIT_OPEN_AT_END);
	return p;
}

static void assert_ring(struct profile *p, uint32_t wait, bool is_one)
{
	g_autofree uint32_t *rings = rings_of(p);

	g_assert_true((rings[wait] != 0) == is_one);
	profile_free(p);
}

/* Meanwhile 2 may have let go, and woken 3 in place of 1: that one has the lock, and lets go of it some time. */
static void test_handed_on(void)
{
	uint32_t first;
	struct profile *p = pair_new(&first);

	assert_ring(p, first, true);
	p = pair_new(&first);
	add(p, 3, "a", 2, 1000, 0);
	assert_ring(p, first, false);
	p = pair_new(&first);	/* it is about to run with the lock */
	add(p, 3, "a", 2, 1000, WAIT_OPEN_AT_END);
	g_array_index(p->waits, struct wait, first + 2).runnable_ns = 1000;
	assert_ring(p, first, false);
	p = pair_new(&first);	/* of another lock */
	add(p, 3, "c", 2, 1000, 0);
	assert_ring(p, first, true);
}

/* The JVM told who has the monitors: a ring of three, however often it woke them; not of waits that are short. */
static void test_monitors(void)
{
	static const char *const holders[] = { "2", "3", "1" };

	for (unsigned is_short = 0; is_short < 2; is_short++) {
		struct profile *p = profile_of(4);
		uint32_t waits[3];

		for (uint32_t i = 0; i < 3; i++) {
			const uint64_t ns = is_short ? WINDOW_NS / 100 : WINDOW_NS;
			const struct wait w = { .thread = i, .state = 'S', .count = 5, .blocked_ns = ns, .max_ns = ns / 5,
						.user = fixture_stack(p, FRAME_USER, STACK_COMPLETE,
								      "Shop.pay@jvm ObjectMonitor::enter(JavaThread*)@libjvm.so") };

			waits[i] = profile_add_wait(p, &w);
			profile_add_limit(p, LIMIT_MONITOR, PID, i + 1, holders[i]);
		}
		profile_add_limit(p, LIMIT_MONITOR, PID, 4, "1");
		g_autofree uint32_t *rings = rings_of(p);

		for (unsigned i = 0; i < 3; i++)
			g_assert_cmpuint(rings[waits[i]], ==, is_short ? 0 : waits[(i + 1) % 3] + 1);
		profile_free(p);
	}
}

/* What would tell it may not be in the recording. */
static void test_not_all(void)
{
	uint32_t first;
	struct profile *p = pair_new(&first);

	p->info.filters = profile_string(p, "process 10, waits from 1ms");
	assert_ring(p, first, false);
	p = pair_new(&first);
	p->info.filters = profile_string(p, "command app");
	assert_ring(p, first, true);
	p = pair_new(&first);
	p->info.sampling.max_ns = 1;
	assert_ring(p, first, false);
	p = pair_new(&first);
	g_array_index(p->threads, struct thread, 2).lost_ns = 1;
	assert_ring(p, first, false);
}

static struct profile *all_along_new(uint32_t *ret_first)
{
	const unsigned flags = WAIT_OPEN_AT_START | WAIT_OPEN_AT_END;
	struct profile *p = profile_of(2);

	*ret_first = add(p, 1, "a", 2, WINDOW_NS, flags);
	add(p, 2, "b", 1, WINDOW_NS, flags);
	return p;
}

/* Of a wait from before a part of a recording, or a window of many, nobody knows whether its holder slept already. */
static void test_part(void)
{
	uint32_t first;
	struct profile *p = all_along_new(&first);

	assert_ring(p, first, true);
	p = all_along_new(&first);
	p->info.range.is_cut = true;
	p->info.range.from_ns = SLICE_DEFAULT_NS;
	assert_ring(p, first, false);
	p = all_along_new(&first);
	slices_free(g_steal_pointer(&p->slices));
	assert_ring(p, first, false);
}

/* Of several windows each may have ended in another wait of the thread's. */
static void test_windows(void)
{
	uint32_t first;
	struct profile *p = pair_new(&first);

	add(p, 1, "c", 0, 1000, WAIT_OPEN_AT_END);
	assert_ring(p, first, false);
	p = pair_new(&first);
	g_array_index(p->threads, struct thread, 1).flags = 0;
	assert_ring(p, first, false);
}

/* One that was woken already, and one with a timeout, by its operation or its function. */
static void test_ends_by_itself(void)
{
	uint32_t first;
	struct profile *p = pair_new(&first);

	g_array_index(p->waits, struct wait, first).runnable_ns = 1;
	assert_ring(p, first, false);
	p = pair_new(&first);
	g_array_index(p->objects, struct object, 0).operation = profile_string(p, "FUTEX_WAIT_BITSET");
	assert_ring(p, first, false);
	p = pair_new(&first);
	g_array_index(p->waits, struct wait, first).user =
		fixture_stack(p, FRAME_USER, STACK_COMPLETE, "work@app ___pthread_mutex_clocklock@libc.so.6");
	assert_ring(p, first, false);
}

/* It is the first finding, whatever else takes longer, and says who holds the lock and what that one waits for. */
static void test_finding(void)
{
	struct profile *p = profile_of(4);
	struct parts parts;

	add(p, 3, "busy", 4, WINDOW_NS, 0);
	add(p, 1, "accounts", 2, LONG_NS, WAIT_OPEN_AT_END);
	add(p, 2, "ledger", 1, LONG_NS - 1, WAIT_OPEN_AT_END);
	struct findings *f = findings_new(p, NULL);
	parts_of(f, 0, &parts);
	g_assert_nonnull(strstr(parts.sentence, "app is deadlocked and waits for a mutex, accounts, in work"));
	g_assert_nonnull(strstr(parts.evidence, "held by app/2, which meanwhile waits for a mutex, ledger, in work"));
	g_assert_nonnull(strstr(parts.advice, "one order"));
	parts_clear(&parts);
	parts_of(f, 2, &parts);
	g_assert_null(strstr(parts.sentence, "deadlocked"));
	parts_clear(&parts);
	findings_free(f);
	profile_free(p);
}

/* Advice for a wait whose lock's holder is not known, that somebody ended; pid 0: nobody did. */
static char *advice_of(uint32_t pid, unsigned flags)
{
	struct profile *p = profile_of(2);
	struct parts parts;
	uint32_t wait = add(p, 1, "accounts", 0, LONG_NS + LONG_NS / 5, flags);

	p->info.has_wakers = true;
	if (pid) {
		const struct waker w = { .pid = pid, .tid = pid, .comm = profile_string(p, "other") };
		const struct wake k = { .wait = wait, .waker = profile_waker(p, &w), .count = 1, .blocked_ns = LONG_NS + LONG_NS / 5 };

		profile_add_wake(p, &k);
	}
	struct findings *f = findings_new(p, NULL);
	parts_of(f, 0, &parts);
	char *advice = g_strdup(parts.advice);
	parts_clear(&parts);
	findings_free(f);
	profile_free(p);
	return advice;
}

/* Who is of another process ends such a wait by a signal: that let go of no lock. */
static void test_never_let_go(void)
{
	g_autofree char *open = advice_of(0, WAIT_OPEN_AT_END), *killed = advice_of(PID + 1, 0), *handed_on = advice_of(PID, 0);

	g_assert_nonnull(strstr(open, "Nobody let go"));
	g_assert_nonnull(strstr(killed, "Nobody let go"));
	g_assert_nonnull(strstr(handed_on, "Hold the lock for less time"));
}

static void test_itself(void)
{
	struct profile *p = profile_of(1);
	struct parts parts;

	add(p, 1, "accounts", 1, LONG_NS, WAIT_OPEN_AT_END);
	struct findings *f = findings_new(p, NULL);
	parts_of(f, 0, &parts);
	g_assert_nonnull(strstr(parts.evidence, "held by app/1, the very thread that waits"));
	g_assert_nonnull(strstr(parts.advice, "do not lock it twice"));
	parts_clear(&parts);
	findings_free(f);
	profile_free(p);
}

/*
 * Each reads from a pipe that the other alone writes to; with a second thread, or a third process, one may go on.  What a process was before is no
 * thread beside it.
 */
static void test_pipes(void)
{
	for (unsigned n = 0; n < 4; n++) {
		struct profile *p = profile_of(0);
		bool is_told = n == 0 || n == 3;
		struct parts parts;

		for (uint32_t i = 0; i < 2; i++) {
			const struct thread t = { .pid = 20 + i, .tid = 20 + i, .comm = profile_string(p, i ? "sort" : "totals"),
						  .process = profile_string(p, i ? "sort" : "totals"), .to_ns = WINDOW_NS,
						  .flags = THREAD_OPEN_AT_END };
			const struct object o = { .kind = OBJECT_PIPE, .pid = 21 - i, .name = n == 2 && i ? "pipe from totals and 1 more" :
						  i ? "pipe from totals" : "pipe from sort" };
			const struct wait w = { .thread = profile_add_thread(p, &t), .state = 'S', .count = 1,
						.object = profile_object(p, &o) + 1, .flags = WAIT_OPEN_AT_END,
						.kernel = fixture_stack(p, FRAME_KERNEL, STACK_COMPLETE, "__x64_sys_read pipe_read"),
						.blocked_ns = LONG_NS, .max_ns = LONG_NS };

			profile_add_wait(p, &w);
		}
		if (n == 1 || n == 3)
			fixture_thread(p, 21, n == 3 ? 21 : 99, "sort", "sort");
		struct findings *f = findings_new(p, NULL);
		parts_of(f, 0, &parts);
		g_assert_cmpint(strstr(parts.advice, "neither goes on") != NULL, ==, is_told);
		g_assert_cmpint(strstr(parts.evidence, "; that is sort/21") || strstr(parts.evidence, "; that is totals/20"), ==, is_told);
		parts_clear(&parts);
		findings_free(f);
		profile_free(p);
	}
}

/* "file 4712 cat": who has the file of the lock open. */
static void test_keeper(void)
{
	const struct profile_limit l = { .text = "file 4712 cat" }, none = { .text = "file" }, mutex = { .text = "mutex" };
	const char *name = NULL;

	g_assert_cmpuint(limit_gone_keeper(&l, &name), ==, 4712);
	g_assert_cmpstr(name, ==, "cat");
	g_assert_true(limit_gone_is_file(&l) && limit_gone_is_file(&none) && !limit_gone_is_file(&mutex));
	g_assert_true(!limit_gone_keeper(&none, NULL) && !limit_gone_keeper(&mutex, NULL));
}

/* What others of the machine share, taken by a thread that is no more: none of the recording can let it go. */
static void test_holder_ended(void)
{
	for (unsigned is_gone = 0; is_gone < 2; is_gone++) {
		struct profile *p = profile_of(1);
		uint32_t wait = add(p, 1, "table_lock", 77, WINDOW_NS, WAIT_OPEN_AT_END);
		struct object o = *profile_wait_object(p, profile_wait(p, wait));

		o.is_private = false;
		o.pid = 0;
		fixture_is_for(p, wait, &o);
		profile_add_limit(p, LIMIT_GONE, PID, is_gone ? 77 : 78, "mutex");
		struct findings *f = findings_new(p, NULL);
		struct parts parts;

		parts_of(f, 0, &parts);
		g_assert_cmpint(g_str_has_suffix(parts.evidence, "; thread 77 took it and has ended"), ==, is_gone);
		g_assert_cmpint(strstr(parts.advice, "Nobody can let it go") != NULL, ==, is_gone);
		parts_clear(&parts);
		findings_free(f);
		profile_free(p);
	}
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/deadlock/pipes", test_pipes);
	g_test_add_func("/deadlock/keeper", test_keeper);
	g_test_add_func("/deadlock/rings", test_rings);
	g_test_add_func("/deadlock/file locks", test_file_locks);
	g_test_add_func("/deadlock/none", test_none);
	g_test_add_func("/deadlock/handed-on", test_handed_on);
	g_test_add_func("/deadlock/monitors", test_monitors);
	g_test_add_func("/deadlock/not-all", test_not_all);
	g_test_add_func("/deadlock/part", test_part);
	g_test_add_func("/deadlock/windows", test_windows);
	g_test_add_func("/deadlock/ends-by-itself", test_ends_by_itself);
	g_test_add_func("/deadlock/finding", test_finding);
	g_test_add_func("/deadlock/itself", test_itself);
	g_test_add_func("/deadlock/holder ended", test_holder_ended);
	g_test_add_func("/deadlock/never-let-go", test_never_let_go);
	return g_test_run();
}
