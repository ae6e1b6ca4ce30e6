/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "analyse/reason/timeouts.h"

#include "../fixture.h"
#include "../parts.h"
#include "explain/findings.h"

#define MS UINT64_C(1000000)
#define FUTEX "__x64_sys_futex@[kernel] futex_wait@[kernel]"
#define ASK "start_thread@libc.so.6 ask@app await_reply@app pthread_cond_wait@libc.so.6"

static uint32_t add_thread(struct profile *p, uint32_t tid, const char *comm)
{
	const struct thread t = { .pid = 1, .tid = tid, .comm = profile_string(p, comm), .process = profile_string(p, "app"),
				  .to_ns = 10000 * MS };

	return profile_add_thread(p, &t);
}

/* Waits of 10 ms each; by UINT32_MAX: a timer ends them, else that thread, there. */
static uint32_t add_wait(struct profile *p, uint32_t thread, const char *user, uint64_t cnt, uint32_t by, const char *ends)
{
	struct wait w = { .thread = thread, .state = 'S', .count = cnt, .max_ns = 10 * MS, .blocked_ns = cnt * 10 * MS,
			  .user = fixture_stack(p, FRAME_USER, STACK_COMPLETE, user),
			  .kernel = fixture_stack(p, FRAME_KERNEL, STACK_COMPLETE, FUTEX) };
	struct waker waker = { .comm = "", .irq = "timer" };

	w.hist[profile_hist_slot(10 * MS)] = (uint32_t)cnt;
	g_array_index(p->threads, struct thread, thread).blocked_ns += w.blocked_ns;
	if (by != UINT32_MAX) {
		const struct thread *t = profile_thread(p, by);

		waker = (struct waker){ .pid = t->pid, .tid = t->tid, .comm = t->comm };
		waker.user = fixture_stack(p, FRAME_USER, STACK_COMPLETE, ends);
	}
	const uint32_t at = profile_add_wait(p, &w);
	const struct wake wake = { .wait = at, .waker = profile_waker(p, &waker), .count = cnt, .blocked_ns = w.blocked_ns };

	profile_add_wake(p, &wake);
	return at;
}

#define TIMED "start_thread@libc.so.6 saver@app pthread_cond_timedwait@libc.so.6"
#define PUSH "start_thread@libc.so.6 saver@app push@app pthread_cond_signal@libc.so.6"
#define DONE "start_thread@libc.so.6 saver@app pthread_cond_signal@libc.so.6"

/* Who is handed something and not told so finds it when its wait times out; a clock hands out work. */
static void test_timeouts(void)
{
	static const struct {
		const char *waits, *ends;
		uint64_t cnt, timed_out_cnt, told_cnt; /* of the waits; of those of who ends them */
		bool is_idle;
	} cases[] = {
		{ ASK, DONE, 20, 20, 0, false },
		{ ASK, PUSH, 20, 20, 0, true }, /* as a clock that pushes to a queue */
		{ ASK, PUSH, 40, 20, 0, false }, /* it answers at once, too */
		{ "start_thread@libc.so.6 worker@app pthread_cond_wait@libc.so.6", DONE, 20, 20, 0, true },
		{ ASK, DONE, 20, 10, 10, true }, /* it is told, too */
		{ ASK, DONE, 20, 2, 0, true },
	};

	for (unsigned k = 0; k < G_N_ELEMENTS(cases); k++) {
		struct profile *p = profile_new();

		p->info.filters = profile_string(p, "process 1");
		p->info.duration_ns = 10000 * MS;
		p->info.cpus = 2;
		const uint32_t saver = add_thread(p, 2, "saver"), asker = add_thread(p, 3, "asker");

		add_wait(p, saver, TIMED, cases[k].timed_out_cnt, UINT32_MAX, "");
		if (cases[k].told_cnt)
			add_wait(p, saver, TIMED, cases[k].told_cnt, asker, PUSH);
		const uint32_t asks = add_wait(p, asker, cases[k].waits, cases[k].cnt, saver, cases[k].ends);
		struct findings *f = findings_new(p, NULL);
		if (reasons_is_idle(f->reasons, asks) != cases[k].is_idle)
			g_error("case %u", k);
		const struct finding *row = f->rows->len ? &g_array_index(f->rows, struct finding, 0) : NULL;
		g_assert_cmpuint(row ? row->by.timeouts_cnt : 0, ==, cases[k].is_idle ? 0 : cases[k].timed_out_cnt);
		findings_free(f);
		profile_free(p);
	}
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/timeouts/find", test_timeouts);
	return g_test_run();
}
