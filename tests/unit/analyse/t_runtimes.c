/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Locks of runtimes whose functions have no names, and the program's function among those of its libraries. */
#include "window.h"

#include "analyse/locks.h"
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

/* The framework's methods have other names by the map than in images that are compiled ahead. */
static void test_mono_framework(void)
{
	struct profile *p = window_new();

	add_wait(p, thread_of(p, 10, "mono", 0), 'S', 20, 450,
		 BEGIN "Reminders:Send@[jit] System.Net.Sockets.Socket:Receive@[jit] ?@mono recvfrom@libc.so.6",
		 "__x64_sys_recvfrom@[kernel] tcp_recvmsg@[kernel] sk_wait_data@[kernel]");
	struct explanation *e = explanation_new(p, NULL);

	headline_with(e, "in Reminders:Send");
	explanation_free(e);
	profile_free(p);
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

static void add_frame(struct profile *p, const char *name, const char *file, uint32_t line)
{
	const struct frame f = { .name = profile_string(p, name), .module = profile_string(p, file),
				 .file = profile_string(p, file), .line = line, .kind = FRAME_USER };

	profile_frame(p, &f);
}

/* Threads of a pool take turns at Ruby's lock in blocks of one function of the program, below a library's. */
static void test_gil_of_library(void)
{
	static const char *const places[] = {
		"<< (writer.rb:48) < << (csv.rb:21) < block (2 levels) in build_csv (app.rb:8) < generate (csv.rb:12)",
		"quote (writer.rb:20) < << (csv.rb:21) < block (2 levels) in build_csv (app.rb:8)",
		"block in build_csv (app.rb:7) < generate (csv.rb:12)",
		"<< (csv.rb:21) < run (server.rb:9)",
	};
	struct profile *p = window_new();

	add_frame(p, "<<", "/usr/lib/ruby/3.1.0/csv/writer.rb", 48);
	add_frame(p, "quote", "/usr/lib/ruby/3.1.0/csv/writer.rb", 20);
	add_frame(p, "<<", "/usr/lib/ruby/3.1.0/csv.rb", 21);
	add_frame(p, "run", "/var/lib/gems/puma/server.rb", 9);
	add_frame(p, "block (2 levels) in build_csv", "/srv/app.rb", 8);
	add_frame(p, "block in build_csv", "/srv/app.rb", 7);
	uint32_t waiter = thread_of(p, 10, "puma srv tp 001", 0);
	for (uint32_t i = 0; i < G_N_ELEMENTS(places); i++) {
		char comm[32];

		g_snprintf(comm, sizeof(comm), "puma srv tp 01%u", i % 2);
		if (i < 2)
			thread_of(p, 20 + i, comm, 1000);
		const struct object gil = { .kind = LOCK_MUTEX, .is_private = true, .operation = "FUTEX_WAIT", .name = GIL_NAME,
					    .place = places[i], .pid = 10, .addr = 4096, .holder_tid = 20 + i % 2 };
		/* the extension of the server's waits longest, but is none of the program's */
		const char *user = i ? "cart@/srv/app.rb rb_io_wait@libruby-3.1.so pthread_cond_wait@libc.so.6" :
				       "?@/usr/lib/ruby/3.1.0/io/wait.so rb_io_wait@libruby-3.1.so pthread_cond_wait@libc.so.6";
		uint32_t wait = add_wait(p, waiter, 'S', 10, 100, user, FUTEX);

		fixture_is_for(p, wait, &gil);
	}
	p->info.has_objects = p->info.has_locks = true;
	struct explanation *e = explanation_new(p, NULL);
	const struct headline *h = headline_with(e, "for the GIL, held by 2 threads like puma srv tp 01");

	g_assert_nonnull(strstr(h->sentence, "build_csv (app.rb:"));
	g_assert_nonnull(strstr(h->sentence, "(75%)"));
	g_assert_nonnull(strstr(h->evidence, "they wait in cart"));
	explanation_free(e);
	profile_free(p);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/runtimes/mono-monitor", test_mono_monitor);
	g_test_add_func("/runtimes/mono-holder", test_mono_holder);
	g_test_add_func("/runtimes/mono-framework", test_mono_framework);
	g_test_add_func("/runtimes/number-of-pool", test_number_of_pool);
	g_test_add_func("/runtimes/gil-of-library", test_gil_of_library);
	return g_test_run();
}
