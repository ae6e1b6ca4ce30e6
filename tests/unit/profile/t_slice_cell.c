/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* The bytes of a cell. */
#include <string.h>

#include "features/slices/rows_build.h"

#define MS UINT64_C(1000000)

static uint64_t below(GRand *rand, uint64_t max)
{
	return (uint64_t)(g_rand_double(rand) * (double)max);
}

/* Most are short, some are as long as many slices. */
static uint64_t any_length(GRand *rand)
{
	static const uint64_t most[] = { 2000, 300000, 20 * MS, 150 * MS, 900 * MS };

	return 1 + below(rand, most[g_rand_int_range(rand, 0, G_N_ELEMENTS(most))]);
}

static void fill_cell(struct slice_cell *c, GRand *rand)
{
	memset(c, 0, sizeof(*c));
	c->row = g_rand_int(rand) % 100000;
	c->is_crossing = g_rand_boolean(rand);
	c->has_delays = g_rand_boolean(rand);
	c->blocked_ns = g_rand_boolean(rand) ? any_length(rand) : 0;
	c->runnable_ns = g_rand_boolean(rand) ? any_length(rand) : 0;
	c->preempted_ns = g_rand_boolean(rand) ? any_length(rand) : 0;
	c->before_ns = c->is_crossing ? any_length(rand) : 0;
	c->max_ns = slice_cell_ns(c);
	c->count_q8 = SLICE_COUNT_Q8;
	if (g_rand_boolean(rand)) {
		c->count_q8 = g_rand_int(rand) % 100000;
		c->max_ns = any_length(rand);
	}
	slice_hist_add(&c->bars, profile_hist_slot(c->max_ns), c->count_q8);
	for (unsigned i = 0; !c->is_crossing && c->count_q8 != SLICE_COUNT_Q8 && i < 3; i++)
		slice_hist_add(&c->bars, (unsigned)g_rand_int_range(rand, 0, (gint32)profile_hist_slot(c->max_ns) + 1), g_rand_int(rand) % 5000);
	for (unsigned i = 0; c->has_delays && i < 3; i++)
		slice_hist_add(&c->delays, (unsigned)g_rand_int_range(rand, 0, 32), 1 + g_rand_int(rand) % 5000);
}

static bool same_hist(const struct slice_hist *a, const struct slice_hist *b)
{
	uint64_t of_a[PROFILE_HIST_SLOTS] = { 0 }, of_b[PROFILE_HIST_SLOTS] = { 0 };

	for (unsigned i = 0; i < a->cnt; i++)
		of_a[a->bar[i].slot] += a->bar[i].count_q8;
	for (unsigned i = 0; i < b->cnt; i++)
		of_b[b->bar[i].slot] += b->bar[i].count_q8;
	return memcmp(of_a, of_b, sizeof(of_a)) == 0;
}

/* Bytes say what the cell said, but for the longest of several, which may be 1/256 longer. */
static void test_cells(void)
{
	GRand *rand = g_rand_new_with_seed(1);

	for (int i = 0; i < 20000; i++) {
		g_autoptr(GByteArray) bytes = g_byte_array_new();
		struct slice_cell c, back;

		fill_cell(&c, rand);
		slice_cell_put(bytes, c.row / 2, &c);
		struct cursor from = { .at = bytes->data, .end = bytes->data + bytes->len };

		g_assert_true(slice_cell_get(&from, c.row / 2, &back));
		g_assert_cmpuint(cursor_left(&from), ==, 0);
		g_assert_cmpuint(back.row, ==, c.row);
		g_assert_cmpuint(back.count_q8, ==, c.count_q8);
		g_assert_true(back.is_crossing == c.is_crossing && back.has_delays == c.has_delays);
		g_assert_cmpuint(back.blocked_ns, ==, c.blocked_ns);
		g_assert_cmpuint(back.runnable_ns, ==, c.runnable_ns);
		g_assert_cmpuint(back.preempted_ns, ==, c.preempted_ns);
		g_assert_cmpuint(back.before_ns, ==, c.before_ns);
		if (c.count_q8) {
			g_assert_cmpuint(back.max_ns, >=, c.max_ns);
			g_assert_cmpuint(back.max_ns - c.max_ns, <=, c.max_ns ? c.max_ns / 256 : 1);
		}
		g_assert_true(same_hist(&back.bars, &c.bars));
		if (c.has_delays)
			g_assert_true(same_hist(&back.delays, &c.delays));
		/* cut off anywhere it is no cell */
		for (guint cut = 0; cut < bytes->len; cut++) {
			struct cursor shorter = { .at = bytes->data, .end = bytes->data + cut };

			g_assert_false(slice_cell_get(&shorter, c.row / 2, &back));
		}
	}
	g_rand_free(rand);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/slice-cell/bytes", test_cells);
	return g_test_run();
}
