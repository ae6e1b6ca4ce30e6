/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* When tasks were seen, and what a part of the window is told to hold. */

#include "features/tasks/rows.h"

#define S UINT64_C(1000000000)
#define PERIOD_NS (S / 5)
#define START_NS (100 * S)

static struct task_row *row_of(struct tasks *t, uint64_t key)
{
	bool is_new;
	struct task_row *row = tasks_row(t, key, &is_new);

	if (is_new) {
		row->state = "waiting";
		row->parent = key;
	}
	return row;
}

static void see(struct tasks *t, uint64_t key, uint64_t cnt)
{
	for (uint64_t i = 0; i < cnt; i++)
		tasks_seen(t, row_of(t, key), 1);
}

/* Of key 1 there are 10 all the time, of key 2 as many as the look has passed tens of, of key 3 one in every third. */
static struct tasks *make(unsigned looks)
{
	struct tasks *t = tasks_new(TASKS_GO, 12);

	for (unsigned i = 0; i < looks; i++) {
		see(t, 1, 10);
		see(t, 2, i / 10);
		see(t, 3, i % 3 == 0);
		t->stale += i % 2;
		tasks_look_done(t, START_NS + (i + 1) * PERIOD_NS, PERIOD_NS);
	}
	tasks_finish(t);
	return t;
}

static const struct task_row *find(const struct tasks *t, uint64_t key)
{
	for (guint i = 0; i < t->rows->len; i++)
		if (tasks_get(t, i)->parent == key)
			return tasks_get(t, i);
	return NULL;
}

static uint64_t task_ns(const struct tasks *t, uint64_t key)
{
	return find(t, key) ? find(t, key)->task_ns : 0;
}

/* A look that stands for what the last one saw counts as one that saw it again. */
static void test_again(void)
{
	struct tasks *t = tasks_new(TASKS_GO, 12), *seen = tasks_new(TASKS_GO, 12);

	for (unsigned i = 0; i < 9; i++) {
		const uint64_t end_ns = START_NS + (i + 1) * PERIOD_NS;

		see(seen, 1, 10);
		see(seen, 2, i / 3);
		tasks_look_done(seen, end_ns, PERIOD_NS);
		if (i % 3) {
			tasks_look_again(t, end_ns, PERIOD_NS);
			continue;
		}
		see(t, 1, 10);
		see(t, 2, i / 3);
		tasks_look_done(t, end_ns, PERIOD_NS);
	}
	tasks_finish(t);
	tasks_finish(seen);
	g_assert_cmpuint(t->looks, ==, seen->looks);
	g_assert_true(task_looks_check(t));
	for (uint64_t key = 1; key <= 2; key++) {
		g_assert_cmpuint(find(t, key)->seen, ==, find(seen, key)->seen);
		g_assert_cmpuint(find(t, key)->task_ns, ==, find(seen, key)->task_ns);
		g_assert_cmpuint(find(t, key)->task_se_ns, ==, find(seen, key)->task_se_ns);
	}
	tasks_free(t);
	tasks_free(seen);
}

static void test_all(void)
{
	struct tasks *t = make(50), *whole = make(50);

	g_assert_true(task_looks_check(t));
	g_assert_cmpuint(t->when->len, ==, 50);
	g_assert_true(tasks_cut_range(t, 0, UINT64_MAX));
	for (uint64_t key = 1; key <= 3; key++) {
		g_assert_cmpuint(find(t, key)->task_ns, ==, find(whole, key)->task_ns);
		g_assert_cmpuint(find(t, key)->task_se_ns, ==, find(whole, key)->task_se_ns);
		g_assert_cmpuint(find(t, key)->seen, ==, find(whole, key)->seen);
		g_assert_cmpfloat(find(t, key)->tasks, ==, find(whole, key)->tasks);
	}
	g_assert_cmpuint(t->window_ns, ==, whole->window_ns);
	g_assert_cmpuint(t->looks, ==, 50);
	g_assert_cmpuint(t->stale, ==, 25);
	tasks_free(t);
	tasks_free(whole);
}

static void test_range(void)
{
	struct tasks *t = make(50);

	/* looks 20 to 29 */
	g_assert_true(tasks_cut_range(t, START_NS + 4 * S, START_NS + 6 * S));
	g_assert_true(task_looks_check(t));
	g_assert_cmpuint(t->looks, ==, 10);
	g_assert_cmpuint(t->window_ns, ==, 2 * S);
	g_assert_cmpuint(task_ns(t, 1), ==, 20 * S);
	g_assert_cmpuint(task_ns(t, 2), ==, 4 * S);
	g_assert_cmpuint(find(t, 1)->seen, ==, 100);
	g_assert_cmpfloat(find(t, 1)->tasks, ==, 10);
	g_assert_cmpuint(find(t, 1)->task_se_ns, ==, PERIOD_NS);
	g_assert_cmpuint(find(t, 3)->task_se_ns, >, PERIOD_NS);
	g_assert_cmpuint(t->stale, ==, 5);
	/* of that the first second, where no row but these were */
	g_assert_true(tasks_cut_range(t, 0, START_NS + 5 * S));
	g_assert_cmpuint(task_ns(t, 1), ==, 10 * S);
	tasks_free(t);
	t = make(10);
	g_assert_true(tasks_cut_range(t, START_NS + PERIOD_NS, START_NS + 2 * PERIOD_NS));
	g_assert_cmpuint(t->rows->len, ==, 1);
	g_assert_false(tasks_cut_range(t, START_NS + 7 * S, START_NS + 9 * S));
	tasks_free(t);
}

/* Ranges that follow one another add up to the whole, wherever they meet. */
static void test_ranges_add_up(void)
{
	for (unsigned at = 0; at < 30; at++) {
		struct tasks *a = make(30), *b = make(30), *whole = make(30);
		const uint64_t edge_ns = START_NS + at * UINT64_C(203456789);

		tasks_cut_range(a, 0, edge_ns);
		tasks_cut_range(b, edge_ns, UINT64_MAX);
		g_assert_cmpuint(a->window_ns + b->window_ns, ==, whole->window_ns);
		for (uint64_t key = 1; key <= 3; key++) {
			const uint64_t sum = task_ns(a, key) + task_ns(b, key);

			g_assert_cmpuint(sum, >=, task_ns(whole, key) - 1);
			g_assert_cmpuint(sum, <=, task_ns(whole, key) + 1);
		}
		tasks_free(a);
		tasks_free(b);
		tasks_free(whole);
	}
}

static void test_joined(void)
{
	struct tasks *t = make(5000);
	uint64_t sum[4] = { 0 }, seen = 0;

	g_assert_true(task_looks_check(t));
	g_assert_cmpuint(t->when->len, >, TASK_LOOKS_MAX / 4);
	for (guint i = 0; i < t->cells->len; i++) {
		const struct task_cell *cell = task_looks_cell(t, i);

		sum[tasks_get(t, cell->row)->parent] += cell->task_ns;
		seen += cell->seen;
	}
	for (uint64_t key = 1; key <= 3; key++)
		g_assert_cmpuint(sum[key], ==, task_ns(t, key));
	g_assert_cmpuint(seen, ==, find(t, 1)->seen + find(t, 2)->seen + find(t, 3)->seen);
	g_assert_cmpuint(task_looks_get(t, 0)->looks, ==, 16);
	g_assert_true(tasks_cut_range(t, START_NS + 320 * S, START_NS + 640 * S));
	g_assert_cmpuint(t->looks, ==, 1600);
	g_assert_cmpuint(task_ns(t, 1), ==, 3200 * S);
	tasks_free(t);
}

static void test_rows_left_out(void)
{
	struct tasks *t = make(50);

	tasks_cut_rows(t, 1);
	g_assert_true(task_looks_check(t));
	g_assert_true(tasks_cut_range(t, START_NS + 4 * S, START_NS + 6 * S));
	g_assert_cmpuint(t->rows->len, ==, 1);
	g_assert_cmpuint(t->no_row, >, 0);
	tasks_free(t);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/task-looks/all", test_all);
	g_test_add_func("/task-looks/again", test_again);
	g_test_add_func("/task-looks/range", test_range);
	g_test_add_func("/task-looks/ranges-add-up", test_ranges_add_up);
	g_test_add_func("/task-looks/joined", test_joined);
	g_test_add_func("/task-looks/rows-left-out", test_rows_left_out);
	return g_test_run();
}
