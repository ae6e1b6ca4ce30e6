/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "fold/crossed.h"

static unsigned freed_cnt;

static void free_row(gpointer row)
{
	freed_cnt++;
	g_free(row);
}

static void add(struct crossed *c, uint64_t id, bool is_kept)
{
	struct crossed_row *r = g_new0(struct crossed_row, 1);

	r->id = id;
	r->is_kept = is_kept;
	crossed_add(c, r);
}

/* A row stays as long as it is met, and for one turn more. */
static void test_forgets_what_nobody_meets(void)
{
	struct crossed *c = crossed_new(free_row);

	freed_cnt = 0;
	add(c, 1, false);
	add(c, 2, false);
	add(c, 3, true);
	for (unsigned turn = 0; turn < 5; turn++) {
		g_assert_nonnull(crossed_find(c, 2));
		crossed_forget(c);
		/* not even by a look */
		g_assert_cmpint(crossed_has(c, 1), ==, turn < 2);
	}
	g_assert_null(crossed_find(c, 1));
	g_assert_true(crossed_has(c, 2) && crossed_has(c, 3));
	g_assert_cmpuint(crossed_cnt(c), ==, 2);
	g_assert_cmpuint(freed_cnt, ==, 1);
	/* it comes again */
	add(c, 1, false);
	g_assert_nonnull(crossed_find(c, 1));
	crossed_free(c);
	g_assert_cmpuint(freed_cnt, ==, 4);
}

static void count(void *row, void *data)
{
	*(uint64_t *)data += ((struct crossed_row *)row)->id;
}

static void test_one_row_an_id(void)
{
	struct crossed *c = crossed_new(free_row);
	uint64_t sum = 0;

	freed_cnt = 0;
	add(c, 5, false);
	add(c, 5, false);
	add(c, 6, false);
	crossed_for_each(c, count, &sum);
	g_assert_cmpuint(sum, ==, 11);
	g_assert_cmpuint(freed_cnt, ==, 1);
	crossed_free(c);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/crossed/forgets_what_nobody_meets", test_forgets_what_nobody_meets);
	g_test_add_func("/crossed/one_row_an_id", test_one_row_an_id);
	return g_test_run();
}
