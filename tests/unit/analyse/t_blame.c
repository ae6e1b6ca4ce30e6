/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "features/blame/analysis.h"

#include "../crowd.h"

#define MS UINT64_C(1000000)

static const struct blame_row *row_of(const GArray *rows, unsigned i)
{
	g_assert_cmpuint(i, <, rows->len);
	return &g_array_index(rows, struct blame_row, i);
}

static void check_row(const struct blame_row *r, const char *name, const char *sufferer, uint64_t runnable_ms,
		      uint64_t preempted_ms)
{
	g_assert_cmpstr(blame_name(r->kind, r->culprit), ==, name);
	g_assert_cmpstr(r->sufferer, ==, sufferer);
	g_assert_cmpuint(r->runnable_ns, ==, runnable_ms * MS);
	g_assert_cmpuint(r->preempted_ns, ==, preempted_ms * MS);
}

static void test_tables(void)
{
	struct profile *p = crowd_new();
	struct blame_table *t = blame_table_new(p, NULL);

	g_assert_cmpuint(t->runnable_ns, ==, 69 * MS);
	g_assert_cmpuint(t->preempted_ns, ==, 170 * MS);
	g_assert_cmpuint(t->culprits->len, ==, 4);
	check_row(row_of(t->culprits, 0), "hog", NULL, 50, 145);
	g_assert_cmpuint(row_of(t->culprits, 0)->count, ==, 10);
	check_row(row_of(t->culprits, 1), "[unknown]", NULL, 16, 10);
	check_row(row_of(t->culprits, 2), "[throttled]", NULL, 0, 15);
	check_row(row_of(t->culprits, 3), "[idle]", NULL, 3, 0);
	g_assert_cmpuint(t->pairs->len, ==, 7);
	check_row(row_of(t->pairs, 0), "hog", "hog", 0, 140);
	check_row(row_of(t->pairs, 1), "hog", "victim", 50, 5);
	check_row(row_of(t->pairs, 2), "[throttled]", "victim", 0, 15);
	check_row(row_of(t->pairs, 3), "[unknown]", "hog", 0, 10);
	check_row(row_of(t->pairs, 4), "[unknown]", "pool", 9, 0);
	check_row(row_of(t->pairs, 5), "[unknown]", "victim", 7, 0);
	check_row(row_of(t->pairs, 6), "[idle]", "victim", 3, 0);
	blame_table_free(t);
	profile_free(p);
}

/* Whatever is selected, blamed and unknown are runnable and preempted, exactly. */
static void test_adds_up(void)
{
	struct profile *p = crowd_new();
	const char *const comms[] = { NULL, "victim", "hog", "p*", "nobody" };

	for (unsigned i = 0; i < G_N_ELEMENTS(comms); i++) {
		const struct query query = { .comm = comms[i] };
		struct selection *selection = selection_new(p, &query, NULL);
		struct blame_table *t = blame_table_new(p, selection);
		uint64_t runnable_ns[2] = { 0 }, preempted_ns[2] = { 0 };
		const GArray *tables[] = { t->culprits, t->pairs };

		for (unsigned k = 0; k < 2; k++) {
			for (unsigned n = 0; n < tables[k]->len; n++) {
				runnable_ns[k] += row_of(tables[k], n)->runnable_ns;
				preempted_ns[k] += row_of(tables[k], n)->preempted_ns;
			}
			g_assert_cmpuint(runnable_ns[k], ==, t->runnable_ns);
			g_assert_cmpuint(preempted_ns[k], ==, t->preempted_ns);
		}
		if (g_strcmp0(comms[i], "victim") == 0)
			g_assert_cmpuint(t->runnable_ns + t->preempted_ns, ==, 80 * MS);
		if (g_strcmp0(comms[i], "nobody") == 0)
			g_assert_cmpuint(t->culprits->len, ==, 0);
		blame_table_free(t);
		selection_free(selection);
	}
	profile_free(p);
}

static void test_rests(void)
{
	struct profile *p = crowd_new();
	g_autofree struct blame_rest *rests = blame_rests_new(p);

	g_assert_cmpuint(rests[0].preempted_ns, ==, 10 * MS);
	g_assert_cmpuint(rests[1].preempted_ns, ==, 0);
	g_assert_cmpuint(rests[2].runnable_ns, ==, 7 * MS);
	g_assert_cmpuint(rests[2].preempted_ns, ==, 0);
	g_assert_cmpuint(rests[4].runnable_ns, ==, 5 * MS);
	profile_free(p);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/blame/tables", test_tables);
	g_test_add_func("/blame/adds-up", test_adds_up);
	g_test_add_func("/blame/rests", test_rests);
	return g_test_run();
}
