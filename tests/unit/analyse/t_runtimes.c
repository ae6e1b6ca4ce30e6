/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Locks and pools of runtimes, whose functions may have no names. */
#include "window.h"

#include "analyse/reason/reasons.h"

#define FUTEX "__x64_sys_futex@[kernel] futex_wait@[kernel]"
#define BEGIN "start_thread@libc.so.6 ?@mono System_Threading_ThreadHelper_ThreadStart@mscorlib.dll.so "
#define ENTER BEGIN "?@[anon] ?@mono pthread_cond_wait@libc.so.6"

/* A lock statement by the wrapper of its own; what mscorlib waits by is named, and Sleep() is ended by nobody. */
static void test_mono_monitor(void)
{
	static const struct {
		const char *user;
		bool is_woken;
		bool is_lock;
	} cases[] = {
		{ ENTER, true, true },
		{ ENTER, false, false },
		{ BEGIN "System_Threading_Monitor_Wait_object@mscorlib.dll.so ?@[anon] ?@mono pthread_cond_wait@libc.so.6", true,
		  false },
		{ BEGIN "?@[anon] ?@mono mono_os_event_wait_one@mono pthread_cond_wait@libc.so.6", true, false },
		{ "?@mono ?@[anon] ?@mono pthread_cond_wait@libc.so.6", true, false },
	};

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		struct profile *p = window_new();
		uint32_t waiter = thread_of(p, 10, "mono", 0), other = thread_of(p, 11, "mono", 0);
		uint32_t wait = add_wait(p, waiter, 'S', 20, 100, cases[i].user, FUTEX);
		const struct object o = { .kind = LOCK_CONDITION, .name = "heap 0x10", .place = "[heap]", .operation = "FUTEX_WAIT",
					  .pid = 10, .addr = 16 };

		fixture_is_for(p, wait, &o);
		if (cases[i].is_woken)
			woken_in(p, wait, other, BEGIN "?@[anon] ?@mono", 20, 2000);
		struct reasons *r = reasons_new(p, NULL);

		if ((reasons_of(r, wait) == REASON_LOCK_MUTEX) != cases[i].is_lock)
			g_error("case %zu: %s", i, reason_name(reasons_of(r, wait)));
		reasons_free(r);
		profile_free(p);
	}
}

/* Of threads that share a name those hold it that ended such waits; and how their functions get names is said. */
static void test_mono_holder(void)
{
	for (unsigned has_map = 0; has_map < 2; has_map++) {
		struct profile *p = window_new();
		uint32_t a = thread_of(p, 10, "mono", 0), b = thread_of(p, 11, "mono", 0), apart = thread_of(p, 12, "mono", 0);
		uint32_t wait = add_wait(p, a, 'S', 20, 200, ENTER, FUTEX);

		add_wait(p, b, 'S', 20, 190, BEGIN "?@[anon] fdatasync@libc.so.6",
			 "__x64_sys_fdatasync@[kernel] ext4_sync_file@[kernel]");
		add_wait(p, apart, 'S', 1, 9900, BEGIN "?@[anon] ?@mono accept@libc.so.6",
			 "__x64_sys_accept@[kernel] inet_csk_accept@[kernel]");
		if (has_map)
			add_wait(p, apart, 'S', 1, 10, BEGIN "Shop:Pay@[jit] read@libc.so.6", "__x64_sys_read@[kernel] pipe_read@[kernel]");
		woken_in(p, wait, b, BEGIN "?@[anon] ?@mono", 20, 4000);
		p->info.has_wakers = true;
		struct explanation *e = explanation_new(p, NULL);
		const struct headline *h = headline_with(e, "waits for a monitor (lock)");

		g_assert_nonnull(strstr(h->evidence, "held by mono/11"));
		g_assert_nonnull(strstr(h->evidence, "meanwhile waits for data to be safe on disk"));
		g_assert_nonnull(strstr(h->evidence, has_map ? "the map lags behind" : "`mono --jitmap`"));
		g_assert_nonnull(strstr(h->advice, "Do the I/O outside of the lock"));
		explanation_free(e);
		profile_free(p);
	}
}

/* Each that waits for a pool has a condition of its own, or one of a few: their number is none of the pool's. */
static void test_number_of_pool(void)
{
	struct profile *p = window_new();

	for (uint32_t i = 0; i < 6; i++) {
		const struct object o = { .kind = LOCK_CONDITION, .name = "heap", .place = "[heap]", .operation = "FUTEX_WAIT",
					  .pid = 10, .addr = 0x1000 + i / 2 * 64 };
		uint32_t wait = add_wait(p, thread_of(p, 10 + i, "java", 0), 'S', 20, 300,
					 "Shop.order@[jit] org.apache.commons.pool2.impl.GenericObjectPool.borrowObject@[jit] "
					 "Unsafe_Park@libjvm.so pthread_cond_wait@libc.so.6", FUTEX);

		fixture_is_for(p, wait, &o);
	}
	p->info.has_objects = p->info.has_locks = true;
	struct explanation *e = explanation_new(p, NULL);
	const struct headline *h = headline_with(e, "a connection of a pool");

	g_assert_null(strstr(h->sentence, "one of"));
	explanation_free(e);
	profile_free(p);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/runtimes/mono-monitor", test_mono_monitor);
	g_test_add_func("/runtimes/mono-holder", test_mono_holder);
	g_test_add_func("/runtimes/number-of-pool", test_number_of_pool);
	return g_test_run();
}
