/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "analyse/accounts.h"

#include "../fixture.h"

#define MS UINT64_C(1000000)

static const struct account_row *row_of(const struct accounts *a, unsigned i)
{
	return &g_array_index(a->rows, struct account_row, i);
}

static void test_rows(void)
{
	struct profile *p = fixture_new();
	struct accounts *a = accounts_new(p, NULL);

	g_assert_cmpuint(a->rows->len, ==, 3);
	const struct account_row *server = row_of(a, 0);
	g_assert_cmpstr(server->process, ==, "server");
	g_assert_cmpuint(server->pid, ==, 100);
	g_assert_cmpuint(server->threads_cnt, ==, 3);
	g_assert_cmpuint(server->observed_ns, ==, 3000 * MS);
	g_assert_cmpuint(server->on_cpu_ns, ==, 210 * MS);
	g_assert_cmpuint(server->blocked_ns, ==, 2400 * MS);
	g_assert_cmpuint(server->runnable_ns, ==, 180 * MS);
	g_assert_cmpuint(server->preempted_ns, ==, 200 * MS);
	g_assert_cmpuint(server->off_cpu_ns, ==, 2780 * MS);
	g_assert_cmpint(server->residual_ns, ==, 10 * MS);
	g_assert_cmpstr(row_of(a, 1)->process, ==, "kwork");
	g_assert_cmpstr(row_of(a, 2)->process, ==, "evil");

	g_assert_cmpuint(a->total.observed_ns, ==, 4400 * MS);
	g_assert_cmpuint(a->total.off_cpu_ns, ==, 4080 * MS);
	g_assert_cmpuint(a->total.filtered_ns, ==, 120 * MS);
	g_assert_cmpint(a->total.residual_ns, ==, 10 * MS);
	g_assert_cmpuint(a->total.switches, ==, 86);
	accounts_free(a);
	profile_free(p);
}

/* What quotas took is a part of the account, by process. */
static void test_throttled(void)
{
	struct profile *p = fixture_new();
	const struct blame rows[] = {
		{ .thread = 0, .kind = BLAME_THROTTLED, .comm = "", .runnable_ns = 30 * MS },
		{ .thread = 1, .kind = BLAME_THROTTLED, .comm = "", .preempted_ns = 120 * MS },
		{ .thread = 1, .kind = BLAME_IDLE, .comm = "", .runnable_ns = 50 * MS },
	};

	for (unsigned i = 0; i < G_N_ELEMENTS(rows); i++)
		profile_add_blame(p, &rows[i]);
	struct accounts *a = accounts_new(p, NULL);

	g_assert_cmpstr(row_of(a, 0)->process, ==, "server");
	g_assert_cmpuint(row_of(a, 0)->throttled_ns, ==, 150 * MS);
	g_assert_cmpuint(row_of(a, 1)->throttled_ns, ==, 0);
	g_assert_cmpuint(a->total.throttled_ns, ==, 150 * MS);
	g_assert_true(profile_check(p, NULL));
	accounts_free(a);
	profile_free(p);
}

/* The same pid as two programs is two rows; residuals of opposite sign do not hide each other. */
static void test_exec_and_signs(void)
{
	struct profile *p = profile_new();
	uint32_t first = fixture_thread(p, 5, 5, "sh", "sh"), second = fixture_thread(p, 5, 5, "ls", "ls");

	g_array_index(p->threads, struct thread, first).to_ns = 30;	/* 30 observed, none accounted for */
	g_array_index(p->threads, struct thread, second).on_cpu_ns = 20;	/* 20 accounted for, none observed */
	struct accounts *a = accounts_new(p, NULL);
	g_assert_cmpuint(a->rows->len, ==, 2);
	g_assert_cmpint(a->total.residual_ns, ==, 10);
	g_assert_cmpuint(a->total.residual_abs_ns, ==, 50);
	g_assert_cmpint(row_of(a, 0)->residual_ns, ==, -20);	/* "ls" before "sh" at equal off-CPU */
	accounts_free(a);
	profile_free(p);
}

static void test_coverage(void)
{
	struct profile *p = fixture_new();
	struct coverage c;

	coverage_of(p, NULL, &c);
	g_assert_cmpuint(c.waits_cnt, ==, 85);
	g_assert_cmpuint(c.listed_ns, ==, 3960 * MS);
	g_assert_cmpuint(c.selected_ns, ==, 3960 * MS);
	g_assert_cmpuint(c.stacks_ns[STACK_COMPLETE], ==, 2660 * MS);
	g_assert_cmpuint(c.stacks_ns[STACK_TRUNCATED], ==, 180 * MS);
	g_assert_cmpuint(c.stacks_ns[STACK_BROKEN], ==, 0);
	g_assert_cmpuint(c.stacks_ns[STACK_PENDING], ==, 120 * MS);
	g_assert_cmpuint(c.stacks_ns[STACK_NONE], ==, 1000 * MS);
	g_assert_cmpuint(c.open_start_ns, ==, 1000 * MS);
	g_assert_cmpuint(c.open_end_cnt, ==, 1);
	g_assert_cmpuint(c.lost_cnt, ==, 2);
	profile_free(p);
}

static void test_selected(void)
{
	struct profile *p = fixture_new();
	struct selection *s = selection_new(p, &(struct query){ .comm = "worker", .states = "R" }, NULL);
	struct accounts *a = accounts_new(p, s);
	struct coverage c;

	coverage_of(p, s, &c);
	g_assert_cmpuint(a->rows->len, ==, 1);
	g_assert_cmpuint(a->total.threads_cnt, ==, 2);
	g_assert_cmpuint(a->total.off_cpu_ns, ==, 1800 * MS);
	g_assert_cmpuint(c.listed_ns, ==, 1800 * MS);
	g_assert_cmpuint(c.selected_ns, ==, 200 * MS);
	accounts_free(a);
	selection_free(s);
	profile_free(p);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/accounts/throttled", test_throttled);
	g_test_add_func("/accounts/rows", test_rows);
	g_test_add_func("/accounts/exec-and-signs", test_exec_and_signs);
	g_test_add_func("/accounts/coverage", test_coverage);
	g_test_add_func("/accounts/selected", test_selected);
	return g_test_run();
}
