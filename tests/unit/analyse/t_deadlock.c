/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "analyse/deadlock.h"

#include "analyse/findings.h"
#include "render/text/finding.h"

#include "../fixture.h"

#define PID 10
#define WINDOW_NS 5000000000ULL
#define LONG_NS 4000000000ULL

static struct profile *profile_of(unsigned threads)
{
	struct profile *p = profile_new();

	p->info.duration_ns = WINDOW_NS;
	for (unsigned i = 1; i <= threads; i++) {
		const struct thread t = { .pid = PID, .tid = i, .comm = profile_string(p, "app"),
					  .process = profile_string(p, "app"), .to_ns = WINDOW_NS };
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

/* 1 waits for 2, 2 for 3, 3 for 1; 4 waits for 1 and is in no ring, and 5 for itself. */
static void test_rings(void)
{
	struct profile *p = profile_of(5);
	uint32_t first = add(p, 1, "a", 2, LONG_NS, WAIT_OPEN_AT_END), second = add(p, 2, "b", 3, LONG_NS, WAIT_OPEN_AT_END);
	uint32_t third = add(p, 3, "c", 1, LONG_NS, WAIT_OPEN_AT_END), fourth = add(p, 4, "c", 1, LONG_NS, WAIT_OPEN_AT_END);
	uint32_t fifth = add(p, 5, "d", 5, LONG_NS, WAIT_OPEN_AT_END);
	g_autofree uint32_t *rings = deadlock_rings_new(p);

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
	g_autofree uint32_t *rings = deadlock_rings_new(p);

	for (unsigned i = 0; i < G_N_ELEMENTS(waits); i++)
		g_assert_cmpuint(rings[waits[i]], ==, 0);
	profile_free(p);
}

/* It is the first finding, whatever else takes longer, and says who holds the lock and what that one waits for. */
static void test_finding(void)
{
	struct profile *p = profile_of(4);
	struct text_finding_parts parts;

	add(p, 3, "busy", 4, WINDOW_NS, 0);
	add(p, 1, "accounts", 2, LONG_NS, WAIT_OPEN_AT_END);
	add(p, 2, "ledger", 1, LONG_NS - 1, WAIT_OPEN_AT_END);
	struct findings *f = findings_new(p, NULL);
	text_finding_parts(f, 0, &parts);
	g_assert_nonnull(strstr(parts.sentence, "app is deadlocked and waits for a mutex, accounts, in work"));
	g_assert_nonnull(strstr(parts.evidence, "held by app/2, which meanwhile waits for a mutex, ledger, in work"));
	g_assert_nonnull(strstr(parts.advice, "one order"));
	text_finding_parts_clear(&parts);
	text_finding_parts(f, 2, &parts);
	g_assert_null(strstr(parts.sentence, "deadlocked"));
	text_finding_parts_clear(&parts);
	findings_free(f);
	profile_free(p);
}

static void test_itself(void)
{
	struct profile *p = profile_of(1);
	struct text_finding_parts parts;

	add(p, 1, "accounts", 1, LONG_NS, WAIT_OPEN_AT_END);
	struct findings *f = findings_new(p, NULL);
	text_finding_parts(f, 0, &parts);
	g_assert_nonnull(strstr(parts.evidence, "held by app/1, the very thread that waits"));
	g_assert_nonnull(strstr(parts.advice, "do not lock it twice"));
	text_finding_parts_clear(&parts);
	findings_free(f);
	profile_free(p);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/deadlock/rings", test_rings);
	g_test_add_func("/deadlock/none", test_none);
	g_test_add_func("/deadlock/finding", test_finding);
	g_test_add_func("/deadlock/itself", test_itself);
	return g_test_run();
}
