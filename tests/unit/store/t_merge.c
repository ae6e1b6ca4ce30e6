/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "sim.h"
#include "store/merge.h"

#define LENGTH_NS UINT64_C(1000000)

static void assert_valid(const struct profile *p)
{
	g_autoptr(GError) error = NULL;

	profile_check(p, &error);
	g_assert_no_error(error);
}

static struct profile *sum_of(const struct sim *s, const uint64_t *edges, unsigned windows)
{
	struct merger *m = merge_new();

	for (unsigned i = 0; i < windows; i++) {
		struct profile *p = sim_window(s, edges[i], edges[i + 1]);

		assert_valid(p);
		g_assert_true(merge_add(m, p, NULL));
		profile_free(p);
	}
	return merge_end(m);
}

/* Windows of any length add up to what one long window says, in all that there is. */
static void windows_are_one(void)
{
	for (uint32_t seed = 1; seed <= 60; seed++) {
		struct sim *s = sim_new(seed, 14, LENGTH_NS);
		const uint64_t edges[] = { 0, 1000, 2000, 90000, 250000, 251000, 600000, 601000, 999000, LENGTH_NS };
		struct profile *sum = sum_of(s, edges, G_N_ELEMENTS(edges) - 1), *whole = sim_window(s, 0, LENGTH_NS);

		assert_valid(sum);
		sim_assert_same(sum, whole);
		profile_free(sum);
		profile_free(whole);
		sim_free(s);
	}
}

/* Sums of sums are the same. */
static void sums_are_one(void)
{
	for (uint32_t seed = 100; seed <= 120; seed++) {
		struct sim *s = sim_new(seed, 14, LENGTH_NS);
		const uint64_t left[] = { 0, 10000, 20000, 300000 }, right[] = { 300000, 310000, 777000, LENGTH_NS };
		struct profile *a = sum_of(s, left, 3), *b = sum_of(s, right, 3), *whole = sim_window(s, 0, LENGTH_NS), *sum;
		struct merger *m = merge_new();

		g_assert_true(merge_add(m, a, NULL) && merge_add(m, b, NULL));
		sum = merge_end(m);
		sim_assert_same(sum, whole);
		profile_free(a);
		profile_free(b);
		profile_free(sum);
		profile_free(whole);
		sim_free(s);
	}
}

static uint64_t sum_ns(const struct profile *p, bool of_waits)
{
	uint64_t ns = 0;

	for (guint i = 0; i < p->threads->len && !of_waits; i++)
		ns += thread_off_cpu_ns(profile_thread(p, i));
	for (guint i = 0; i < p->waits->len && of_waits; i++)
		ns += wait_off_cpu_ns(profile_wait(p, i));
	return ns;
}

/* What nobody saw is in no sum: threads on both sides are one row without a residual, their waits stay open at the edge. */
static void a_gap(void)
{
	struct sim *s = sim_new(7, 14, LENGTH_NS);
	struct profile *a = sim_window(s, 0, 400000), *b = sim_window(s, 600000, LENGTH_NS), *sum;
	struct merger *m = merge_new();
	unsigned open = 0;

	g_assert_true(merge_add(m, a, NULL) && merge_add(m, b, NULL));
	sum = merge_end(m);
	assert_valid(sum);
	g_assert_cmpuint(sum->info.duration_ns, ==, 800000);
	g_assert_cmpuint(sum_ns(sum, false), ==, sum_ns(a, false) + sum_ns(b, false));
	g_assert_cmpuint(sum_ns(sum, true), ==, sum_ns(sum, false));
	for (guint i = 0; i < sum->threads->len; i++) {
		g_assert_cmpint(thread_residual_ns(profile_thread(sum, i)), ==, 0);
		for (guint k = 0; k < i; k++)
			g_assert_false(profile_thread(sum, i)->tid == profile_thread(sum, k)->tid &&
				       profile_thread(sum, i)->comm == profile_thread(sum, k)->comm);
	}
	for (guint i = 0; i < sum->waits->len; i++)
		open += (profile_wait(sum, i)->flags & WAIT_OPEN_AT_START) && profile_wait(sum, i)->max_ns <= 400000;
	g_assert_cmpuint(open, >, 0);
	profile_free(a);
	profile_free(b);
	profile_free(sum);
	sim_free(s);
}

/* A row for several threads (tid 0) has sums of times, and takes any others. */
static void folded_rows(void)
{
	struct merger *m = merge_new();
	struct profile *sum;

	for (unsigned i = 0; i < 3; i++) {
		struct profile *p = profile_new();
		const uint64_t start = 1000 + 100 * i;
		struct thread t = { .pid = 5, .comm = profile_string(p, "sh"), .process = profile_string(p, "make"), .from_ns = start,
				    .to_ns = start + 700, .on_cpu_ns = 700, .flags = THREAD_EXITED };

		p->info.start_unix_ns = p->info.start_ns = start;
		p->info.duration_ns = 100;
		profile_add_thread(p, &t);
		g_assert_true(merge_add(m, p, NULL));
		profile_free(p);
	}
	sum = merge_end(m);
	g_assert_cmpuint(sum->threads->len, ==, 1);
	g_assert_cmpuint(thread_observed_ns(profile_thread(sum, 0)), ==, 2100);
	g_assert_cmpint(thread_residual_ns(profile_thread(sum, 0)), ==, 0);
	profile_free(sum);
}

static void of_nothing(void)
{
	g_assert_null(merge_end(merge_new()));
	merge_free(NULL);
}

/* Where a thread was preempted: the stacks of most time are told apart, the others are one row, and all sums are what they were. */
static void coarse(void)
{
	struct profile *p = profile_new(), *c;
	const struct thread t = { .pid = 1, .tid = 1, .comm = profile_string(p, "a"), .process = profile_string(p, "a"), .to_ns = 1000000,
				  .preempted_ns = 1000 * 55, .blocked_ns = 77 };
	uint32_t thread = profile_add_thread(p, &t);
	uint64_t preempted_ns = 0, count = 0;

	p->info.duration_ns = 1000000;
	for (unsigned i = 0; i <= 10; i++) {
		g_autofree char *name = g_strdup_printf("function_%u", i);
		const struct frame f = { .name = name, .kind = FRAME_USER };
		struct wait w = { .thread = thread, .user = profile_node(p, 0, profile_frame(p, &f)), .state = i ? 'R' : 'S', .count = 2,
				  .blocked_ns = i ? 0 : 77, .preempted_ns = i * 1000, .max_ns = i ? i * 1000 - 1 : 76 };

		w.hist[profile_hist_slot(w.max_ns)] = w.hist[0] = 1;
		profile_add_wait(p, &w);
	}
	c = merge_coarse(p, 3, NULL);
	g_assert_nonnull(c);
	g_assert_cmpuint(c->waits->len, ==, 1 + 3 + 1);
	for (guint i = 0; i < c->waits->len; i++) {
		const struct wait *w = profile_wait(c, i);
		const char *name = profile_get_frame(c, profile_get_node(c, w->user)->frame)->name;

		preempted_ns += w->preempted_ns;
		count += w->count;
		if (strcmp(name, MERGE_COARSE_NAME) == 0) {
			g_assert_cmpuint(w->count, ==, 14);
			g_assert_cmpuint(w->preempted_ns, ==, 28000);
			g_assert_cmpuint(w->max_ns, ==, 6999);
			g_assert_cmpuint(w->hist[0], ==, 7);
		} else {
			g_assert_true(w->state == 'S' || w->preempted_ns >= 8000);
		}
	}
	g_assert_cmpuint(preempted_ns, ==, 55000);
	g_assert_cmpuint(count, ==, 22);
	g_assert_true(profile_check(c, NULL));
	profile_free(c);
	profile_free(p);
}

/* Of who held the CPU four programs are told, and each once, whatever number of processes it had; the thread's own is another. */
static void coarse_blames(void)
{
	static const struct { const char *comm; uint32_t pid; uint64_t ns; } held[] = {
		{ "cc1", 11, 300 }, { "cc1", 12, 500 }, { "cc1", 7, 400 }, { "ld", 13, 700 }, { "sh", 14, 90 }, { "make", 15, 600 }, { "as", 16, 95 },
	};
	static const struct { const char *comm; uint32_t pid; uint64_t ns; } wanted[] = {
		{ "cc1", 0, 800 }, { "ld", 13, 700 }, { "make", 15, 600 }, { "cc1", 7, 400 }, { BLAME_OTHERS_NAME, 0, 185 }, { "", 0, 50 },
	};
	struct profile *p = profile_new(), *c;
	const struct thread t = { .pid = 7, .tid = 7, .comm = profile_string(p, "a"), .process = profile_string(p, "a"), .to_ns = 10000,
				  .runnable_ns = 10000 };
	const struct blame idle = { .kind = BLAME_IDLE, .comm = "", .count = 1, .runnable_ns = 50 };

	p->info.start_unix_ns = p->info.start_ns = 1;
	p->info.duration_ns = 10000;
	profile_add_thread(p, &t);
	for (gsize i = 0; i < G_N_ELEMENTS(held); i++)
		profile_add_blame(p, &(struct blame){ .kind = BLAME_THREAD, .comm = held[i].comm, .pid = held[i].pid, .tid = held[i].pid,
						      .count = 2, .runnable_ns = held[i].ns });
	profile_add_blame(p, &idle);
	c = merge_coarse(p, 3, NULL);
	g_assert_nonnull(c);
	g_assert_cmpuint(c->blames->len, ==, G_N_ELEMENTS(wanted));
	for (gsize i = 0; i < G_N_ELEMENTS(wanted); i++) {
		const struct blame *found = NULL;

		for (guint k = 0; k < c->blames->len; k++)
			if (!strcmp(profile_blame(c, k)->comm, wanted[i].comm) && profile_blame(c, k)->pid == wanted[i].pid)
				found = profile_blame(c, k);
		g_assert_nonnull(found);
		g_assert_cmpuint(found->runnable_ns, ==, wanted[i].ns);
	}
	profile_free(c);
	profile_free(p);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/merge/windows_are_one", windows_are_one);
	g_test_add_func("/merge/sums_are_one", sums_are_one);
	g_test_add_func("/merge/a_gap", a_gap);
	g_test_add_func("/merge/folded_rows", folded_rows);
	g_test_add_func("/merge/of_nothing", of_nothing);
	g_test_add_func("/merge/coarse", coarse);
	g_test_add_func("/merge/coarse_blames", coarse_blames);
	return g_test_run();
}
