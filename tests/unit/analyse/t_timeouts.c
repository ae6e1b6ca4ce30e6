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

#define ASKS "start_thread@libc.so.6 clerk@app write@libc.so.6"
#define COLLECTS "start_thread@libc.so.6 clerk@app collect@app pthread_cond_timedwait@libc.so.6"
#define DELIVERS "start_thread@libc.so.6 courier@app deliver@app pthread_cond_signal@libc.so.6"
#define READS "start_thread@libc.so.6 courier@app read@libc.so.6"
#define PIPE "__x64_sys_read@[kernel] ksys_read@[kernel] vfs_read@[kernel] anon_pipe_read@[kernel]"

/* Whoever asks by a pipe and runs into its time limit, while whom it asks has nothing to do, is not idle. */
static void test_missed(void)
{
	static const struct {
		uint64_t asked_cnt, timed_out_cnt, signalled_cnt;
		bool is_idle;
	} cases[] = {
		{ 80, 20, 1, false },
		{ 80, 20, 0, true }, /* nobody ever answers: a clock that hands out some work each time */
		{ 20, 20, 1, true }, /* it never goes on without its time limit */
		{ 80, 20, 10, true }, /* it is mostly signalled */
	};

	for (unsigned k = 0; k < G_N_ELEMENTS(cases); k++) {
		struct profile *p = profile_new();

		p->info.filters = profile_string(p, "process 1");
		p->info.duration_ns = 10000 * MS;
		p->info.cpus = 2;
		p->info.has_wakers = true;
		const uint32_t clerk = add_thread(p, 2, "clerk"), courier = add_thread(p, 3, "courier");
		const uint32_t timed = add_wait(p, clerk, COLLECTS, cases[k].timed_out_cnt, UINT32_MAX, "");
		const uint32_t reads = add_wait(p, courier, READS, cases[k].asked_cnt, clerk, ASKS);

		g_array_index(p->waits, struct wait, reads).kernel = fixture_stack(p, FRAME_KERNEL, STACK_COMPLETE, PIPE);
		if (cases[k].signalled_cnt)
			add_wait(p, clerk, COLLECTS, cases[k].signalled_cnt, courier, DELIVERS);
		struct findings *f = findings_new(p, NULL);
		if (reasons_is_idle(f->reasons, timed) != cases[k].is_idle)
			g_error("case %u", k);
		for (guint i = 0; i < f->rows->len; i++) {
			const struct finding *row = &g_array_index(f->rows, struct finding, i);

			g_assert_cmpuint(row->asks, ==, !cases[k].is_idle && f->blocked_in[timed] == row->id ? courier + 1 : 0);
			g_assert_true(row->waits_for_asker == (!cases[k].is_idle && f->blocked_in[reads] == row->id));
		}
		findings_free(f);
		profile_free(p);
	}
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/timeouts/find", test_timeouts);
	g_test_add_func("/timeouts/missed", test_missed);
	return g_test_run();
}
