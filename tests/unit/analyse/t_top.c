/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "analyse/top.h"

#include "../fixture.h"

#define MS UINT64_C(1000000)

struct expected_row {
	const char *name;
	uint64_t weight;
};

static void check(enum top_by by, enum weight weight, const struct expected_row *rows, unsigned rows_cnt)
{
	struct profile *p = fixture_new();
	struct top *t = top_new(p, NULL, by, weight);
	uint64_t sum = 0;

	g_assert_cmpuint(t->rows->len, ==, rows_cnt);
	for (unsigned i = 0; i < rows_cnt; i++) {
		const struct top_row *r = &g_array_index(t->rows, struct top_row, i);

		g_assert_cmpstr(r->name, ==, rows[i].name);
		g_assert_cmpuint(r->weight, ==, rows[i].weight);
		sum += r->weight;
	}
	g_assert_cmpuint(t->sum, ==, sum);
	top_free(t);
	profile_free(p);
}

static void test_leaf(void)
{
	static const struct expected_row rows[] = {
		{ "futex_wait (pthread_cond_wait <- do_work)", 2030 * MS },
		{ "worker_thread", 1000 * MS },
		{ "folio_wait_bit_common (fsync <- do_work)", 430 * MS },
		{ "preempted (spin)", 200 * MS },
		{ "pipe_read (read <- app+0x1234)", 180 * MS },
		{ "futex_wait ([stack lost])", 120 * MS },
	};

	check(TOP_BY_LEAF, WEIGHT_OFF_CPU, rows, G_N_ELEMENTS(rows));
}

static void test_groups(void)
{
	static const struct expected_row process[] = {
		{ "server (100)", 2780 * MS }, { "kwork (2)", 1000 * MS }, { "evil (200)", 180 * MS },
	};
	static const struct expected_row comm[] = {
		{ "worker", 1800 * MS }, { "kwork", 1000 * MS }, { "server", 980 * MS }, { "ev\033[31m;il", 180 * MS },
	};
	static const struct expected_row state[] = {
		{ "S sleeping", 2330 * MS }, { "I idle", 1000 * MS }, { "D uninterruptible sleep", 430 * MS },
		{ "R preempted or yielded", 200 * MS },
	};
	static const struct expected_row syscall[] = {
		{ "futex", 2150 * MS }, { "kernel thread", 1000 * MS }, { "fsync", 430 * MS },
		{ "interrupt", 200 * MS }, { "read", 180 * MS },
	};
	/* equal weights: by name */
	static const struct expected_row thread[] = {
		{ "kwork (2/2)", 1000 * MS }, { "worker (100/102)", 1000 * MS }, { "server (100/100)", 980 * MS },
		{ "worker (100/101)", 800 * MS }, { "ev\033[31m;il (200/200)", 180 * MS },
	};

	check(TOP_BY_PROCESS, WEIGHT_OFF_CPU, process, G_N_ELEMENTS(process));
	check(TOP_BY_COMM, WEIGHT_OFF_CPU, comm, G_N_ELEMENTS(comm));
	check(TOP_BY_STATE, WEIGHT_OFF_CPU, state, G_N_ELEMENTS(state));
	check(TOP_BY_SYSCALL, WEIGHT_OFF_CPU, syscall, G_N_ELEMENTS(syscall));
	check(TOP_BY_THREAD, WEIGHT_OFF_CPU, thread, G_N_ELEMENTS(thread));
}

static char *text_of(struct profile *p, enum top_by by)
{
	struct top *t = top_new(p, NULL, by, WEIGHT_OFF_CPU);
	GString *s = g_string_new(NULL);

	for (guint i = 0; i < t->rows->len; i++) {
		const struct top_row *r = &g_array_index(t->rows, struct top_row, i);

		g_string_append_printf(s, "%s %" G_GUINT64_FORMAT "\n", r->name, r->weight / MS);
	}
	top_free(t);
	return g_string_free(s, FALSE);
}

/* Services of one kind, all others in one row; of a pod its containers are one, whatever their names. */
static void test_services(void)
{
	static const char *const services[] = { "pod:shop/web", "pod:shop/web/proxy", "container:shop/db", "cron.service" };
	struct profile *p = fixture_new();

	for (guint i = 0, named = 0; i < p->threads->len && named < G_N_ELEMENTS(services); i++) {
		struct thread *th = &g_array_index(p->threads, struct thread, i);

		if (!(th->flags & THREAD_KERNEL))
			th->service = services[named++];
	}
	g_autofree char *pods = text_of(p, TOP_BY_POD), *containers = text_of(p, TOP_BY_CONTAINER), *units = text_of(p, TOP_BY_UNIT);

	g_assert_cmpstr(pods, ==, "pod:shop/web 1780\n(no pod) 1180\n(kernel) 1000\n");
	g_assert_cmpstr(containers, ==,
			"(kernel) 1000\ncontainer:shop/db 1000\npod:shop/web 980\npod:shop/web/proxy 800\n(no container) 180\n");
	g_assert_cmpstr(units, ==, "(no unit) 2780\n(kernel) 1000\ncron.service 180\n");
	profile_free(p);
}

static void test_weights(void)
{
	static const struct expected_row runnable[] = {
		{ "worker", 100 * MS }, { "server", 80 * MS }, { "ev\033[31m;il", 30 * MS }, { "kwork", 5 * MS },
	};
	static const struct expected_row count[] = {
		{ "worker", 63 }, { "server", 14 }, { "ev\033[31m;il", 5 }, { "kwork", 3 },
	};

	check(TOP_BY_COMM, WEIGHT_RUNNABLE, runnable, G_N_ELEMENTS(runnable));
	check(TOP_BY_COMM, WEIGHT_COUNT, count, G_N_ELEMENTS(count));
}

/* Two threads of one process and comm with the same stacks are one row, histogram merged. */
static void test_stack(void)
{
	struct profile *p = fixture_new();
	struct top *t = top_new(p, NULL, TOP_BY_STACK, WEIGHT_OFF_CPU);
	const struct top_row *r = &g_array_index(t->rows, struct top_row, 0);

	g_assert_cmpuint(t->rows->len, ==, 7);
	g_assert_cmpuint(r->weight, ==, 1480 * MS);
	g_assert_cmpuint(r->threads_cnt, ==, 2);
	g_assert_cmpuint(r->count, ==, 21);
	g_assert_cmpuint(r->max_ns, ==, 1000 * MS);
	g_assert_cmpuint(r->blocked_ns, ==, 1400 * MS);
	g_assert_cmpuint(r->runnable_ns, ==, 80 * MS);
	g_assert_cmpuint(r->hist[24], ==, 19);
	g_assert_cmpuint(r->hist[25], ==, 1);
	g_assert_cmpuint(r->hist[29], ==, 1);
	g_assert_cmpstr(profile_get_frame(p, (uint32_t)r->user_parent)->name, ==, "do_work");
	top_free(t);
	profile_free(p);
}

/* The fixture with its short waits sampled: wait i is off by a tenth, states are known better. */
static struct profile *sampled_new(void)
{
	struct profile *p = fixture_new();

	p->info.sampling = (struct profile_sampling){ .start_ns = 10000, .end_ns = 10000, .max_ns = 10000 };
	for (unsigned i = 0; i < p->waits->len; i++) {
		struct wait *w = &g_array_index(p->waits, struct wait, i);
		const struct state_total total = {
			.thread = w->thread, .state = w->state, .count = w->count + 1, .blocked_ns = w->blocked_ns + 7,
			.runnable_ns = w->runnable_ns, .preempted_ns = w->preempted_ns,
		};

		profile_add_state(p, &total);
		w->off_cpu_se_ns = wait_off_cpu_ns(w) / 10;
	}
	return p;
}

static const struct top_row *row_named(const struct top *t, const char *name)
{
	for (unsigned i = 0; i < t->rows->len; i++)
		if (g_str_equal(g_array_index(t->rows, struct top_row, i).name, name))
			return &g_array_index(t->rows, struct top_row, i);
	g_error("no row %s", name);
}

/* What does not depend on stacks is exact where waits were sampled; stacks have errors, in quadrature. */
static void test_sampled(void)
{
	struct profile *p = sampled_new();
	struct selection *sleeping = selection_new(p, &(struct query){ .states = "S" }, NULL);
	struct selection *grep = selection_new(p, &(struct query){ .grep = "read" }, NULL);
	struct top *state = top_new(p, NULL, TOP_BY_STATE, WEIGHT_OFF_CPU);
	struct top *comm = top_new(p, sleeping, TOP_BY_COMM, WEIGHT_COUNT);
	struct top *matched = top_new(p, grep, TOP_BY_COMM, WEIGHT_OFF_CPU);
	struct top *leaf = top_new(p, NULL, TOP_BY_LEAF, WEIGHT_OFF_CPU);
	const struct top_row *r = row_named(state, "D uninterruptible sleep");

	g_assert_true(state->is_exact);
	g_assert_cmpuint(r->weight, ==, 430 * MS + 7);
	g_assert_cmpuint(r->count, ==, 5);
	g_assert_cmpuint(r->max_ns, ==, 200 * MS);
	g_assert_cmpuint(r->hist[26], ==, 3);
	g_assert_cmpfloat(r->off_cpu_se_ns, ==, 0);
	/* worker's sleeps: 20 + 2 + 1, and one more each */
	g_assert_true(comm->is_exact);
	g_assert_cmpuint(row_named(comm, "worker")->weight, ==, 26);
	g_assert_false(matched->is_exact);
	g_assert_cmpuint(row_named(matched, "ev\033[31m;il")->weight, ==, 180 * MS);
	g_assert_false(leaf->is_exact);
	/* 550, 480 and 1000 ms */
	g_assert_cmpfloat_with_epsilon(row_named(leaf, "futex_wait (pthread_cond_wait <- do_work)")->off_cpu_se_ns,
				       123.81e6, 1e4);
	top_free(state);
	top_free(comm);
	top_free(matched);
	top_free(leaf);
	selection_free(sleeping);
	selection_free(grep);
	profile_free(p);
}

/* 100 % is the accounts' time of that kind, of the selected threads, listed or not. */
static void test_whole(void)
{
	struct profile *p = fixture_new();
	struct selection *s = selection_new(p, &(struct query){ .comm = "worker", .states = "S" }, NULL);
	struct top *all = top_new(p, NULL, TOP_BY_COMM, WEIGHT_OFF_CPU);
	struct top *runnable = top_new(p, NULL, TOP_BY_COMM, WEIGHT_RUNNABLE);
	struct top *some = top_new(p, s, TOP_BY_COMM, WEIGHT_OFF_CPU);
	struct top *events = top_new(p, s, TOP_BY_COMM, WEIGHT_COUNT);

	g_assert_cmpuint(all->whole, ==, 4080 * MS);
	g_assert_cmpuint(runnable->whole, ==, 235 * MS);
	g_assert_cmpuint(some->whole, ==, 1800 * MS);
	g_assert_cmpuint(some->sum, ==, 1600 * MS);
	g_assert_cmpuint(events->whole, ==, 23);
	g_assert_cmpfloat_with_epsilon(top_percent(some, some->sum), 100.0 * 16 / 18, 1e-9);
	top_free(all);
	top_free(runnable);
	top_free(some);
	top_free(events);
	selection_free(s);
	profile_free(p);
}

static void test_names(void)
{
	enum top_by by = TOP_BY_STATE;

	for (unsigned i = 0; i < TOP_BY_COUNT; i++) {
		g_assert_true(top_by_parse(top_by_name((enum top_by)i), &by));
		g_assert_cmpuint(by, ==, i);
	}
	by = TOP_BY_STATE;
	g_assert_false(top_by_parse("nothing", &by));
	g_assert_cmpuint(by, ==, TOP_BY_STATE);
}

/* Twenty processes that run the same program and wait in the same place are one row; by process they are twenty. */
static void test_equal_processes(void)
{
	struct profile *p = profile_new();
	uint32_t user = fixture_stack(p, FRAME_USER, STACK_COMPLETE, "main@/usr/bin/perf read@/lib/libc.so.6");
	uint32_t other = fixture_stack(p, FRAME_USER, STACK_COMPLETE, "main@/opt/perf read@/lib/libc.so.6");

	for (uint32_t i = 0; i < 40; i++) {
		struct wait w = { .thread = fixture_thread(p, 100 + i / 2, 1000 + i, "perf", "perf"), .user = user, .state = 'S',
				  .count = 2, .blocked_ns = 10 };

		profile_add_wait(p, &w);
		w.state = 'D';
		if (!i)
			profile_add_wait(p, &w);
		w.state = 'S';
		w.user = other;
		if (i == 7)
			profile_add_wait(p, &w);
	}
	struct top *stacks = top_new(p, NULL, TOP_BY_STACK, WEIGHT_OFF_CPU), *processes = top_new(p, NULL, TOP_BY_PROCESS, WEIGHT_OFF_CPU);
	const struct top_row *row = &g_array_index(stacks->rows, struct top_row, 0);

	g_assert_cmpuint(stacks->rows->len, ==, 3);
	g_assert_cmpuint(row->processes_cnt, ==, 20);
	g_assert_cmpuint(row->threads_cnt, ==, 40);
	g_assert_cmpuint(row->count, ==, 80);
	g_assert_cmpuint(row->blocked_ns, ==, 400);
	g_assert_cmpuint(g_array_index(stacks->rows, struct top_row, 1).processes_cnt, ==, 1);
	g_assert_cmpuint(processes->rows->len, ==, 20);
	top_free(stacks);
	top_free(processes);
	profile_free(p);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/top/equal-processes", test_equal_processes);
	g_test_add_func("/top/leaf", test_leaf);
	g_test_add_func("/top/groups", test_groups);
	g_test_add_func("/top/services", test_services);
	g_test_add_func("/top/weights", test_weights);
	g_test_add_func("/top/stack", test_stack);
	g_test_add_func("/top/whole", test_whole);
	g_test_add_func("/top/sampled", test_sampled);
	g_test_add_func("/top/names", test_names);
	return g_test_run();
}
