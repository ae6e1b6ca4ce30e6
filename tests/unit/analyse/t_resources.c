/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <string.h>

#include "maker.h"
#include "explain/explain.h"
#include "profile/limits.h"
#include "features/slices/rows_build.h"

/* What holds threads up is a limit or their own number, and not what that shows as first. */

#define FAULT "asm_exc_page_fault@[kernel] filemap_fault@[kernel] io_schedule@[kernel]"
#define WAIT4 "__x64_sys_wait4@[kernel] do_wait@[kernel]"

static void assert_first(const struct maker *m, const char *sentence, const char *evidence, const char *advice)
{
	struct explanation *e = explanation_new(m->p, NULL);

	g_assert_cmpuint(e->headlines->len, >=, 1);
	const struct headline *h = &g_array_index(e->headlines, struct headline, 0);

	g_assert_nonnull(strstr(h->sentence, sentence));
	if (evidence)
		g_assert_nonnull(strstr(h->evidence, evidence));
	g_assert_true(g_str_has_prefix(h->advice, advice));
	explanation_free(e);
}

/* Page faults at a memory limit are CPU time, too, so the run queue is their cost; of a cache that nobody misses it is not. */
static void test_memory(void)
{
	static const struct {
		const char *refaults;
		bool is_limit;	/* that leads */
	} cases[] = {
		{ "7313 pages a second, 75 percent in the kernel", true },
		{ "7313 pages a second, 20 percent in the kernel", false },
		{ NULL, false },
	};

	for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
		struct maker m = maker_new("pid 10");

		for (uint32_t t = 0; t < 4; t++) {
			uint32_t thread = thread_of(m.p, 10, 10 + t, "searchd", 0);

			wait_of(m.p, thread, 'D', "main@searchd look_up@searchd", FAULT, 40);
			wait_of(m.p, thread, 'R', "main@searchd look_up@searchd", "", 600);
		}
		profile_add_limit(m.p, LIMIT_MEMORY, 10, 0, "60.0 MiB of memory, of which 59.9 MiB are in use (memory.max)");
		if (cases[i].refaults)
			profile_add_limit(m.p, LIMIT_REFAULTS, 10, 0, cases[i].refaults);
		if (cases[i].is_limit)
			assert_first(&m, "waits for a page of a file", "7,313 pages a second came back that it had thrown out, and 75% of",
				     "The limit throws out pages");
		else
			assert_first(&m, "waits for a CPU", NULL, "Its own threads ran little");
		profile_free(m.p);
	}
}

/* An event loop that never rests, as each access to its code is a page fault. */
static void test_memory_loop(void)
{
	for (unsigned is_limit = 0; is_limit < 2; is_limit++) {
		struct maker m = maker_new("pid 10");
		uint32_t thread = thread_of(m.p, 10, 10, "node", 0);

		g_array_index(m.p->threads, struct thread, thread).on_cpu_ns = 8500 * MS;
		wait_of(m.p, thread, 'D', "main@node uv_run@/usr/bin/node format@/usr/bin/node", FAULT, 150);
		profile_add_limit(m.p, LIMIT_MEMORY, 10, 0, "28.0 MiB of memory, of which 28.0 MiB are in use (memory.max)");
		if (is_limit)
			profile_add_limit(m.p, LIMIT_REFAULTS, 10, 0, "36828 pages a second, 96 percent in the kernel");
		assert_first(&m, is_limit ? "waits for a page of a file" : "never rests", NULL,
			     is_limit ? "The limit throws out pages" : "Use an asynchronous call");
		profile_free(m.p);
	}
}

/* Threads take turns at Python's lock, and whoever has it waits for such pages. */
static void test_memory_gil(void)
{
	for (unsigned is_limit = 0; is_limit < 2; is_limit++) {
		struct maker m = maker_new("pid 10");

		m.p->info.has_wakers = true;
		for (uint32_t t = 0; t < 2; t++) {
			uint32_t thread = thread_of(m.p, 10, 10 + t, "python3", 0);

			wait_of(m.p, thread, 'D', "work@m2.py score@m2.py", FAULT, 200);
		}
		for (uint32_t t = 0; t < 2; t++) {
			uint32_t wait = wait_of(m.p, t, 'S', "work@m2.py take_gil@/usr/bin/python3.11 pthread_cond_timedwait@libc.so.6",
						"__x64_sys_futex@[kernel] futex_wait_queue@[kernel]", 500);

			woken_by(m.p, wait, 1 - t, "work@m2.py score@m2.py drop_gil@/usr/bin/python3.11");
		}
		profile_add_limit(m.p, LIMIT_MEMORY, 10, 0, "28.0 MiB of memory, of which 28.0 MiB are in use (memory.max)");
		if (is_limit)
			profile_add_limit(m.p, LIMIT_REFAULTS, 10, 0, "9296 pages a second, 85 percent in the kernel");
		assert_first(&m, is_limit ? "waits for a page of a file" : "GIL", NULL, is_limit ? "The limit throws out pages" : "");
		profile_free(m.p);
	}
}

/* Who waits for a child that is not recorded is told what that did, if it still waited. */
static void test_child(void)
{
	static const struct {
		const char *limit;
		bool is_open;
		const char *evidence, *advice;
	} cases[] = {
		{ "20 network 9000000000 10.0.0.5:80 cu rl", true,
		  "; as the recording ended its child cu rl/20 waits for 10.0.0.5:80, from where nothing had come for 9.00 s",
		  "The server there does not answer" },
		{ "20 network 90000000 10.0.0.5:80 curl", true, "nothing had come for 90.0 ms", "Look at what that child does" },
		{ "20 network 0 - curl", true, "curl/20 waits for a connection", "Look at what that child does" },
		{ "20 runs 0 - xz", true, "its child xz/20 runs", "The child has work" },
		{ "20 events 0 - nginx", true, "nginx/20 waits for events", "A supervisor waits so while its child lives" },
		{ "20 several 0 - a", true, "its child a/20 and others had not ended", "A supervisor waits so" },
		{ "20 own-pipe-full 0 - tar", true, "its child tar/20 waits for room in a pipe that this one reads", "Neither goes on" },
		{ "20 own-pipe 0 - sort", true, "its child sort/20 waits for data in a pipe that this one writes",
		  "Neither goes on, unless another thread writes there" },
		{ "20 runs 0 - xz", false, NULL, "Look at what the child does" },
		{ "20 dances 0 - xz", true, NULL, "Look at what the child does" },
		{ "20 gone 0 - xz", true, NULL, "Look at what the child does" },
	};

	for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
		struct maker m = maker_new("process backup.sh");
		uint32_t wait = wait_of(m.p, thread_of(m.p, 10, 10, "backup.sh", 0), 'S', "main@bash wait4@libc.so.6", WAIT4, 1000);

		g_array_index(m.p->waits, struct wait, wait).flags = cases[i].is_open ? WAIT_OPEN_AT_END : 0;
		profile_add_limit(m.p, LIMIT_CHILD, 10, 0, cases[i].limit);
		assert_first(&m, "waits for a child to end", cases[i].evidence, cases[i].advice);
		profile_free(m.p);
	}
}

/* Nobody read from a pipe: what its reader, any program, did at the end. */
static void test_reader(void)
{
	for (uint32_t reader = 20; reader < 22; reader++) {
		struct maker m = maker_new("process gate");
		uint32_t wait = wait_of(m.p, thread_of(m.p, 10, 10, "gate", 0), 'S', "main@gate note@gate write@libc.so.6",
					"__x64_sys_write@[kernel] anon_pipe_write@[kernel]", 1000);

		g_array_index(m.p->waits, struct wait, wait).flags = WAIT_OPEN_AT_START | WAIT_OPEN_AT_END;
		wait_for(m.p, wait, OBJECT_PIPE, "pipe to svlogd", reader);
		profile_add_limit(m.p, LIMIT_CHILD, 10, 0, "20 sleeps 0 - svlogd");
		assert_first(&m, "waits for room in a full pipe (to svlogd) in note",
			     reader == 20 ? "; as the recording ended its reader svlogd/20 sleeps until a timer" : NULL,
			     reader == 20 ? "Its reader pauses instead of reading" : "");
		profile_free(m.p);
	}
}

/* Shells of one script that wait for a child each: not a master with its workers if these children are stuck. */
static void test_stuck_children(void)
{
	static const struct {
		const char *child;
		const char *evidence;	/* NULL: idle */
	} cases[] = {
		{ "30 file-lock 0 - flock",
		  "its child flock/30 waits for a lock on a file, which import.sh/10 has, whose child curl/20 waits for 10.0.0.5:80" },
		{ "30 network 9000000000 10.0.0.5:80 curl", "its child curl/30 waits for 10.0.0.5:80, from where nothing" },
		{ "30 network 4000000000 10.0.0.5:80 curl", NULL },
		{ "30 events 0 - nginx", NULL },
		{ "30 terminal 0 - vim", NULL },
	};

	for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
		struct maker m = maker_new("process import.sh");

		for (uint32_t pid = 10; pid < 12; pid++) {
			uint32_t thread = thread_of(m.p, pid, pid, "import.sh", 0);
			uint32_t wait = wait_of(m.p, thread, 'S', "main@bash wait4@libc.so.6", WAIT4, pid == 10 ? 900 : 1000);

			g_array_index(m.p->waits, struct wait, wait).flags = WAIT_OPEN_AT_START | WAIT_OPEN_AT_END;
			wait_for(m.p, wait, OBJECT_CHILD, "any", 0);
		}
		profile_add_limit(m.p, LIMIT_CHILD, 10, 0, "20 network 1000000000 10.0.0.5:80 curl");
		profile_add_limit(m.p, LIMIT_CHILD, 11, 0, cases[i].child);
		profile_add_limit(m.p, LIMIT_FILE_LOCK, 30, 0, "10");
		if (cases[i].evidence) {
			assert_first(&m, "waits for a child to end", cases[i].evidence, "");
		} else {
			struct explanation *e = explanation_new(m.p, NULL);

			g_assert_cmpuint(e->headlines->len, ==, 0);
			explanation_free(e);
		}
		profile_free(m.p);
	}
}

/* Its processes are waited for by their parent, of the same program, which lacks no CPU. */
static void test_child_that_queues(void)
{
	struct maker m = maker_new("process transcode");

	m.p->info.has_wakers = true;
	uint32_t parent = thread_of(m.p, 10, 10, "transcode", 0), child = thread_of(m.p, 20, 20, "transcode", 0);
	uint32_t wait = wait_of(m.p, parent, 'S', "main@transcode wait4@libc.so.6", WAIT4, 1000);

	wait_for(m.p, wait, OBJECT_CHILD, "transcode", 20);
	woken_by(m.p, wait, child, "encode@transcode");
	wait_of(m.p, child, 'R', "main@transcode encode@transcode", "", 900);
	assert_first(&m, "waits for a CPU", NULL, "Its own threads ran little");
	profile_free(m.p);
}

/* What a program tries between its pauses, if that fails each time. */
static void test_tries(void)
{
	static const struct {
		const char *fails, *filters;
		enum object_kind served;	/* a socket of another thread's; 0: none */
		const char *told;	/* begins a headline's sentence, or else what is said of little */
		bool is_finding;
		bool serves;	/* its own thread has a client, and serves a request of that one after each pause */
	} cases[] = {
		{ "4 in 2000000000 ns, errno 11, flock store.lock", "pid 10", 0,
		  "app sleeps, and its tries to lock store.lock fail, as another process has locked it. See who has it", false, false },
		{ "4 in 2000000000 ns, errno 17, open my run.pid", "pid 10", 0,
		  "app sleeps, and its tries to make my run.pid fail, as it is there already.", false, false },
		{ "4 in 2000000000 ns, errno 2, stat tls.crt", "pid 10", 0, "app sleeps, and its tries to find tls.crt fail", false, false },
		{ "4 in 2000000000 ns, errno 2, stat override.conf", "pid 10", OBJECT_SOCKET, "Nothing was waited for", false, false },
		{ "9 in 2000000000 ns, errno 28, write q1", "pid 10", 0, "Little to find: ", false, true },
		{ "4 in 20000000000 ns, errno 11, flock store.lock", "pid 10", 0, "Nothing was waited for", false, false },	/* not each time */
		{ "4 in 2000000000 ns, errno 28, write q1", "pid 10", 0,
		  "100% of the time that matters: app sleeps until a timer in look: its tries to write q1 fail, as no space is left there", true, false },
		{ "4 in 0 ns, errno 28, write q1", "pid 10", 0, "Nothing was waited for", false, false },	/* forged */
		{ "4 in 2000000000 ns, errno 4000, write q1", "pid 10", 0, "Nothing was waited for", false, false },
	};

	for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
		struct maker m = maker_new(cases[i].filters);
		uint32_t main_thread = thread_of(m.p, 10, 10, "app", 0), other = thread_of(m.p, 10, 11, "app", 0);
		uint32_t wait = wait_of(m.p, main_thread, 'S', "main@app look@app clock_nanosleep@libc.so.6",
					"__x64_sys_clock_nanosleep@[kernel] hrtimer_nanosleep@[kernel]", 20);

		if (cases[i].served) {
			wait = wait_of(m.p, other, 'S', "serve@app accept@libc.so.6",
				       "__x64_sys_accept@[kernel] inet_csk_accept@[kernel]", 1);
			wait_for(m.p, wait, cases[i].served, "listening at :80", 0);
		}
		if (cases[i].serves)
			wait_for(m.p, wait_of(m.p, main_thread, 'S', "main@app poll@libc.so.6", "__x64_sys_poll@[kernel]", 20),
				 OBJECT_SOCKET, ":80 from 10.0.0.7", 0);
		profile_add_limit(m.p, LIMIT_FAILS, 10, 10, cases[i].fails);
		struct explanation *e = explanation_new(m.p, NULL);

		g_assert_cmpuint(e->headlines->len, ==, cases[i].is_finding);
		g_assert_true(g_str_has_prefix(cases[i].is_finding ? g_array_index(e->headlines, struct headline, 0).sentence : e->little,
					       cases[i].told));
		explanation_free(e);
		profile_free(m.p);
	}
}

/* Of a lock whose holder has lost its CPU more CPU time is what is missing, and not another use of the lock. */
static void test_gil_of_others_load(void)
{
	struct maker m = maker_new("pid 10");

	m.p->info.has_wakers = true;
	for (uint32_t t = 0; t < 2; t++)
		wait_of(m.p, thread_of(m.p, 10, 10 + t, "python3", 0), 'R', "work@m2.py price@m2.py", "", 440);
	for (uint32_t t = 0; t < 2; t++) {
		uint32_t wait = wait_of(m.p, t, 'S', "work@m2.py take_gil@/usr/bin/python3.11 pthread_cond_timedwait@libc.so.6",
					"__x64_sys_futex@[kernel] futex_wait_queue@[kernel]", 60);

		woken_by(m.p, wait, 1 - t, "work@m2.py price@m2.py drop_gil@/usr/bin/python3.11");
	}
	assert_first(&m, "waits for a CPU", NULL, "Its own threads ran little");
	profile_free(m.p);
}

/* A quota that another program of the group uses up. */
static void test_quota(void)
{
	static const struct {
		const char *used;
		uint32_t threads;
		const char *evidence, *advice;
	} cases[] = {
		{ "34 of itself, 157 of process 77 side car", 1, "0.20 CPUs (cpu.max), of which side car/77 used 0.16, and what is recorded 0.03",
		  "Another program of that group" },
		{ NULL, 1, "0.20 CPUs (cpu.max)", "Raise the quota (cpu.max), or have what is in that group compute less." },
		{ NULL, 3, "0.20 CPUs (cpu.max)", "Raise the quota (cpu.max), or run fewer threads" },
		{ "34 of itself, 157 of process 77 ", 3, "0.20 CPUs (cpu.max)", "Raise the quota (cpu.max), or run fewer threads" },
	};

	for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
		struct maker m = maker_new("pid 10");

		for (uint32_t t = 0; t < cases[i].threads; t++) {
			uint32_t wait = wait_of(m.p, thread_of(m.p, 10, 10 + t, "worker.py", 0), 'R', "main@worker", "", 400);

			g_array_index(m.p->waits, struct wait, wait).flags = WAIT_THROTTLED;
		}
		profile_add_limit(m.p, LIMIT_QUOTA, 10, 0, "0.20 CPUs (cpu.max)");
		if (cases[i].used)
			profile_add_limit(m.p, LIMIT_USED, 10, 0, cases[i].used);
		assert_first(&m, "is throttled by its cgroup's CPU quota", cases[i].evidence, cases[i].advice);
		profile_free(m.p);
	}
}

#define SLICE_MS 100
#define SLICES 100	/* of the window */

/* Each of twelve threads waits for a CPU for as long in all: in every tenth slice, or a little in each. */
static void add_queue(struct profile *p, bool in_bursts, uint64_t on_cpu_ms)
{
	struct slice_builder *b = slice_builder_new(SLICE_MS * MS);
	uint32_t codes[12];

	for (uint32_t t = 0; t < G_N_ELEMENTS(codes); t++) {
		uint32_t thread = thread_of(p, 10, 10 + t, "probed", 0);
		uint32_t wait = wait_of(p, thread, 'R', "main@probed check@probed", "", SLICES);

		g_array_index(p->threads, struct thread, thread).on_cpu_ns = on_cpu_ms * MS;
		codes[t] = slice_code_of_wait(wait);
		for (uint32_t i = 0; i < SLICES; i += in_bursts ? 10 : 1) {
			uint64_t cnt = in_bursts ? 10 : 1;
			struct slice_cell cell = { .row = t, .count_q8 = cnt * SLICE_COUNT_Q8, .preempted_ns = cnt * 10 * MS,
						   .max_ns = 10 * MS };

			slice_hist_add(&cell.bars, profile_hist_slot(10 * MS), cnt * SLICE_COUNT_Q8);
			slice_builder_add(b, i * SLICE_MS * MS + 50 * MS, &cell);
		}
	}
	p->slices = slice_builder_finish(b, p, codes);
	slice_builder_free(b);
}

/* Threads that start at one moment queue behind each other; of a lack of CPUs, and of CPUs that others hold, that is not said. */
static void test_bursts(void)
{
	static const struct {
		bool in_bursts;
		uint64_t on_cpu_ms;	/* of each thread */
		bool is_told;
	} cases[] = { { true, 120, true }, { true, 5, false }, { false, 120, false } };

	for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
		struct maker m = maker_new("pid 10");

		add_queue(m.p, cases[i].in_bursts, cases[i].on_cpu_ms);
		struct explanation *e = explanation_new(m.p, NULL);
		const struct headline *h = &g_array_index(e->headlines, struct headline, 0);

		g_assert_cmpuint(e->headlines->len, ==, 1);
		g_assert_true(g_str_has_prefix(h->advice, "Its threads start at the same moment") == cases[i].is_told);
		g_assert_true(!strstr(h->evidence, "; 80% of it in 8 bursts, which take 8% of the window, with 12 threads at a time") ==
			      !cases[i].is_told);
		explanation_free(e);
		profile_free(m.p);
	}
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/resources/memory", test_memory);
	g_test_add_func("/resources/memory-loop", test_memory_loop);
	g_test_add_func("/resources/memory-gil", test_memory_gil);
	g_test_add_func("/resources/child", test_child);
	g_test_add_func("/resources/reader", test_reader);
	g_test_add_func("/resources/stuck-children", test_stuck_children);
	g_test_add_func("/resources/child-that-queues", test_child_that_queues);
	g_test_add_func("/resources/tries", test_tries);
	g_test_add_func("/resources/gil-of-others-load", test_gil_of_others_load);
	g_test_add_func("/resources/quota", test_quota);
	g_test_add_func("/resources/bursts", test_bursts);
	return g_test_run();
}
