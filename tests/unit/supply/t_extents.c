/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <glib.h>

#include "supply/tables_part.h"

#define BLOCKS 4096

static void test_first_fit(void)
{
	struct extents *e = extents_new();
	uint32_t first;

	g_assert_false(extents_take(e, 1, &first));
	extents_give(e, 0, 10);
	g_assert_true(extents_take(e, 4, &first));
	g_assert_cmpuint(first, ==, 0);
	g_assert_true(extents_take(e, 6, &first));
	g_assert_cmpuint(first, ==, 4);
	g_assert_false(extents_take(e, 1, &first));
	g_assert_cmpuint(extents_free_cnt(e), ==, 0);
	/* what lies apart is no place for what is longer */
	extents_give(e, 0, 2);
	extents_give(e, 4, 2);
	g_assert_false(extents_take(e, 3, &first));
	/* until the gap closes */
	extents_give(e, 2, 2);
	g_assert_cmpuint(extents_tail(e, 6), ==, 6);
	g_assert_cmpuint(extents_tail(e, 7), ==, 0);
	g_assert_true(extents_take(e, 6, &first));
	g_assert_cmpuint(first, ==, 0);
	extents_free(e);
}

struct piece {
	uint32_t first, cnt;
};

static void mark(bool *is_taken, const struct piece *p, bool to)
{
	for (uint32_t i = p->first; i < p->first + p->cnt; i++) {
		g_assert_cmpint(is_taken[i], ==, !to);
		is_taken[i] = to;
	}
}

/* No block is given out twice, none is lost, and all free ones together become one again. */
static void test_random(void)
{
	g_autoptr(GRand) rand = g_rand_new_with_seed(7);
	g_autoptr(GArray) pieces = g_array_new(FALSE, FALSE, sizeof(struct piece));
	static bool is_taken[BLOCKS];
	struct extents *e = extents_new();
	uint64_t taken_cnt = 0;

	extents_give(e, 0, BLOCKS);
	for (int i = 0; i < 20000; i++) {
		struct piece p = { .cnt = (uint32_t)g_rand_int_range(rand, 1, 200) };

		if (g_rand_boolean(rand) && extents_take(e, p.cnt, &p.first)) {
			mark(is_taken, &p, true);
			taken_cnt += p.cnt;
			g_array_append_val(pieces, p);
		} else if (pieces->len) {
			guint no = (guint)g_rand_int_range(rand, 0, (gint)pieces->len);

			p = g_array_index(pieces, struct piece, no);
			g_array_remove_index_fast(pieces, no);
			mark(is_taken, &p, false);
			taken_cnt -= p.cnt;
			extents_give(e, p.first, p.cnt);
		}
		g_assert_cmpuint(extents_free_cnt(e), ==, BLOCKS - taken_cnt);
	}
	for (guint i = 0; i < pieces->len; i++)
		extents_give(e, g_array_index(pieces, struct piece, i).first,
			     g_array_index(pieces, struct piece, i).cnt);
	g_assert_cmpuint(extents_tail(e, BLOCKS), ==, BLOCKS);
	extents_free(e);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/extents/first-fit", test_first_fit);
	g_test_add_func("/extents/random", test_random);
	return g_test_run();
}
