/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "fold/windows.h"

#include <glib.h>

/* What came out of the windows. */
static GArray *taken;

static void take(const struct offcpu_rec_thread *rec, void *data)
{
	g_assert_true(data == &taken);
	g_array_append_vals(taken, rec, 1);
}

static const struct offcpu_rec_thread *taken_at(guint i)
{
	g_assert_cmpuint(i, <, taken->len);
	return &g_array_index(taken, struct offcpu_rec_thread, i);
}

static uint64_t account_ns(const struct offcpu_account *a)
{
	uint64_t sum_ns = a->on_cpu_ns + a->filtered.blocked_ns + a->filtered.runnable_ns + a->filtered.preempted_ns;

	for (unsigned i = 0; i < OFFCPU_STATE_COUNT; i++)
		sum_ns += a->state[i].blocked_ns + a->state[i].runnable_ns + a->state[i].preempted_ns;
	return sum_ns;
}

/* A thread from 1000 on, that slept for 300 and ran for 200, and sleeps again at the first cut. */
static struct offcpu_rec_thread sleeper(uint64_t edge_ns)
{
	struct offcpu_rec_thread rec = {
		.tno = 7, .from_ns = 1000, .to_ns = edge_ns, .end = OFFCPU_END_CUT, .flags = OFFCPU_THREAD_OPEN_AT_END,
		.open_state = 'S', .open_ustack = 5,
	};

	rec.account.on_cpu_ns = 200;
	rec.account.switches = 2;
	rec.account.state[OFFCPU_STATE_S] = (struct offcpu_state_total){ .count = 1, .blocked_ns = 250, .runnable_ns = 50 };
	return rec;
}

static void begin(void)
{
	taken = g_array_new(FALSE, FALSE, sizeof(struct offcpu_rec_thread));
}

/* It slept on over the first cut, up to 100 behind it, ran up to the second one, and ended 50 later. */
static void test_three_windows(void)
{
	struct fold_windows *w = fold_windows_new();
	struct offcpu_rec_thread rec = sleeper(2000);

	begin();
	rec.open_blocked_ns = 500;
	fold_windows_cut(w, 2000);
	fold_windows_take(w, &rec, take, &taken);
	fold_windows_next(w, take, &taken);
	rec.to_ns = 3000;
	rec.flags = 0;
	rec.account.state[OFFCPU_STATE_S].count = 2;
	rec.account.state[OFFCPU_STATE_S].blocked_ns = 350;
	rec.open_state = 0;
	rec.open_blocked_ns = 0;
	rec.open_on_cpu_ns = 900;
	fold_windows_cut(w, 3000);
	fold_windows_take(w, &rec, take, &taken);
	fold_windows_next(w, take, &taken);
	rec.to_ns = 3050;
	rec.end = OFFCPU_END_EXIT;
	rec.open_on_cpu_ns = 0;
	rec.account.on_cpu_ns += 50;
	rec.account.switches = 3;
	fold_windows_take(w, &rec, take, &taken);

	g_assert_cmpuint(taken->len, ==, 3);
	for (guint i = 0; i < 3; i++)
		g_assert_cmpuint(account_ns(&taken_at(i)->account), ==, taken_at(i)->to_ns - taken_at(i)->from_ns);
	g_assert_cmpuint(taken_at(0)->from_ns, ==, 1000);
	g_assert_cmpuint(taken_at(0)->end, ==, OFFCPU_END_WINDOW);
	g_assert_cmpuint(taken_at(0)->account.state[OFFCPU_STATE_S].count, ==, 2);
	g_assert_cmpuint(taken_at(0)->account.state[OFFCPU_STATE_S].blocked_ns, ==, 750);
	g_assert_cmpuint(taken_at(0)->open_state, ==, 'S');
	g_assert_cmpuint(taken_at(1)->from_ns, ==, 2000);
	g_assert_cmpuint(taken_at(1)->flags, ==, OFFCPU_THREAD_OPEN_AT_START);
	g_assert_cmpuint(taken_at(1)->account.state[OFFCPU_STATE_S].count, ==, 1);
	g_assert_cmpuint(taken_at(1)->account.state[OFFCPU_STATE_S].blocked_ns, ==, 100);
	g_assert_cmpuint(taken_at(1)->account.on_cpu_ns, ==, 900);
	g_assert_cmpuint(taken_at(1)->account.switches, ==, 0);
	g_assert_cmpuint(taken_at(2)->from_ns, ==, 3000);
	g_assert_cmpuint(taken_at(2)->flags, ==, 0);
	g_assert_cmpuint(taken_at(2)->account.on_cpu_ns, ==, 50);
	g_assert_cmpuint(taken_at(2)->end, ==, OFFCPU_END_EXIT);
	fold_windows_free(w);
	g_array_unref(taken);
}

/* What is told of one that slept on is what its whole account would tell. */
static void test_slept_on(void)
{
	struct fold_windows *w = fold_windows_new();
	struct offcpu_rec_thread rec = sleeper(2000);
	const struct offcpu_rec_still still = { .tno = 7, .comm = "renamed", .process = "program", .cgroup_id = 9 };
	const struct offcpu_rec_still stranger = { .tno = 8 };

	begin();
	rec.open_blocked_ns = 500;
	rec.open_kstack = 6;
	rec.open_object = 4;
	fold_windows_cut(w, 2000);
	fold_windows_take(w, &rec, take, &taken);
	for (uint64_t edge_ns = 3000; edge_ns <= 4000; edge_ns += 1000) {
		fold_windows_next(w, take, &taken);
		fold_windows_cut(w, edge_ns);
		g_assert_true(fold_windows_take_still(w, &still, take, &taken));
		g_assert_false(fold_windows_take_still(w, &stranger, take, &taken));
		const struct offcpu_rec_thread slept = *taken_at(taken->len - 1);

		g_assert_cmpuint(slept.from_ns, ==, edge_ns - 1000);
		g_assert_cmpuint(slept.to_ns, ==, edge_ns);
		g_assert_cmpuint(account_ns(&slept.account), ==, 1000);
		g_assert_cmpuint(slept.account.switches, ==, 0);
		g_assert_cmpuint(slept.account.state[OFFCPU_STATE_S].count, ==, 1);
		g_assert_cmpuint(slept.open_blocked_ns, ==, 1000);
		g_assert_cmpuint(slept.open_flags, ==, OFFCPU_OPEN_AT_START);
		g_assert_cmpuint(slept.flags, ==, OFFCPU_THREAD_OPEN_AT_START | OFFCPU_THREAD_OPEN_AT_END);
		g_assert_cmpuint(slept.open_ustack + slept.open_kstack + slept.open_object, ==, 15);
		g_assert_cmpstr(slept.comm, ==, "renamed");
		g_assert_cmpuint(slept.cgroup_id, ==, 9);
	}
	/* it wakes 30 behind the last cut and ends at 4100 */
	fold_windows_next(w, take, &taken);
	rec.end = OFFCPU_END_EXIT;
	rec.to_ns = 4100;
	rec.open_state = 0;
	rec.flags = 0;
	rec.account.on_cpu_ns += 70;
	rec.account.state[OFFCPU_STATE_S].count = 2;
	rec.account.state[OFFCPU_STATE_S].blocked_ns += 30;
	fold_windows_take(w, &rec, take, &taken);
	g_assert_cmpuint(taken->len, ==, 4);
	g_assert_cmpuint(account_ns(&taken_at(3)->account), ==, 100);
	g_assert_cmpuint(taken_at(3)->from_ns, ==, 4000);
	g_assert_cmpuint(taken_at(3)->flags, ==, OFFCPU_THREAD_OPEN_AT_START);
	fold_windows_free(w);
	g_array_unref(taken);
}

/* What ended behind the edge may come before what was cut there, and waits for the next window. */
static void test_out_of_order(void)
{
	struct fold_windows *w = fold_windows_new();
	struct offcpu_rec_thread cut = sleeper(2000), end = sleeper(2010), other = sleeper(1990);

	begin();
	cut.open_blocked_ns = 500;
	end.end = OFFCPU_END_EXIT;
	end.open_state = 0;
	end.account.state[OFFCPU_STATE_S].blocked_ns += 10;
	other.tno = 8;
	other.end = OFFCPU_END_EXIT;
	fold_windows_cut(w, 2000);
	fold_windows_take(w, &end, take, &taken);
	fold_windows_take(w, &cut, take, &taken);
	fold_windows_take(w, &other, take, &taken);
	g_assert_cmpuint(taken->len, ==, 2);
	g_assert_cmpuint(taken_at(0)->to_ns, ==, 2000);
	g_assert_cmpuint(taken_at(1)->tno, ==, 8);
	fold_windows_next(w, take, &taken);
	g_assert_cmpuint(taken->len, ==, 3);
	g_assert_cmpuint(taken_at(2)->from_ns, ==, 2000);
	g_assert_cmpuint(account_ns(&taken_at(2)->account), ==, 10);
	fold_windows_free(w);
	g_array_unref(taken);
}

/* Was not told at the second cut: the third window has both, and nothing is lost. */
static void test_a_cut_that_was_missed(void)
{
	struct fold_windows *w = fold_windows_new();
	struct offcpu_rec_thread rec = sleeper(2000);

	begin();
	rec.open_blocked_ns = 500;
	fold_windows_cut(w, 2000);
	fold_windows_take(w, &rec, take, &taken);
	fold_windows_next(w, take, &taken);
	fold_windows_cut(w, 3000);
	fold_windows_next(w, take, &taken);
	rec.to_ns = 4000;
	rec.open_blocked_ns = 2000;
	fold_windows_cut(w, 4000);
	fold_windows_take(w, &rec, take, &taken);
	g_assert_cmpuint(taken->len, ==, 2);
	g_assert_cmpuint(taken_at(1)->from_ns, ==, 2000);
	g_assert_cmpuint(account_ns(&taken_at(1)->account), ==, 2000);
	g_assert_cmpuint(taken_at(1)->flags, ==, OFFCPU_THREAD_OPEN_AT_START | OFFCPU_THREAD_OPEN_AT_END);
	fold_windows_free(w);
	g_array_unref(taken);
}

/* What no filter lets through is in the account, and listed nowhere; what the quota took never shrinks below 0. */
static void test_filtered(void)
{
	struct fold_windows *w = fold_windows_new();
	struct offcpu_rec_thread rec = sleeper(2000);

	begin();
	rec.open_flags = OFFCPU_OPEN_FILTERED;
	rec.open_runnable_ns = 500;
	rec.throttled_runnable_ns = 400;
	fold_windows_cut(w, 2000);
	fold_windows_take(w, &rec, take, &taken);
	fold_windows_next(w, take, &taken);
	g_assert_cmpuint(taken_at(0)->open_state, ==, 0);
	g_assert_cmpuint(taken_at(0)->account.filtered.runnable_ns, ==, 500);
	g_assert_cmpuint(taken_at(0)->account.filtered.count, ==, 1);
	g_assert_cmpuint(taken_at(0)->throttled_runnable_ns, ==, 400);
	rec.to_ns = 2600;
	rec.throttled_runnable_ns = 300;
	rec.end = OFFCPU_END_WINDOW;
	rec.account.filtered.runnable_ns = 600;
	fold_windows_take(w, &rec, take, &taken);
	g_assert_cmpuint(taken_at(1)->throttled_runnable_ns, ==, 0);
	g_assert_cmpuint(account_ns(&taken_at(1)->account), ==, 600);
	fold_windows_free(w);
	g_array_unref(taken);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/windows/slept-on", test_slept_on);
	g_test_add_func("/windows/three", test_three_windows);
	g_test_add_func("/windows/out-of-order", test_out_of_order);
	g_test_add_func("/windows/missed", test_a_cut_that_was_missed);
	g_test_add_func("/windows/filtered", test_filtered);
	return g_test_run();
}
