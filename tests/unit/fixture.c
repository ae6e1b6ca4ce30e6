/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "fixture.h"

#include "features/tasks/rows.h"

#include <string.h>

#include "profile/profile.h"

/*
 * Window 1 s, threads (ms):
 *
 *   no pid/tid  comm    process  observed on_cpu blocked runnable preempted  off  residual
 *   0  100/100  server  server       1000     10     900       80         0  980        10
 *   1  100/101  worker  server       1000    200     500      100       200  800         0
 *   2  100/102  worker  server       1000      0    1000        0         0 1000         0   asleep throughout
 *   3  200/200  evil    evil          400    100     250       50         0  300         0   exited
 *   4    2/2    kwork   kwork        1000      0     995        5         0 1000         0   kernel thread
 *                                    4400    310    3645      235       200 4080        10
 *
 * Waits (ms: blocked + runnable or preempted = off-CPU):
 *
 *   thread state count            off  max  user stack               kernel stack
 *   0      S     10    500+ 50 =  550  100  do_work in pthread_cond  futex
 *   0      D      4    400+ 30 =  430  200  do_work in fsync         folio_wait
 *   1      S     20    400+ 80 =  480   60  do_work in pthread_cond  futex
 *   1      R     40    200 preempted =  200   10  spin               irq
 *   1      S      2    100+ 20 =  120   90  lost                     futex
 *   2      S      1   1000     = 1000 1000  do_work in pthread_cond  futex    open at both ends
 *   3      S      5    150+ 30 =  180   50  ? of app, truncated      pipe
 *   4      I      3    995+  5 = 1000  500  none                     worker_thread
 *                                     3960
 * and 120 ms of thread 3 are filtered: 3960 + 120 = 4080.
 */

#define MS UINT64_C(1000000)

static void append_word(struct profile *p, uint32_t *node, enum frame_kind kind, const char *word)
{
	const char *at = strrchr(word, '@');
	g_autofree char *name = at ? g_strndup(word, (gsize)(at - word)) : g_strdup(word);
	struct frame f = { .kind = (uint8_t)kind, .module = kind == FRAME_KERNEL ? "[kernel]" : NULL };

	if (at)
		f.module = at + 1;
	if (strcmp(name, "?") == 0) {
		f.why = FRAME_NO_SYMBOLS;
		f.offset = 0x1234;
	} else if (strcmp(name, "lost") == 0) {
		f.why = FRAME_PENDING;
	} else {
		f.name = name;
		f.offset = 0x1000;
	}
	*node = profile_node(p, *node, profile_frame(p, &f));
}

uint32_t fixture_stack(struct profile *p, enum frame_kind kind, enum stack_end end, const char *words)
{
	g_auto(GStrv) parts = g_strsplit(words, " ", -1);
	uint32_t node = 0;

	for (unsigned i = 0; parts[i]; i++)
		append_word(p, &node, kind, parts[i]);
	profile_stack_end(p, node, end);
	return node;
}

uint32_t fixture_thread(struct profile *p, uint32_t pid, uint32_t tid, const char *comm, const char *process)
{
	struct thread t = {
		.pid = pid, .tid = tid, .comm = profile_string(p, comm), .process = profile_string(p, process),
	};

	return profile_add_thread(p, &t);
}

uint32_t fixture_wait(struct profile *p, uint32_t thread, char state, uint64_t count, uint64_t each_ns, const char *user,
		      const char *kernel)
{
	struct wait w = {
		.thread = thread,
		.state = (uint8_t)state,
		.count = count,
		.max_ns = each_ns,
		.user = *user ? fixture_stack(p, FRAME_USER, STACK_COMPLETE, user) : 0,
		.kernel = *kernel ? fixture_stack(p, FRAME_KERNEL, STACK_COMPLETE, kernel) : 0,
	};

	w.hist[profile_hist_slot(each_ns)] = (uint32_t)count;
	*(state == 'R' ? &w.preempted_ns : &w.blocked_ns) = count * each_ns;
	return profile_add_wait(p, &w);
}

void fixture_is_for(struct profile *p, uint32_t wait, const struct object *o)
{
	g_array_index(p->waits, struct wait, wait).object = profile_object(p, o) + 1;
}

struct account {
	uint64_t from_ms, to_ms, on_cpu_ms, blocked_ms, runnable_ms, preempted_ms, filtered_ms, switches;
	uint32_t flags;
};

static void set_account(struct profile *p, uint32_t thread, const struct account *a)
{
	struct thread *t = &g_array_index(p->threads, struct thread, thread);

	t->from_ns = a->from_ms * MS;
	t->to_ns = a->to_ms * MS;
	t->on_cpu_ns = a->on_cpu_ms * MS;
	t->blocked_ns = a->blocked_ms * MS;
	t->runnable_ns = a->runnable_ms * MS;
	t->preempted_ns = a->preempted_ms * MS;
	t->filtered_ns = a->filtered_ms * MS;
	t->switches = a->switches;
	t->flags = a->flags;
}

static void add_threads(struct profile *p)
{
	static const struct account accounts[] = {
		{ 0, 1000, 10, 900, 80, 0, 0, 14, 0 },
		{ 0, 1000, 200, 500, 100, 200, 0, 62, 0 },
		{ 0, 1000, 0, 1000, 0, 0, 0, 0, THREAD_OPEN_AT_START | THREAD_OPEN_AT_END },
		{ 100, 500, 100, 250, 50, 0, 120, 7, THREAD_EXITED },
		{ 0, 1000, 0, 995, 5, 0, 0, 3, THREAD_KERNEL },
	};

	fixture_thread(p, 100, 100, "server", "server");
	fixture_thread(p, 100, 101, "worker", "server");
	fixture_thread(p, 100, 102, "worker", "server");
	/* a terminal escape and a folded separator, as a hostile program would name itself */
	fixture_thread(p, 200, 200, "ev\033[31m;il", "evil");
	fixture_thread(p, 2, 2, "kwork", "kwork");
	for (unsigned i = 0; i < G_N_ELEMENTS(accounts); i++)
		set_account(p, i, &accounts[i]);
}

struct wait_row {
	uint32_t thread;
	char state;
	uint64_t count, blocked_ms, runnable_ms, preempted_ms, max_ms;
	uint32_t user, kernel;
	uint8_t flags;
	uint8_t slot;	/* of all but one; that one is in the slot above */
};

static void add_waits(struct profile *p)
{
	const char *libc = "_start@/usr/bin/server __libc_start_main@/lib/libc.so.6 main@/usr/bin/server do_work@/usr/bin/server";
	g_autofree char *cond = g_strconcat(libc, " pthread_cond_wait@@GLIBC_2.3.2@/lib/libc.so.6", NULL);
	g_autofree char *sync = g_strconcat(libc, " fsync@/lib/libc.so.6", NULL);
	g_autofree char *spin = g_strconcat(libc, " spin@/usr/bin/server", NULL);
	uint32_t u_cond = fixture_stack(p, FRAME_USER, STACK_COMPLETE, cond);
	uint32_t u_sync = fixture_stack(p, FRAME_USER, STACK_COMPLETE, sync);
	uint32_t u_spin = fixture_stack(p, FRAME_USER, STACK_COMPLETE, spin);
	uint32_t u_lost = fixture_stack(p, FRAME_USER, STACK_PENDING, "lost");
	uint32_t u_bare = fixture_stack(p, FRAME_USER, STACK_TRUNCATED, "?@/opt/app read@/lib/libc.so.6");
	uint32_t k_futex = fixture_stack(p, FRAME_KERNEL, STACK_COMPLETE,
		"entry_SYSCALL_64_after_hwframe do_syscall_64 __x64_sys_futex do_futex __futex_wait futex_wait_queue schedule __schedule");
	uint32_t k_sync = fixture_stack(p, FRAME_KERNEL, STACK_COMPLETE,
		"entry_SYSCALL_64_after_hwframe do_syscall_64 __x64_sys_fsync ext4_sync_file@[ext4] folio_wait_bit_common io_schedule schedule __schedule");
	uint32_t k_irq = fixture_stack(p, FRAME_KERNEL, STACK_COMPLETE,
		"asm_sysvec_apic_timer_interrupt irqentry_exit_to_user_mode exit_to_user_mode_loop schedule __schedule");
	uint32_t k_pipe = fixture_stack(p, FRAME_KERNEL, STACK_COMPLETE,
		"entry_SYSCALL_64_after_hwframe do_syscall_64 ksys_read vfs_read anon_pipe_read.constprop.0 schedule __schedule");
	uint32_t k_work = fixture_stack(p, FRAME_KERNEL, STACK_COMPLETE,
		"ret_from_fork_asm ret_from_fork kthread worker_thread schedule __schedule");
	const struct wait_row rows[] = {
		{ 0, 'S', 10, 500, 50, 0, 100, u_cond, k_futex, 0, 25 },
		{ 0, 'D', 4, 400, 30, 0, 200, u_sync, k_sync, 0, 26 },
		{ 1, 'S', 20, 400, 80, 0, 60, u_cond, k_futex, 0, 24 },
		{ 1, 'R', 40, 0, 0, 200, 10, u_spin, k_irq, 0, 22 },
		{ 1, 'S', 2, 100, 20, 0, 90, u_lost, k_futex, 0, 25 },
		{ 2, 'S', 1, 1000, 0, 0, 1000, u_cond, k_futex, WAIT_OPEN_AT_START | WAIT_OPEN_AT_END, 28 },
		{ 3, 'S', 5, 150, 30, 0, 50, u_bare, k_pipe, 0, 24 },
		{ 4, 'I', 3, 995, 5, 0, 500, 0, k_work, 0, 27 },
	};

	for (unsigned i = 0; i < G_N_ELEMENTS(rows); i++) {
		const struct wait_row *r = &rows[i];
		struct wait w = {
			.thread = r->thread, .user = r->user, .kernel = r->kernel, .state = (uint8_t)r->state,
			.flags = r->flags, .count = r->count, .blocked_ns = r->blocked_ms * MS,
			.runnable_ns = r->runnable_ms * MS, .preempted_ns = r->preempted_ms * MS,
			.max_ns = r->max_ms * MS,
		};

		w.hist[r->slot] = (uint32_t)r->count - 1;
		w.hist[r->slot + 1] = 1;
		profile_add_wait(p, &w);
	}
}

struct profile *fixture_new(void)
{
	struct profile *p = profile_new();

	p->info = (struct profile_info){
		.start_unix_ns = UINT64_C(1790000000123456789), .start_ns = 0, .duration_ns = 1000 * MS,
		.host = profile_string(p, "testhost"), .kernel = profile_string(p, "6.12.0-test"), .cpus = 2,
		.command_line = profile_string(p, "offcpu record -d 1"), .filters = profile_string(p, ""),
		.version = profile_string(p, "0.1.0"), .switches = 120, .tracer_cpu_ns = 12 * MS,
		.tracer_peak_rss_bytes = 33 << 20, .tracer_bpf_ns = 3 * MS + 400000, .has_bpf_ns = true,
		.self_excluded = true,
	};
	add_threads(p);
	add_waits(p);
	profile_add_loss(p, "ring_stack", "the ring buffer was full for a stack (it is tried again)", 2, 120 * MS);
	return p;
}

/*
 * Of the sleeps above (ms: blocked + runnable), by index:
 *
 *   wait  who     woken by                    count   blocked runnable
 *   0     server  worker/101 in cond_signal       8       400       40
 *                 timer                           1        80        8
 *                 (unknown)                       1        20        2
 *   1     server  irq:virtio0                     4       400       30
 *   2     worker  server in cond_signal          20       400       80
 *   4     worker  evil                            2       100       20
 *   6     evil    client, not recorded            5       150       30
 *   7     kwork   timer                           3       995        5
 *
 * and wait 5 goes on.  2545 ms of sleeps ended, 1000 ms have not.
 */
struct wake_row {
	uint32_t wait, waker;
	uint64_t count, blocked_ms, runnable_ms;
	uint8_t slot;
};

static void add_wakes(struct profile *p, const uint32_t *wakers)
{
	const struct wake_row rows[] = {
		{ 0, wakers[0], 8, 400, 40, 22 }, { 0, wakers[1], 1, 80, 8, 22 }, { 1, wakers[2], 4, 400, 30, 22 },
		{ 2, wakers[3], 20, 400, 80, 21 }, { 4, wakers[4], 2, 100, 20, 23 }, { 6, wakers[5], 5, 150, 30, 22 },
		{ 7, wakers[1], 3, 995, 5, 20 },
	};

	for (unsigned i = 0; i < G_N_ELEMENTS(rows); i++) {
		const struct wake_row *r = &rows[i];
		struct wake wake = {
			.wait = r->wait, .waker = r->waker, .count = r->count, .blocked_ns = r->blocked_ms * MS,
			.runnable_ns = r->runnable_ms * MS,
		};

		wake.hist[r->slot] = (uint32_t)r->count;
		profile_add_wake(p, &wake);
	}
}

void fixture_add_wakers(struct profile *p)
{
	uint32_t u_signal = fixture_stack(p, FRAME_USER, STACK_COMPLETE,
		"_start@/usr/bin/server __libc_start_main@/lib/libc.so.6 main@/usr/bin/server hand_over@/usr/bin/server "
		"pthread_cond_signal@@GLIBC_2.3.2@/lib/libc.so.6");
	uint32_t k_wake = fixture_stack(p, FRAME_KERNEL, STACK_COMPLETE,
		"entry_SYSCALL_64_after_hwframe do_syscall_64 __x64_sys_futex do_futex futex_wake wake_up_q try_to_wake_up");
	uint32_t k_timer = fixture_stack(p, FRAME_KERNEL, STACK_COMPLETE,
		"asm_sysvec_apic_timer_interrupt sysvec_apic_timer_interrupt hrtimer_interrupt __hrtimer_run_queues "
		"hrtimer_wakeup try_to_wake_up");
	uint32_t k_disk = fixture_stack(p, FRAME_KERNEL, STACK_COMPLETE,
		"asm_common_interrupt common_interrupt handle_edge_irq vring_interrupt end_bio_bh_io_sync@[ext4] "
		"__wake_up_common try_to_wake_up");
	const struct waker rows[] = {
		{ .pid = 100, .tid = 101, .comm = "worker", .user = u_signal, .kernel = k_wake },
		{ .comm = "", .irq = "timer", .kernel = k_timer },
		{ .comm = "", .irq = "irq:virtio0", .kernel = k_disk },
		{ .pid = 100, .tid = 100, .comm = "server", .user = u_signal, .kernel = k_wake },
		{ .pid = 200, .tid = 200, .comm = "ev\033[31m;il", .kernel = k_wake },
		{ .pid = 300, .tid = 300, .comm = "client", .kernel = k_wake },
	};
	uint32_t wakers[G_N_ELEMENTS(rows)];

	for (unsigned i = 0; i < G_N_ELEMENTS(rows); i++) {
		struct waker waker = rows[i];

		waker.comm = profile_string(p, waker.comm);
		waker.irq = profile_string(p, waker.irq);
		wakers[i] = profile_waker(p, &waker);
	}
	add_wakes(p, wakers);
	profile_set_longest(p, profile_wake(p, 0)->wait, p->info.start_unix_ns + 500000000, profile_wake(p, 0)->waker + 1);
	p->info.has_wakers = true;
	profile_add_loss(p, "waker", "who woke a thread is not known", 1, 0);
}

/*
 * What was done meanwhile (ms), of wakes by index:
 *
 *   wake  blocked  by      ran runnable earlier  then by       ran runnable earlier  rest
 *   0         300  worker   50       30      20  timer                              200, until it came
 *   0         100  worker   60       40       0                                       0, awake all the time
 *   3         400  server   10        0       0  evil          100       70      20  200, the chain was cut
 *
 * and of wake 4, by evil, no chain is known.
 */
void fixture_set_mutex(struct profile *p)
{
	uint32_t mutex = fixture_stack(p, FRAME_USER, STACK_COMPLETE,
				       "main@/usr/bin/server do_work@/usr/bin/server pthread_mutex_lock@/lib/libc.so.6");

	for (guint i = 0; i < p->waits->len; i++)
		if (profile_wait(p, i)->thread < 2 && profile_wait(p, i)->state == 'S')
			g_array_index(p->waits, struct wait, i).user = mutex;
}

void fixture_add_chains(struct profile *p)
{
	struct chain_node timer = { .waker = 1, .end = CHAIN_INTERRUPT }, evil = { .waker = 4, .end = CHAIN_CUT };
	struct chain_node worker = { .waker = 0, .next = profile_chain(p, &timer) + 1 };
	struct chain_node server = { .waker = 3, .next = profile_chain(p, &evil) + 1 };
	struct chain_node alone = { .waker = 0, .end = CHAIN_AWAKE };
	const struct story stories[] = {
		{ .wake = 0, .chain = profile_chain(p, &worker), .count = 6, .blocked_ns = 300 * MS, .rest_ns = 200 * MS,
		  .hop = { { 50 * MS, 30 * MS, 20 * MS } } },
		{ .wake = 0, .chain = profile_chain(p, &alone), .count = 2, .blocked_ns = 100 * MS,
		  .hop = { { 60 * MS, 40 * MS, 0 } } },
		{ .wake = 3, .chain = profile_chain(p, &server), .count = 20, .blocked_ns = 400 * MS, .rest_ns = 200 * MS,
		  .hop = { { 10 * MS, 0, 0 }, { 100 * MS, 70 * MS, 20 * MS } } },
	};

	for (unsigned i = 0; i < G_N_ELEMENTS(stories); i++)
		profile_add_story(p, &stories[i]);
}

void assert_has(const GString *s, const char *part)
{
	if (!strstr(s->str, part))
		g_error("no \"%s\" in:\n%s", part, s->str);
}

/*
 * Samples, one standing for 20 ms, and what they make of the accounts (ms):
 *
 *   thread samples of 20 ms       stack                      on-CPU
 *   0      none                   [on CPU, not sampled]          10
 *   1      6                      parse                         120 of 200
 *   1      3                      parse, hash                    60
 *   1      1                      parse, in copy_to_user         20
 *   3      1, then 1 of 40 ms     ? of app                      100
 */
void fixture_add_on_cpu(struct profile *p)
{
	uint32_t parse = fixture_stack(p, FRAME_USER, STACK_COMPLETE, "main@/usr/bin/server parse@/usr/bin/server");
	uint32_t hash = fixture_stack(p, FRAME_USER, STACK_COMPLETE, "main@/usr/bin/server parse@/usr/bin/server hash@/usr/bin/server");
	uint32_t copy = fixture_stack(p, FRAME_KERNEL, STACK_COMPLETE, "entry_SYSCALL_64 do_syscall_64 __x64_sys_read copy_to_user");
	uint32_t app = fixture_stack(p, FRAME_USER, STACK_TRUNCATED, "?@/opt/app");
	const struct on_cpu_sample samples[] = {
		{ 1, parse, 0, 0, 4, 80 * MS }, { 1, hash, 0, 0, 3, 60 * MS }, { 1, parse, 0, 0, 2, 40 * MS },
		{ 1, parse, copy, 0, 1, 20 * MS }, { 3, app, 0, 0, 1, 20 * MS }, { 3, app, 0, 0, 1, 40 * MS },
	};

	p->info.on_cpu_hz = 50;
	p->info.on_cpu_end_hz = 25;
	for (size_t i = 0; i < G_N_ELEMENTS(samples); i++)
		profile_add_on_cpu(p, &samples[i]);
}

/* A row of goroutines that waits all the time, but for one of the looks. */
static void add_goroutines(struct tasks *t, uint64_t key, unsigned cnt, unsigned look, const struct task_row *like, const struct task_frame *frames)
{
	bool is_new;
	struct task_row *row = tasks_row(t, key, &is_new);

	if (is_new) {
		*row = *like;
		row->frames = g_memdup2(frames, row->frame_cnt * sizeof(*frames));
	}
	for (unsigned i = 0; i < cnt - (look == 2); i++)
		tasks_seen(t, row, 1);
}

void fixture_add_tasks(struct profile *p, unsigned senders)
{
	static const struct task_frame sends[] = { { "runtime.gopark", "/go/src/runtime/proc.go", 363 }, { "runtime.chansend1", "/go/src/runtime/chan.go", 145 },
						   { "main.producer", "/app/main.go", 31 } };
	static const struct task_frame locks[] = { { "runtime.gopark", "/go/src/runtime/proc.go", 363 }, { "sync.(*Mutex).Lock", "/go/src/sync/mutex.go", 80 },
						   { "main.pay", "/app/pay.go", 12 } };
	static const struct task_frame idles[] = { { "runtime.gopark", "/go/src/runtime/proc.go", 363 }, { "runtime.bgsweep", NULL, 0 } };
	const struct task_row sender = { .state = "waiting", .reason = "chan send", .frame_cnt = 3, .end = STACK_COMPLETE,
					 .creator = { "main.start", "/app/main.go", 20 }, .parent = 1 };
	const struct task_row locker = { .state = "waiting", .reason = "sync.Mutex.Lock", .frame_cnt = 3, .end = STACK_COMPLETE };
	const struct task_row idle = { .state = "waiting", .reason = "GC sweep wait", .frame_cnt = 2, .end = STACK_COMPLETE };
	struct tasks *t = tasks_new(TASKS_GO, profile_thread(p, 1)->pid);

	p->info.has_tasks = true;
	t->program = "server";
	t->version = "go1.26.10";
	t->rate_hz = 5;
	t->looked_at_share = 1;
	for (unsigned look = 0; look < 5; look++) {
		add_goroutines(t, 1, senders, look, &sender, sends);
		add_goroutines(t, 2, 5, look, &locker, locks);
		add_goroutines(t, 3, 2, look, &idle, idles);
		tasks_look_done(t, p->info.start_ns + (look + 1) * 200 * MS, 200 * MS);
	}
	tasks_finish(t);
	profile_add_tasks(p, t);
}
