/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "change.h"

#include <string.h>

#include "features/slices/rows_build.h"
#include "fixture.h"

/*
 * Four workers of a server, and a kernel worker, for 30 s.  Of each worker:
 *
 *   what         before                            after
 *   lock         5000 of 1.00 ms in commit         5000 of 1.10 ms in commit.constprop.0
 *   sleep        2000 of 2.00 ms in nap            2000 of 1.98 ms
 *   old          500 of 1.00 ms in old_path        none
 *   new          none                              800 of 1.00 ms in a function with a hostile name
 *   moved        300 of 3.00 ms in flush           300 of 3.00 ms in flush, called by wrapper
 *   library      400 of 0.50 ms in libx.so.1.2     400 of 0.50 ms in libx.so.1.3, at another address
 *   short        none                              10 of 1.00 ms of thread 0 as lock, frames left out
 *   idle         one wait of all the time that is left of the 30 s, open at both ends
 *
 *   per thread   before 5000+4000+500+0+900+200 = 10600 ms    after 5500+3960+0+800+900+200 = 11360 ms
 *
 * Threads differ a little: the sums of thread 0 and 1 are 1 % above, of 2 and 3 1 % below.
 */

#define MS UINT64_C(1000000)
#define US UINT64_C(1000)
#define WINDOW_NS (30 * 1000 * MS)

#define FUTEX "entry_SYSCALL_64_after_hwframe do_syscall_64 __x64_sys_futex futex_wait"

static const char hostile[] = "evil</title><script>alert(1)</script>\033[31m&\"'@app";

static uint64_t add(struct profile *p, uint32_t thread, const char *user, const char *kernel, uint64_t cnt, uint64_t ns)
{
	struct wait w = {
		.thread = thread, .state = 'S', .count = cnt,
		.user = fixture_stack(p, FRAME_USER, STACK_COMPLETE, user),
		.kernel = fixture_stack(p, FRAME_KERNEL, STACK_NONE, kernel),
	};

	if (!cnt)
		return 0;
	ns = thread < 2 ? ns + ns / 100 : ns - ns / 100;
	w.blocked_ns = cnt * ns;
	w.max_ns = 2 * ns;
	/* Spread over two slots: what their sum says of the squares, test_change has from elsewhere. */
	w.hist[profile_hist_slot(ns)] = (uint32_t)(cnt - cnt / 4);
	w.hist[profile_hist_slot(ns) - 1] = (uint32_t)(cnt / 4);
	profile_add_wait(p, &w);
	return w.blocked_ns;
}

static void add_worker(struct profile *p, bool is_after, uint32_t tid)
{
	struct thread t = {
		.pid = is_after ? 900 : 100, .tid = (is_after ? 900 : 100) + tid, .comm = profile_string(p, "worker"),
		.process = profile_string(p, "server"), .from_ns = 1, .to_ns = 1 + WINDOW_NS,
	};
	uint32_t thread = profile_add_thread(p, &t);
	g_autofree char *new_path = g_strdup_printf("main@app loop@app %s write@libc.so.6", hostile);
	uint64_t ns = 0;

	ns += add(p, thread, is_after ? "main@app loop@app commit.constprop.0@app pthread_mutex_lock@libc.so.6" :
			     "main@app loop@app commit@app pthread_mutex_lock@libc.so.6", FUTEX, 5000,
		  is_after ? 1100 * US : 1000 * US);
	ns += add(p, thread, "main@app loop@app nap@app clock_nanosleep@libc.so.6", "do_nanosleep", 2000,
		  is_after ? 1980 * US : 2000 * US);
	ns += add(p, thread, "main@app loop@app old_path@app read@libc.so.6", "pipe_read", is_after ? 0 : 500, 1000 * US);
	ns += add(p, thread, new_path, "pipe_write", is_after ? 800 : 0, 1000 * US);
	ns += add(p, thread, is_after ? "main@app loop@app wrapper@app flush@app fsync@libc.so.6" :
			     "main@app loop@app flush@app fsync@libc.so.6", "jbd2_log_wait_commit", 300, 3000 * US);
	ns += add(p, thread, is_after ? "main@app ?@/lib/libx.so.1.3" : "main@app ?@/lib/libx.so.1.2", "poll_schedule_timeout",
		  400, 500 * US);
	if (is_after && tid == 1)	/* before the tables of unwinding were read */
		ns += add(p, thread, "main@app pthread_mutex_lock@libc.so.6", FUTEX, 10, 1000 * US);
	struct thread *own = &g_array_index(p->threads, struct thread, thread);
	const struct wait idle = {
		.thread = thread, .state = 'S', .flags = WAIT_OPEN_AT_START | WAIT_OPEN_AT_END, .count = 1,
		.user = fixture_stack(p, FRAME_USER, STACK_COMPLETE, "main@app idle@app pause@libc.so.6"),
		.blocked_ns = WINDOW_NS - ns - 1000 * MS, .max_ns = WINDOW_NS - ns - 1000 * MS, .hist = { [34] = 1 },
	};

	profile_add_wait(p, &idle);
	own->blocked_ns = ns + idle.blocked_ns;
	own->on_cpu_ns = 1000 * MS;
}

struct profile *change_new(bool is_after)
{
	struct profile *p = profile_new();
	struct thread kworker = {
		.pid = 2, .tid = is_after ? 77 : 44, .comm = profile_string(p, is_after ? "kworker/3:2" : "kworker/0:1"),
		.process = profile_string(p, is_after ? "kworker/3:2" : "kworker/0:1"), .from_ns = 1, .to_ns = 1 + WINDOW_NS,
		.flags = THREAD_KERNEL, .blocked_ns = 29 * 1000 * MS, .on_cpu_ns = 1000 * MS,
	};

	p->info.host = profile_string(p, "testhost");
	p->info.kernel = profile_string(p, "6.18.0-test");
	p->info.cpus = 2;
	p->info.start_unix_ns = is_after ? 1790000600000000000 : 1790000000000000000;
	p->info.start_ns = 1;
	p->info.duration_ns = WINDOW_NS;
	p->info.version = profile_string(p, "0");
	for (uint32_t i = 1; i <= 4; i++)
		add_worker(p, is_after, i);
	const struct wait work = {
		.thread = profile_add_thread(p, &kworker), .state = 'I', .count = 290, .blocked_ns = 29 * 1000 * MS, .max_ns = 200 * MS,
		.kernel = fixture_stack(p, FRAME_KERNEL, STACK_NONE, "kthread worker_thread"), .hist = { [26] = 290 },
	};

	profile_add_wait(p, &work);
	return p;
}

#define LOCK_CNT 5000

/* Evenly over the slices that begin at from_ns or later. */
static void spread(struct slice_builder *b, uint64_t slice_ns, uint32_t row, uint64_t cnt, uint64_t each_ns, uint64_t from_ns)
{
	unsigned slices_cnt = (unsigned)((WINDOW_NS - from_ns) / slice_ns);

	for (unsigned i = 0; i < slices_cnt; i++) {
		uint64_t n = cnt * (i + 1) / slices_cnt - cnt * i / slices_cnt;
		struct slice_cell cell = { .row = row, .count_q8 = n * SLICE_COUNT_Q8, .blocked_ns = n * each_ns, .max_ns = each_ns };

		if (!n)
			continue;
		slice_hist_add(&cell.bars, profile_hist_slot(each_ns), n * SLICE_COUNT_Q8);
		slice_builder_add(b, from_ns + i * slice_ns + 10 * MS, &cell);
	}
}

void change_add_more(struct profile *p, bool is_after, uint64_t slice_ns)
{
	const struct waker worker = {
		.pid = is_after ? 900 : 100, .tid = 1, .comm = "worker",
		.user = fixture_stack(p, FRAME_USER, STACK_COMPLETE, "main@app loop@app commit@app pthread_mutex_unlock@libc.so.6"),
		.kernel = fixture_stack(p, FRAME_KERNEL, STACK_NONE, "futex_wake"),
	};
	const struct waker timer = { .comm = "", .irq = "timer", .kernel = fixture_stack(p, FRAME_KERNEL, STACK_NONE, "hrtimer_wakeup") };
	uint32_t wakers[] = { profile_waker(p, &worker), profile_waker(p, &timer) };
	struct slice_builder *b = slice_builder_new(slice_ns);
	g_autoptr(GArray) codes = g_array_new(FALSE, FALSE, sizeof(uint32_t));

	p->info.has_wakers = true;
	for (uint32_t i = 0; i < p->waits->len; i++) {
		struct wait *w = &g_array_index(p->waits, struct wait, i);
		uint64_t each_ns = w->blocked_ns / w->count;
		uint64_t by[] = { is_after ? LOCK_CNT : 3000, is_after ? 0 : 2000 };

		if (w->count == 1) {
			uint32_t code = slice_code_of_wait(i);
			struct slice_cell cell = { .row = codes->len, .is_whole = true, .is_even = true };

			slice_builder_add(b, 0, &cell);
			g_array_append_val(codes, code);
			continue;
		}
		memset(w->hist, 0, sizeof(w->hist));
		w->hist[profile_hist_slot(each_ns)] = (uint32_t)w->count;
		w->max_ns = each_ns;
		if (w->count != LOCK_CNT) {
			uint32_t code = slice_code_of_wait(i);

			spread(b, slice_ns, codes->len, w->count, each_ns, 0);
			g_array_append_val(codes, code);
			continue;
		}
		for (unsigned k = 0; k < G_N_ELEMENTS(by) && by[k]; k++) {
			const struct wake wake = { .wait = i, .waker = wakers[k], .count = by[k], .blocked_ns = by[k] * each_ns,
						   .hist = { [0] = (uint32_t)by[k] } };
			uint32_t code = slice_code_of_wake(profile_add_wake(p, &wake));

			spread(b, slice_ns, codes->len, by[k], each_ns, is_after ? WINDOW_NS / 2 : 0);
			g_array_append_val(codes, code);
		}
	}
	p->slices = slice_builder_finish(b, p, (const uint32_t *)(const void *)codes->data);
	slice_builder_free(b);
}

static uint32_t random_below(uint64_t *seed, uint32_t limit)
{
	*seed = *seed * 6364136223846793005ULL + 1442695040888963407ULL;
	return (uint32_t)(*seed >> 33) % limit;
}

struct profile *change_large(unsigned stacks_cnt, unsigned seed)
{
	struct profile *p = profile_new();
	uint64_t shape = 42, chance = seed;

	p->info.duration_ns = WINDOW_NS;
	p->info.version = profile_string(p, "0");
	for (unsigned i = 0; i < 16; i++) {
		struct thread t = { .pid = 100, .tid = 100 + i, .comm = profile_string(p, "worker"), .process = profile_string(p, "server"),
				    .from_ns = 1, .to_ns = 1 + WINDOW_NS };
		profile_add_thread(p, &t);
	}
	for (unsigned i = 0; i < stacks_cnt; i++) {
		uint32_t node = 0, depth = 15 + random_below(&shape, 20);

		for (unsigned n = 0; n < depth; n++) {
			/* One stack of a hundred is of one recording alone. */
			bool own = n == depth / 2 && random_below(&chance, 100) == 0;
			g_autofree char *name = g_strdup_printf("ns::module_%u::function%s(int, char const*)",
								n < 4 ? n : random_below(&shape, 3000), own ? "_own" : "");
			struct frame f = { .name = name, .module = "/usr/bin/app", .offset = 0x1000, .kind = FRAME_USER };

			node = profile_node(p, node, profile_frame(p, &f));
		}
		uint32_t count = 1 + random_below(&chance, 50);
		struct wait w = { .thread = random_below(&chance, 16), .state = 'S', .user = node, .count = count,
				  .blocked_ns = count * MS, .max_ns = 2 * MS, .hist = { [19] = count } };
		profile_add_wait(p, &w);
	}
	return p;
}
