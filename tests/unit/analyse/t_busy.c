/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "features/slices/rows_build.h"
#include "render/text/text.h"
#include "second.h"

#define EPOLL "__x64_sys_epoll_wait@[kernel] ep_poll@[kernel]"
#define FUTEX "__x64_sys_futex@[kernel] futex_wait@[kernel]"
#define LOOP "main@redis-server aeMain@redis-server aeProcessEvents@redis-server"

static const struct finding *busy_of(const struct findings *f)
{
	for (guint i = 0; i < f->rows->len; i++)
		if (g_array_index(f->rows, struct finding, i).busy)
			return &g_array_index(f->rows, struct finding, i);
	return NULL;
}

/* Three turns of 300 ms in one command, whatever function of it was under way. */
static void test_loop(void)
{
	struct profile *p = window_new();
	uint32_t t = runner(p, 10, "redis-server");

	add_wait(p, t, 'S', 3, 30, LOOP " epoll_wait@libc.so.6", EPOLL);
	add_wait(p, t, 'R', 4, 1, LOOP " readQueryFromClient@redis-server call@redis-server evalCommand@redis-server luaV_execute@redis-server", "");
	add_wait(p, t, 'R', 3, 1, LOOP " readQueryFromClient@redis-server call@redis-server evalCommand@redis-server luaH_get@redis-server", "");
	add_wait(p, t, 'R', 1, 1, LOOP " serverCron@redis-server", "");
	struct findings *f = findings_new(p, NULL);
	const struct finding *row = busy_of(f);
	struct parts parts;

	g_assert_nonnull(row);
	g_assert_cmpint(row->busy, ==, BUSY_LOOP);
	g_assert_cmpstr(row->busy_rule->name, ==, "Redis");
	g_assert_cmpuint(row->time_ns, ==, 910 * MS);
	g_assert_cmpuint(row->on_cpu_ns, ==, 902 * MS);
	g_assert_cmpuint(row->looks_cnt, ==, 8);
	g_assert_cmpuint(row->in_frame_cnt, ==, 7);
	g_assert_cmpstr(profile_get_frame(p, (uint32_t)row->frame)->name, ==, "evalCommand");
	g_assert_true(row == &g_array_index(f->rows, struct finding, 0));
	parts_of(f, 0, &parts);
	g_assert_cmpstr(parts.sentence, ==,
			"redis-server's event loop (Redis): each turn takes 303 ms, mostly in evalCommand");
	g_assert_cmpstr(parts.evidence, ==,
			"1 thread, on CPU for 902 ms, waited for events 3 times; 88% of 8 preemptions were there");
	parts_clear(&parts);
	findings_free(f);
	profile_free(p);
}

/* A third of its turns and more it waits for a CPU: that comes before what a turn does. */
static void test_loop_that_queues(void)
{
	for (int queues = 0; queues < 2; queues++) {
		struct profile *p = window_new();
		uint32_t t = runner(p, 10, "redis-server");

		add_wait(p, t, 'S', 3, 30, LOOP " epoll_wait@libc.so.6", EPOLL);
		add_wait(p, t, 'R', 4, queues ? 100 : 1, LOOP " readQueryFromClient@redis-server call@redis-server", "");
		struct findings *f = findings_new(p, NULL);
		struct parts parts;

		g_assert_cmpint(g_array_index(f->rows, struct finding, 0).busy, ==, BUSY_LOOP);
		parts_of(f, 0, &parts);
		g_assert_cmpint(g_str_has_prefix(parts.advice, "It waits for a CPU for much of that time"), ==, queues);
		parts_clear(&parts);
		findings_free(f);
		profile_free(p);
	}
}

#define SYNC " cuStreamSynchronize@libcuda.so.1 ?@libcuda.so.1"

/* Samples, or preemptions, of which some are in such a stack; NULL: nothing is told. */
static char *spin_of(const char *process, const char *user, uint64_t spins_cnt, uint64_t looks_cnt, char state)
{
	struct profile *p = window_new();
	uint32_t t = runner(p, 10, process);
	char *told = NULL;

	if (looks_cnt > spins_cnt)
		add_wait(p, t, state, looks_cnt - spins_cnt, 1, "main@infer tokenize@infer", "");
	add_wait(p, t, state, spins_cnt, 1, user, "");
	EACH_ROW(i, struct wait, w, p->waits) {
		if (state != ON_CPU_STATE)
			continue;
		w->on_cpu_ns = w->blocked_ns;
		w->blocked_ns = w->max_ns = 0;
	}
	if (state == ON_CPU_STATE)
		g_array_index(p->threads, struct thread, t).on_cpu_ns += looks_cnt * MS;
	struct findings *f = findings_new(p, NULL);
	const struct finding *row = busy_of(f);

	if (row) {
		struct parts parts;

		g_assert_cmpint(row->busy, ==, BUSY_SPIN);
		parts_of(f, (guint)(row - &g_array_index(f->rows, struct finding, 0)), &parts);
		told = g_strdup_printf("%s; %s", parts.sentence, parts.evidence);
		parts_clear(&parts);
	}
	findings_free(f);
	profile_free(p);
	return told;
}

/* Who computes between short waits has nothing to gain; PoCL computes in the thread that waits; few preemptions tell nothing. */
static void test_spin(void)
{
	static const struct {
		const char *user;
		uint64_t spins_cnt, looks_cnt;
		char state;
		const char *told;
	} cases[] = {
		{ "main@infer predict@infer" SYNC, 90, 100, ON_CPU_STATE,
		  "infer waits busily for the GPU (CUDA) in predict; 1 thread, on CPU for 1.00 s; 90% of its samples were there" },
		{ "main@infer predict@infer" SYNC, 9, 12, 'R',
		  "infer waits busily for the GPU (CUDA) in predict; 1 thread, on CPU for 988 ms, waited for a CPU for 12.0 ms; "
		  "75% of 12 preemptions were there" },
		{ "main@infer predict@infer" SYNC, 9, 9, 'R', NULL },
		{ "main@infer predict@infer" SYNC, 15, 100, ON_CPU_STATE, NULL },
		{ "main@infer predict@infer cuStreamSynchronize@libcuda.so.1 cuModuleLoadData@libcuda.so.1", 90, 100, ON_CPU_STATE, NULL },
		{ "main@infer launch@infer cuLaunchKernel@libcuda.so.1", 90, 100, ON_CPU_STATE, NULL },
		{ "main@md torch::step()@md hipDeviceSynchronize@libamdhip64.so.5 ?@libhsa-runtime64.so.1", 90, 100, ON_CPU_STATE,
		  "infer waits busily for the GPU (ROCm) in torch::step; 1 thread, on CPU for 1.00 s; 90% of its samples were there" },
		{ "main@x frame@x zeFenceHostSynchronize@libze_loader.so.1 ?@libze_intel_gpu.so.1", 90, 100, ON_CPU_STATE,
		  "infer waits busily for the GPU in frame; 1 thread, on CPU for 1.00 s; 90% of its samples were there" },
		{ "main@x frame@x sycl::_V1::queue::wait_proxy@libsycl.so.8 ?@libur_adapter_level_zero.so.0 ?@libze_intel_gpu.so.1", 90, 100,
		  ON_CPU_STATE, "infer waits busily for the GPU in frame; 1 thread, on CPU for 1.00 s; 90% of its samples were there" },
		{ "main@x frame@x clFinish@libOpenCL.so.1 ?@libigdrcl.so", 90, 100, ON_CPU_STATE,
		  "infer waits busily for the GPU in frame; 1 thread, on CPU for 1.00 s; 90% of its samples were there" },
		{ "main@x frame@x clFinish@libOpenCL.so.1 ?@libpocl.so.2.9", 90, 100, ON_CPU_STATE, NULL },
		{ "main@x frame@x vkWaitForFences@libvulkan.so.1 ?@libvulkan_lvp.so", 90, 100, ON_CPU_STATE, NULL },
	};

	for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autofree char *told = spin_of("infer", cases[i].user, cases[i].spins_cnt, cases[i].looks_cnt, cases[i].state);

		g_assert_cmpstr(told, ==, cases[i].told);
	}
}

/* Short turns are no trouble while there is time left, and one that mostly rests is none. */
static void test_loop_with_time(void)
{
	static const struct {
		uint64_t count, each_ms;
		bool is_busy;
	} cases[] = { { 200, 2, false }, { 1, 700, false }, { 4, 100, true }, { 20, 2, true } };

	for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
		struct profile *p = window_new();

		add_wait(p, runner(p, 10, "proxy"), 'S', cases[i].count, cases[i].each_ms,
			 "main@proxy loop@proxy epoll_wait@libc.so.6", EPOLL);
		struct findings *f = findings_new(p, NULL);

		g_assert_true((busy_of(f) != NULL) == cases[i].is_busy);
		findings_free(f);
		profile_free(p);
	}
}

/* Who computes and once waits for something else than events has no loop; threads of Go take turns at theirs. */
static void test_no_loop(void)
{
	static const struct {
		const char *user, *kernel;
	} cases[] = {
		{ "main@cc1 poll@libc.so.6", "__x64_sys_poll@[kernel] do_sys_poll@[kernel]" },
		{ "runtime.schedule@shop runtime.findRunnable@shop runtime.netpoll@shop", EPOLL },
		{ "start_thread@libc.so.6 erts_schedule@beam.smp ?@beam.smp epoll_wait@libc.so.6", EPOLL },
	};

	for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
		struct profile *p = window_new();

		add_wait(p, runner(p, 10, "cc1"), 'S', 1, 10, cases[i].user, cases[i].kernel);
		struct findings *f = findings_new(p, NULL);

		g_assert_null(busy_of(f));
		findings_free(f);
		profile_free(p);
	}
}

#define WORKER "start_thread@libc.so.6 worker@/usr/bin/node"

static void test_pool(void)
{
	for (unsigned idle = 0; idle < 2; idle++) {
		struct profile *p = window_new();

		for (uint32_t i = 0; i < 4; i++)
			add_wait(p, runner(p, 11 + i, "node"), 'R', 5, 100,
				 WORKER " node::ThreadPoolWork::ScheduleWork@/usr/bin/node PBKDF2@/usr/bin/node", "");
		if (idle)
			add_wait(p, 3, 'S', 1, 400, WORKER " uv_cond_wait@/usr/bin/node pthread_cond_wait@libc.so.6", FUTEX);
		struct findings *f = findings_new(p, NULL);
		const struct finding *row = busy_of(f);

		g_assert_true((row != NULL) == !idle);
		if (row) {
			g_assert_cmpint(row->busy, ==, BUSY_POOL);
			g_assert_cmpuint(row->threads_cnt, ==, 4);
			g_assert_cmpuint(row->time_ns, ==, 4 * WINDOW_MS * MS);
			g_assert_cmpuint(row->queue_ns, ==, 2000 * MS);
			g_assert_cmpstr(profile_get_frame(p, (uint32_t)row->frame)->name, ==, "PBKDF2");
		}
		findings_free(f);
		profile_free(p);
	}
}

/*
 * None of its threads' functions is the program's, so what they wait for is told, if that is most of their time.  Where
 * nobody ends that more threads would wait, too.
 */
static void test_pool_that_waits(void)
{
	for (unsigned i = 0; i < 4; i++) {
		const bool mostly = i, is_unended = i == 3;
		struct profile *p = window_new();

		for (uint32_t k = 0; k < 4; k++) {
			add_wait(p, runner(p, 11 + k, "node"), 'D', 1, WINDOW_MS / 10 * (mostly ? 9 : 4),
				 WORKER " uv__fs_work@/usr/bin/node read@libc.so.6",
				 "__x64_sys_read@[kernel] fuse_simple_request@[kernel] request_wait_answer@[kernel]");
			g_array_index(p->waits, struct wait, k).flags = is_unended ? WAIT_OPEN_AT_END : 0;
		}
		struct findings *f = findings_new(p, NULL);
		guint at = (guint)(busy_of(f) - &g_array_index(f->rows, struct finding, 0));
		struct parts parts;

		parts_of(f, at, &parts);
		g_test_message("%s", parts.sentence);
		g_assert_cmpint(strstr(parts.sentence, "threads are busy, and mostly wait for the process that serves") != NULL, ==,
				mostly);
		g_assert_cmpint(g_str_has_prefix(sentence_advice(f, busy_of(f)), "None of these ended"), ==, is_unended);
		parts_clear(&parts);
		findings_free(f);
		profile_free(p);
	}
}

/* What held threads up from outside is told with what they waited for. */
static void test_limits(void)
{
	struct profile *p = window_new();

	for (uint32_t i = 0; i < 4; i++) {
		add_wait(p, runner(p, 10 + i, "sum"), 'R', 7, 100, "main@sum add@sum", "");
		profile_add_limit(p, LIMIT_CPUS, 10, 10 + i, "1");
	}
	assert_told(p, "evidence", "; 4 of its threads may use only CPU 1");
	assert_advice(p, "They may not use the other CPUs");
	for (uint32_t i = 0; i < 4; i++)	/* then it is somebody else who holds that CPU */
		g_array_index(p->threads, struct thread, i).on_cpu_ns = 20 * MS;
	assert_advice(p, "They ran little there, so others hold these CPUs");
	const uint32_t other = runner(p, 20, "compact");

	g_array_index(p->threads, struct thread, other).on_cpu_ns = 9000 * MS;
	p->info.filters = "";
	assert_told(p, "evidence", "may use only CPU 1; meanwhile compact/20 ran most of all, for 9.00 s");
	profile_add_limit(p, LIMIT_CPUS, 10, 20, "1");
	assert_told(p, "evidence", "; compact/20 may use only the same, too, and ran for 9.00 s");
	assert_advice(p, "Let these threads, or those that ran there, use other CPUs");
	profile_add_limit(p, LIMIT_REALTIME, 10, 20, "SCHED_FIFO 50");
	assert_told(p, "evidence", "; compact/20 (SCHED_FIFO 50) may use only the same, too");
	assert_advice(p, "A real-time thread comes before all others");
	p->info.filters = profile_string(p, "process 10");	/* who else ran is not known */
	assert_advice(p, "They ran little there, so others hold these CPUs");
	profile_free(p);
	p = window_new();
	add_wait(p, runner(p, 10, "search"), 'R', 9, 100, "main@search rank@search", "");
	profile_add_limit(p, LIMIT_WEIGHT, 10, 0, "cpu.shares 2, and others beside it up to 4096");
	g_array_index(p->threads, struct thread, 0).on_cpu_ns = 20 * MS;
	assert_told(p, "evidence", "; its control group has cpu.shares 2, and others beside it up to 4096");
	assert_advice(p, "Groups share busy CPUs by their weights");
	g_array_index(p->threads, struct thread, 0).on_cpu_ns = 2000 * MS;	/* it got what it needs */
	assert_advice(p, "See who held the CPUs");
	profile_free(p);
	p = window_new();
	add_wait(p, runner(p, 10, "load"), 'D', 9, 100, "main@load load_page@load read@libc.so.6",
		 "__x64_sys_read@[kernel] filemap_read@[kernel] io_schedule@[kernel]");
	profile_add_limit(p, LIMIT_DISK, 11, 0, "reads of vdb at 9 a second (io.max)");
	profile_add_limit(p, LIMIT_DISK, 10, 0, "reads of vda at 1.00 MiB/s (io.max)");
	assert_told(p, "evidence", "; its control group allows reads of vda at 1.00 MiB/s (io.max)");
	profile_free(p);
	p = window_new();	/* two threads in two functions: one finding */
	add_wait(p, runner(p, 10, "pay"), 'S', 9, 100, "main@pay charge@pay nanosleep@libc.so.6", "get_signal@[kernel]");
	add_wait(p, runner(p, 11, "pay"), 'T', 9, 100, "main@pay nap@pay nanosleep@libc.so.6", "do_nanosleep@[kernel]");
	profile_add_limit(p, LIMIT_FROZEN, 10, 0, "/docker/pay");
	assert_told(p, "sentence", "pay is frozen by its control group, /docker/pay");
	assert_told(p, "evidence", "2 threads, 18 waits");
	profile_free(p);
	p = window_new();
	add_wait(p, runner(p, 11, "audiod"), 'R', 9, 100, "main@audiod mix@audiod", "");
	g_array_index(p->waits, struct wait, 0).flags = WAIT_THROTTLED;
	profile_add_limit(p, LIMIT_QUOTA, 10, 0, "0.20 CPUs (cpu.max)");	/* which is not for real-time threads */
	profile_add_limit(p, LIMIT_POLICY, 10, 11, "SCHED_DEADLINE: 3 ms of each 30 ms");
	assert_told(p, "sentence", "audiod is throttled by its own policy, SCHED_DEADLINE: 3 ms of each 30 ms");
	profile_free(p);
}

/* Connections that nobody accepts are told with what busy workers wait for, once; of workers that rest nothing is. */
static void test_backlog(void)
{
	static const struct {
		const char *looks, *told;	/* NULL: nothing */
		uint64_t waits_ms;
	} cases[] = {
		{ "", "; as the recording ended 13", WINDOW_MS - 50 },
		{ "", NULL, WINDOW_MS / 4 },
		{ "6 of 10 looks: ", NULL, WINDOW_MS / 4 },
		{ "3 of 10 looks: ", "; in 3 of 10 looks up to 13", WINDOW_MS / 4 },	/* as long as connections waited */
	};

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autofree char *text = g_strconcat(cases[i].looks, "13 connections wait at /run/sh\x1bop.sock", NULL);
		g_autofree char *told = g_strconcat(cases[i].told ? cases[i].told : "",
						    " connections at /run/sh\\x1bop.sock waited to be accepted", NULL);
		struct profile *p = window_new();

		for (uint32_t tid = 10; tid < 12; tid++)
			add_wait(p, runner(p, tid, "shop"), 'S', 1, cases[i].waits_ms,
				 "main@shop price_of@shop recv@libc.so.6", "__x64_sys_recvfrom@[kernel] tcp_recvmsg@[kernel]");
		if (!*cases[i].looks)
			add_wait(p, runner(p, 12, "shop"), 'S', 1, WINDOW_MS - 50, "main@shop reap@shop wait4@libc.so.6",
				 "__x64_sys_wait4@[kernel] do_wait@[kernel]");
		profile_add_limit(p, LIMIT_BACKLOG, 10, 0, text);
		struct findings *f = findings_new(p, NULL);

		for (guint r = 0; r < f->rows->len; r++) {
			const struct finding *row = &g_array_index(f->rows, struct finding, r);
			bool is_told = row->reason == REASON_NETWORK_RECEIVE && cases[i].told;

			g_assert_true(row->reason == REASON_CHILD_EXIT || !row->backlog == !is_told);
		}
		findings_free(f);
		if (cases[i].told)
			assert_told(p, "evidence", told);
		profile_free(p);
	}
}

static void test_stopped_peer(void)
{
	struct profile *p = window_new();
	const struct object object = { .kind = OBJECT_SOCKET, .operation = "", .name = "unix socket (helper)", .place = "unix", .pid = 20 };

	add_wait(p, runner(p, 10, "app"), 'S', 1, 900, "main@app ask@app recv@libc.so.6",
		 "__x64_sys_recvfrom@[kernel] unix_stream_recvmsg@[kernel]");
	fixture_is_for(p, 0, &object);
	profile_add_limit(p, LIMIT_STOPPED, 20, 0, "hel\033per");
	struct findings *f = findings_new(p, NULL);
	struct parts parts;

	parts_of(f, 0, &parts);
	g_assert_null(strstr(parts.sentence, "stopped"));	/* it was woken: that was not what it waited for */
	parts_clear(&parts);
	findings_free(f);
	g_array_index(p->waits, struct wait, 0).flags = WAIT_OPEN_AT_END;
	assert_told(p, "sentence", ", while hel\\x1bper/20 is stopped");
	profile_free(p);
}

/* A lock in shared memory whose holder, a thread of another process, is stopped. */
static void test_stopped_holder(void)
{
	struct profile *p = window_new();
	const struct object object = { .kind = LOCK_MUTEX, .operation = "", .name = "/dev/shm/t+0x0", .place = "/dev/shm/t", .holder_tid = 21 };

	add_wait(p, runner(p, 10, "app"), 'S', 1, 900, "main@app look@app pthread_mutex_lock@libc.so.6",
		 "__x64_sys_futex@[kernel] futex_wait@[kernel]");
	fixture_is_for(p, 0, &object);
	g_array_index(p->waits, struct wait, 0).flags = WAIT_OPEN_AT_END;
	profile_add_limit(p, LIMIT_STOPPED, 21, 20, "reaper");
	assert_told(p, "sentence", ", while reaper/20, which has it, is stopped");
	struct findings *f = findings_new(p, NULL);

	g_assert_nonnull(strstr(sentence_advice(f, &g_array_index(f->rows, struct finding, 0)), "kill -CONT"));
	findings_free(f);
	profile_free(p);
}

static char *screen_of(const struct profile *p)
{
	const struct text_options options = { 0 };
	const struct first_options first = { 0 };
	GString *s = g_string_new(NULL);
	unsigned lines = 0;

	text_first(s, p, NULL, NULL, &options, &first);
	for (const char *c = s->str; *c; c++)
		lines += *c == '\n';
	g_assert_cmpuint(lines, <=, FIRST_LINES);
	return g_string_free(s, FALSE);
}

/* Three reads come before the run queue, which counts a quarter, and fill the screen: it has the largest share. */
static void test_hidden_queue(void)
{
	static const char *const functions[] = { "load_index", "load_rows", "load_blobs" };

	for (unsigned is_most = 0; is_most < 2; is_most++) {
		struct profile *p = window_new();

		for (unsigned i = 0; i < G_N_ELEMENTS(functions); i++) {
			g_autofree char *stack = g_strdup_printf("main@app %s@app read@libc.so.6", functions[i]);

			add_wait(p, runner(p, 10 + i, "app"), 'D', 9, 40 - i, stack,
				 "__x64_sys_read@[kernel] filemap_read@[kernel] io_schedule@[kernel]");
		}
		for (unsigned i = 0; i < 2; i++)
			add_wait(p, runner(p, 20 + i, "app"), 'R', 10, is_most ? 50 : 12, "main@app sum@app", "");
		g_autofree char *screen = screen_of(p);
		g_assert_nonnull(strstr(screen, "\n1. "));
		g_assert_true(!strstr(screen, "Also: 49% of the time that matters: app waits for a CPU") == !is_most);
		g_assert_null(strstr(screen, "Little to find"));
		profile_free(p);
	}
}

/* Where little is found, nothing is ordered. */
static void test_little(void)
{
	struct profile *p = window_new();

	add_wait(p, runner(p, 10, "app"), 'D', 9, 1, "main@app load@app read@libc.so.6",
		 "__x64_sys_read@[kernel] filemap_read@[kernel] io_schedule@[kernel]");
	g_autofree char *screen = screen_of(p);
	g_assert_nonnull(strstr(screen, "\nLittle to find: app computes: 99% of its workers' time is on CPU;"));
	g_assert_null(strstr(screen, "\n1. "));
	profile_free(p);
}

#define COMMAND_MS 6000
#define SLICE_MS 100

/* A process of a command, which computes for as long as it lives. */
struct part {
	uint32_t from_ms, to_ms;
	bool is_reader;		/* it waits all the time for what the one before it writes */
};

static uint32_t add_process(struct profile *p, uint32_t pid, const char *comm, uint64_t from_ms, uint64_t to_ms)
{
	uint32_t thread = fixture_thread(p, pid, pid, comm, comm);
	struct thread *t = &g_array_index(p->threads, struct thread, thread);

	t->flags = THREAD_EXITED;
	t->from_ns = from_ms * MS;
	t->to_ns = to_ms * MS;
	t->on_cpu_ns = t->to_ns - t->from_ns;
	return thread;
}

/* One wait through the thread's life, which the other one ends. */
static void wait_for(struct profile *p, uint32_t thread, uint32_t other, const char *kernel, struct slice_builder *b,
		     GArray *codes)
{
	const struct thread *t = profile_thread(p, thread), *by = profile_thread(p, other);
	const uint64_t ns = by->to_ns - t->from_ns;
	const struct waker waker = { .pid = by->pid, .tid = by->tid, .comm = by->comm };
	struct slice_cell cell = { .row = codes->len, .count_q8 = SLICE_COUNT_Q8, .blocked_ns = ns, .max_ns = ns };

	add_wait(p, thread, 'S', 1, ns / MS, "main@sh", kernel);
	const struct wake wake = { .wait = p->waits->len - 1, .waker = profile_waker(p, &waker), .count = 1, .blocked_ns = ns };
	const uint32_t code = slice_code_of_wait(wake.wait);
	profile_add_wake(p, &wake);
	g_array_append_val(codes, code);
	slice_hist_add(&cell.bars, profile_hist_slot(ns), SLICE_COUNT_Q8);
	slice_builder_add_wait(b, t->from_ns, &cell);
}

/* make, whose children these are, and what its first screen says of one of them; NULL: nothing. */
static char *told_of(const struct part *parts, unsigned cnt, const char *filters)
{
	struct profile *p = window_new();
	struct slice_builder *b = slice_builder_new(SLICE_MS * MS);
	g_autoptr(GArray) codes = g_array_new(FALSE, FALSE, sizeof(uint32_t));
	uint32_t make, last = 0, longest = 0;
	char *told = NULL;

	p->info.filters = profile_string(p, filters);
	p->info.duration_ns = COMMAND_MS * MS;
	make = add_process(p, 10, "make", 0, COMMAND_MS);
	for (unsigned i = 0; i < cnt; i++) {
		uint32_t child = add_process(p, 11 + i, "cc1", parts[i].from_ms, parts[i].to_ms);
		if (parts[i].is_reader)
			wait_for(p, child, last, "__x64_sys_read@[kernel] pipe_read@[kernel]", b, codes);
		longest = parts[i].to_ms * MS > (longest ? profile_thread(p, longest)->to_ns : 0) ? child : longest;
		last = child;
	}
	wait_for(p, make, longest, "__x64_sys_wait4@[kernel] do_wait@[kernel]", b, codes);
	for (uint32_t i = make + 1; i < p->threads->len; i++) {
		const struct thread *t = profile_thread(p, i);
		const struct waker waker = { .pid = t->pid, .tid = t->tid, .comm = t->comm };
		const struct wake wake = { .wait = p->waits->len - 1, .count = 1, .waker = profile_waker(p, &waker) };

		profile_add_wake(p, &wake);
	}
	p->slices = slice_builder_finish(b, p, (const uint32_t *)(void *)codes->data);
	slice_builder_free(b);
	struct findings *f = findings_new(p, NULL);
	const struct finding *row = busy_of(f);

	if (row) {
		GString *s = g_string_new(NULL);

		g_assert_cmpint(row->busy, ==, BUSY_ALONE);
		g_assert_true(row == &g_array_index(f->rows, struct finding, 0));
		sentence_finding(s, f, row);
		g_string_append(s, "; ");
		sentence_evidence(s, f, row);
		told = g_string_free(s, FALSE);
	}
	findings_free(f);
	profile_free(p);
	return told;
}

static void assert_alone(const struct part *parts, unsigned cnt, const char *filters, const char *text)
{
	g_autofree char *told = told_of(parts, cnt, filters);

	g_assert_cmpstr(told, ==, text);
}

/* For a quarter of the command's time and more only one of its processes works. */
static void test_alone(void)
{
	static const struct part straggler[] = { { 0, 1000, 0 }, { 0, 5500, 0 }, { 0, 1500, 0 } };
	static const struct part serial[] = { { 0, 4000, 0 }, { 4100, 5000, 0 }, { 4100, 5000, 0 }, { 4100, 5500, 0 } };
	static const struct part healthy[] = { { 0, 5000, 0 }, { 0, 4500, 0 }, { 0, 5500, 0 } };
	static const struct part one_by_one[] = { { 0, 4000, 0 }, { 4000, 5000, 0 }, { 5000, 5500, 0 } };
	static const struct part pipeline[] = { { 0, 5400, 0 }, { 0, 5500, 1 } };

	assert_alone(straggler, 3, "command make",
		     "make waits for one process alone for 4.00 s of 6.00 s, a straggler: cc1/12, which mostly computes; "
		     "the other 2 that worked beside it had ended; that one ran for 5.50 s");
	assert_alone(serial, 4, "command make",
		     "make waits for one process alone for 4.00 s of 6.00 s, a serial step: cc1/11, which mostly computes; "
		     "at other times up to 3 children of make work at once; that one ran for 4.00 s");
	assert_alone(straggler, 3, "pid 10", NULL);
	assert_alone(healthy, 3, "command make", NULL);
	assert_alone(one_by_one, 3, "command make", NULL);
	assert_alone(pipeline, 2, "command make", NULL);
}

/* Threads that main waits for in measure(), each of which asks a peer for 90 ms; is_apart: one after the other. */
static void assert_one_by_one(bool is_apart, bool is_told)
{
	struct profile *p = window_new();
	uint32_t first = runner(p, 10, "lathe");

	add_wait(p, first, 'S', 10, 90, "main@lathe measure@lathe pthread_join@libc.so.6", FUTEX);
	for (uint32_t i = 0; i < 10; i++) {
		uint32_t thread = fixture_thread(p, 10, 20 + i, "lathe", "lathe");
		struct thread *t = &g_array_index(p->threads, struct thread, thread);
		const struct waker waker = { .pid = 10, .tid = 20 + i, .comm = t->comm };
		const struct wake wake = { .wait = 0, .waker = profile_waker(p, &waker), .count = 1, .blocked_ns = 90 * MS };

		t->from_ns = (is_apart ? i * 100 : 10) * MS;
		t->to_ns = t->from_ns + 100 * MS;
		t->on_cpu_ns = 100 * MS;
		t->flags = THREAD_EXITED;
		add_wait(p, thread, 'S', 1, 90, "start_thread@libc.so.6 ask@lathe read@libc.so.6", "__x64_sys_read@[kernel] pipe_read@[kernel]");
		profile_add_wake(p, &wake);
	}
	struct findings *f = findings_new(p, NULL);
	g_autoptr(GString) s = g_string_new(NULL);

	sentence_evidence(s, f, &g_array_index(f->rows, struct finding, 0));
	g_assert_true((strstr(s->str, "; no two of these 10 threads live at once: lathe/10 waits for each in measure") != NULL) == is_told);
	findings_free(f);
	profile_free(p);
}

static void test_one_by_one(void)
{
	assert_one_by_one(true, true);
	assert_one_by_one(false, false);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/busy/loop", test_loop);
	g_test_add_func("/busy/loop that queues", test_loop_that_queues);
	g_test_add_func("/busy/loop with time", test_loop_with_time);
	g_test_add_func("/busy/spin", test_spin);
	g_test_add_func("/busy/no loop", test_no_loop);
	g_test_add_func("/busy/pool", test_pool);
	g_test_add_func("/busy/pool that waits", test_pool_that_waits);
	g_test_add_func("/busy/limits", test_limits);
	g_test_add_func("/busy/stopped peer", test_stopped_peer);
	g_test_add_func("/busy/stopped holder", test_stopped_holder);
	g_test_add_func("/busy/backlog", test_backlog);
	g_test_add_func("/busy/hidden queue", test_hidden_queue);
	g_test_add_func("/busy/little", test_little);
	g_test_add_func("/busy/alone", test_alone);
	g_test_add_func("/busy/one by one", test_one_by_one);
	return g_test_run();
}
