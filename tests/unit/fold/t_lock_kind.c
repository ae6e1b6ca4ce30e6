/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "fold/objects.h"

#include <linux/futex.h>

#define LIBC "/usr/lib/x86_64-linux-gnu/libc.so.6"
#define MUSL "/lib/ld-musl-x86_64.so.1"
#define APP "/usr/bin/app"

/* "name@module", innermost first; a name of "" is none. */
static uint32_t stack(struct profile *p, const char *const *frames)
{
	uint32_t node = 0;

	for (guint i = g_strv_length((char **)frames); i-- > 0;) {
		g_auto(GStrv) parts = g_strsplit(frames[i], "|", 2);
		struct frame f = { .name = *parts[0] ? parts[0] : NULL, .module = parts[1], .offset = i };

		node = profile_node(p, node, profile_frame(p, &f));
	}
	return node;
}

struct expected {
	const char *frames[6];
	uint32_t op;
	enum lock_kind kind;
};

static const struct expected cases[] = {
	{ { "|" LIBC, "pthread_mutex_lock|" LIBC, "work|" APP }, FUTEX_WAIT_PRIVATE, LOCK_MUTEX },
	{ { "__GI___lll_lock_wait|" LIBC, "___pthread_mutex_lock|" LIBC, "work|" APP }, FUTEX_WAIT_PRIVATE, LOCK_MUTEX },
	{ { "|" LIBC, "pthread_mutex_clocklock|" LIBC, "work|" APP }, FUTEX_WAIT_BITSET_PRIVATE, LOCK_MUTEX },
	/* a condition variable, and its mutex taken again */
	{ { "|" LIBC, "pthread_cond_wait|" LIBC, "work|" APP }, FUTEX_WAIT_BITSET_PRIVATE, LOCK_CONDITION },
	{ { "|" LIBC, "|" LIBC, "pthread_cond_wait|" LIBC, "work|" APP }, FUTEX_WAIT_PRIVATE, LOCK_MUTEX },
	{ { "|" LIBC, "pthread_cond_timedwait|" LIBC, "work|" APP }, FUTEX_LOCK_PI_PRIVATE, LOCK_MUTEX },
	{ { "|" MUSL, "|" MUSL, "pthread_cond_timedwait|" MUSL, "work|" APP }, FUTEX_WAIT_PRIVATE, LOCK_CONDITION },
	{ { "|" MUSL, "pthread_mutex_timedlock|" MUSL, "pthread_cond_timedwait|" MUSL, "work|" APP }, FUTEX_WAIT_PRIVATE, LOCK_MUTEX },
	{ { "pthread_cond_wait|/lib/libpthread-2.28.so", "work|" APP }, FUTEX_WAIT_PRIVATE, LOCK_CONDITION },
	{ { "work|" APP }, FUTEX_WAIT_REQUEUE_PI_PRIVATE, LOCK_CONDITION },
	{ { "|" LIBC, "pthread_rwlock_rdlock|" LIBC, "work|" APP }, FUTEX_WAIT_BITSET_PRIVATE, LOCK_RWLOCK },
	{ { "|" LIBC, "sem_wait|" LIBC, "work|" APP }, FUTEX_WAIT_BITSET_PRIVATE, LOCK_SEMAPHORE },
	{ { "|" LIBC, "__new_sem_wait_slow64.constprop.0|" LIBC, "work|" APP }, FUTEX_WAIT_BITSET_PRIVATE, LOCK_SEMAPHORE },
	{ { "pthread_barrier_wait|" LIBC, "work|" APP }, FUTEX_WAIT_PRIVATE, LOCK_BARRIER },
	{ { "|" LIBC, "__pthread_clockjoin_ex|" LIBC, "work|" APP }, FUTEX_WAIT_BITSET, LOCK_JOIN },
	{ { "pthread_once|" LIBC, "work|" APP }, FUTEX_WAIT_PRIVATE, LOCK_ONCE },
	{ { "__cxa_guard_acquire|/usr/lib/libstdc++.so.6", "work|" APP }, FUTEX_WAIT, LOCK_ONCE },
	/* what libc locks for itself */
	{ { "|" LIBC, "malloc|" LIBC, "work|" APP }, FUTEX_WAIT_PRIVATE, LOCK_LIBC },
	{ { "|" LIBC, "work|" APP }, FUTEX_WAIT_PRIVATE, LOCK_LIBC },
	/* a program's own */
	{ { "work|" APP, "main|" APP, "|" LIBC }, FUTEX_WAIT_PRIVATE, LOCK_FUTEX },
	{ { "syscall|" LIBC, "srw_lock::wait|" APP, "main|" APP, "|" LIBC }, FUTEX_WAIT_PRIVATE, LOCK_FUTEX },
	{ { "my_pthread_mutex_lock|" APP, "main|" APP }, FUTEX_WAIT_PRIVATE, LOCK_FUTEX },
	{ { "sem_wait|" APP, "main|" APP }, FUTEX_WAIT_PRIVATE, LOCK_FUTEX },
	{ { "handler|" APP, "pthread_mutex_lock|" LIBC, "main|" APP }, FUTEX_WAIT_PRIVATE, LOCK_FUTEX },
	/* linked statically */
	{ { "__lll_lock_wait|" APP, "pthread_mutex_lock|" APP, "work|" APP }, FUTEX_WAIT_PRIVATE, LOCK_MUTEX },
	/* Rust */
	{ { "syscall|" LIBC, "std::sys::sync::mutex::futex::Mutex::lock_contended|" APP, "work|" APP }, FUTEX_WAIT_BITSET_PRIVATE,
	  LOCK_MUTEX },
	{ { "syscall|" LIBC, "<std::sys::sync::mutex::futex::Mutex>::lock_contended|" APP, "work|" APP }, FUTEX_WAIT_BITSET_PRIVATE,
	  LOCK_MUTEX },
	{ { "syscall|" LIBC, "std::sys::sync::condvar::futex::Condvar::wait|" APP, "work|" APP }, FUTEX_WAIT_BITSET_PRIVATE,
	  LOCK_CONDITION },
	{ { "syscall|" LIBC, "std::thread::park|" APP }, FUTEX_WAIT_BITSET_PRIVATE, LOCK_PARK },
	/* the kernel's protocol says it, and waitv is several */
	{ { "work|" APP }, FUTEX_LOCK_PI_PRIVATE, LOCK_MUTEX },
	{ { "|" LIBC, "pthread_mutex_lock|" LIBC }, OFFCPU_FUTEX_WAITV | OFFCPU_FUTEX_PRIVATE, LOCK_FUTEX },
	{ { NULL }, FUTEX_WAIT_PRIVATE, LOCK_FUTEX },
};

static void test_kinds(void)
{
	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		struct profile *p = profile_new();
		enum lock_kind kind = lock_kind_of(p, stack(p, cases[i].frames), cases[i].op);

		g_test_message("case %zu: %s", i, cases[i].frames[0] ? cases[i].frames[0] : "no stack");
		g_assert_cmpstr(lock_kind_text(kind), ==, lock_kind_text(cases[i].kind));
		profile_free(p);
	}
}

static void test_operations(void)
{
	g_assert_cmpstr(lock_operation(FUTEX_WAIT_PRIVATE), ==, "FUTEX_WAIT");
	g_assert_cmpstr(lock_operation(FUTEX_WAIT_BITSET | FUTEX_CLOCK_REALTIME), ==, "FUTEX_WAIT_BITSET");
	g_assert_cmpstr(lock_operation(FUTEX_LOCK_PI), ==, "FUTEX_LOCK_PI");
	g_assert_cmpstr(lock_operation(OFFCPU_FUTEX_WAITV | OFFCPU_FUTEX_PRIVATE), ==, "futex_waitv");
}

/* What merely looks like a holder is one only where the frames say so. */
static void test_holders(void)
{
	g_assert_true(lock_holder_is_sure(LOCK_FUTEX, OFFCPU_HOLDER_PI));
	g_assert_true(lock_holder_is_sure(LOCK_MUTEX, OFFCPU_HOLDER_MUTEX));
	g_assert_false(lock_holder_is_sure(LOCK_FUTEX, OFFCPU_HOLDER_MUTEX));
	g_assert_false(lock_holder_is_sure(LOCK_CONDITION, OFFCPU_HOLDER_RWLOCK));
	g_assert_false(lock_holder_is_sure(LOCK_MUTEX, OFFCPU_HOLDER_JOIN));
	g_assert_false(lock_holder_is_sure(LOCK_MUTEX, OFFCPU_HOLDER_NONE));
	g_assert_cmpint(lock_kind_by_holder(LOCK_LIBC, OFFCPU_HOLDER_MUTEX), ==, LOCK_MUTEX);
	g_assert_cmpint(lock_kind_by_holder(LOCK_LIBC, OFFCPU_HOLDER_NONE), ==, LOCK_LIBC);
	g_assert_cmpint(lock_kind_by_holder(LOCK_FUTEX, OFFCPU_HOLDER_MUTEX), ==, LOCK_FUTEX);
	g_assert_cmpint(lock_kind_by_holder(LOCK_LIBC, OFFCPU_HOLDER_SEMAPHORE), ==, LOCK_SEMAPHORE);
	g_assert_cmpint(lock_kind_by_holder(LOCK_FUTEX, OFFCPU_HOLDER_SEMAPHORE), ==, LOCK_FUTEX);
	g_assert_false(lock_holder_is_sure(LOCK_SEMAPHORE, OFFCPU_HOLDER_SEMAPHORE));
}

static void test_words(void)
{
	for (unsigned i = 0; i < OBJECT_KIND_COUNT; i++) {
		uint8_t kind = OBJECT_KIND_COUNT;

		g_assert_true(object_kind_parse(object_kind_text(i), &kind));
		g_assert_cmpint(kind, ==, i);
	}
	uint8_t kind;
	g_assert_false(object_kind_parse("spinlock", &kind));
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/lock-kind/kinds", test_kinds);
	g_test_add_func("/lock-kind/operations", test_operations);
	g_test_add_func("/lock-kind/holders", test_holders);
	g_test_add_func("/lock-kind/words", test_words);
	return g_test_run();
}
