/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "analyse/diff/diff.h"

#include <math.h>
#include <string.h>
#include <time.h>

#include "../change.h"
#include "../fixture.h"
#include "analyse/diff/condition.h"
#include "analyse/diff/merge.h"

#define MS 1e6

struct pair {
	struct profile *p[DIFF_SIDES];
	struct diff *d;
};

static struct pair pair_new(struct profile *before, struct profile *after, enum diff_norm norm)
{
	const struct diff_options options = { .norm = norm, .noise = DIFF_NOISE_DEFAULT };
	const struct diff_input x = { .profile = before, .requests = 1000, .name = "a" };
	const struct diff_input y = { .profile = after, .requests = 2000, .name = "b" };

	return (struct pair){ { before, after }, diff_new(&x, &y, &options) };
}

static void pair_free(struct pair *pair)
{
	diff_free(pair->d);
	profile_free(pair->p[DIFF_BEFORE]);
	if (pair->p[DIFF_AFTER] != pair->p[DIFF_BEFORE])
		profile_free(pair->p[DIFF_AFTER]);
}

static const struct diff_row *row_named(struct diff *d, enum diff_by by, const char *part)
{
	const struct diff_table *t = diff_table(d, by);

	for (unsigned i = 0; i < t->rows->len; i++) {
		const struct diff_row *r = &g_array_index(t->rows, struct diff_row, i);
		if (strstr(r->name, part))
			return r;
	}
	g_error("no row of %s has \"%s\"", diff_by_name(by), part);
}

static void assert_near(double got, double want, double tolerance)
{
	if (fabs(got - want) > tolerance * fabs(want))
		g_error("%.9g is not %.9g within %g", got, want, tolerance);
}

static void test_rows(void)
{
	struct pair pair = pair_new(change_new(false), change_new(true), DIFF_NOT_NORMALISED);
	const struct diff_row *lock = row_named(pair.d, DIFF_BY_STACK, "futex"), *r;

	g_assert_true(lock->fate == DIFF_ON_BOTH);
	assert_near(lock->side[DIFF_BEFORE].scaled_ns, 20000 * MS, 1e-9);
	assert_near(lock->side[DIFF_AFTER].scaled_ns, 22010.1 * MS, 1e-9);	/* with the ten whose walk was short */
	assert_near(lock->each.by, 0.1 * MS, 0.05);	/* a histogram tells which are the shortest, to a slot */
	g_assert_true(lock->time.is_real && lock->each.is_real);
	g_assert_cmpuint(lock->side[DIFF_BEFORE].threads_cnt, ==, 4);

	r = row_named(pair.d, DIFF_BY_STACK, "nanosleep");	/* 1 % is noise */
	g_assert_true(r->is_tested && !diff_row_is_real(r));
	r = row_named(pair.d, DIFF_BY_STACK, "old_path");
	g_assert_true(r->fate == DIFF_VANISHED && r->time.is_real && r->time.by < 0);
	g_assert_true(isinf(diff_percent(row_named(pair.d, DIFF_BY_STACK, "evil"))));
	g_assert_true(row_named(pair.d, DIFF_BY_STACK, "evil")->fate == DIFF_NEW);
	r = row_named(pair.d, DIFF_BY_STACK, "flush");
	g_assert_true(r->fate == DIFF_MOVED && r->was && !diff_row_is_real(r));
	r = row_named(pair.d, DIFF_BY_FUNCTION, "libx.so+?");
	g_assert_true(r->fate == DIFF_ON_BOTH && !diff_row_is_real(r));
	r = row_named(pair.d, DIFF_BY_STACK, "worker_thread");
	g_assert_true(r->fate == DIFF_ON_BOTH);
	g_assert_cmpstr(r->comm, ==, "kworker/#:#");
	r = row_named(pair.d, DIFF_BY_STACK, "pause");	/* four waits that were no whole ones */
	g_assert_cmpuint(r->side[DIFF_BEFORE].whole_cnt, ==, 0);
	g_assert_true(!r->each.is_real && r->each.p >= 1);
	pair_free(&pair);
}

/* Where rows are parts of all waits, they add up to the nanosecond. */
static void test_sums(void)
{
	static const enum diff_by partitions[] = { DIFF_BY_REASON, DIFF_BY_STACK, DIFF_BY_LEAF, DIFF_BY_STATE, DIFF_BY_COMM, DIFF_BY_PROCESS,
						   DIFF_BY_SYSCALL };
	struct pair pair = pair_new(fixture_new(), change_new(true), DIFF_PER_THREAD_TIME);

	for (unsigned i = 0; i < G_N_ELEMENTS(partitions); i++) {
		const struct diff_table *t = diff_table(pair.d, partitions[i]);
		uint64_t ns[DIFF_SIDES] = { 0 }, cnt[DIFF_SIDES] = { 0 };

		for (unsigned n = 0; n < t->rows->len; n++) {
			for (unsigned side = 0; side < DIFF_SIDES; side++) {
				ns[side] += g_array_index(t->rows, struct diff_row, n).side[side].off_cpu_ns;
				cnt[side] += g_array_index(t->rows, struct diff_row, n).side[side].count;
			}
		}
		for (unsigned side = 0; side < DIFF_SIDES; side++) {
			g_assert_cmpuint(ns[side], ==, diff_all_ns(pair.d, side));
			g_assert_cmpuint(cnt[side], ==, pair.d->total.side[side].count + pair.d->idle.side[side].count);
		}
	}
	g_assert_cmpuint(diff_all_ns(pair.d, DIFF_BEFORE), ==, UINT64_C(3960) * 1000000);
	pair_free(&pair);
}

static void test_norms(void)
{
	struct pair per_thread = pair_new(change_new(false), change_new(true), DIFF_PER_THREAD_TIME);
	struct pair per_request = pair_new(change_new(false), change_new(true), DIFF_PER_REQUEST);

	/* 20 s of five threads that were there for 30 s each: 2.5 minutes */
	assert_near(row_named(per_thread.d, DIFF_BY_LEAF, "futex")->side[DIFF_BEFORE].scaled_ns, 8000 * MS, 1e-9);
	assert_near(row_named(per_request.d, DIFF_BY_LEAF, "futex")->side[DIFF_BEFORE].scaled_ns, 20 * MS, 1e-9);
	assert_near(row_named(per_request.d, DIFF_BY_STACK, "futex")->side[DIFF_AFTER].scaled_ns, 11.00505 * MS, 1e-9);
	pair_free(&per_thread);
	pair_free(&per_request);
}

/*
 * The standard error of the sleeps' row, worked out in Python from change.c: each thread has 2000 waits, 1500 in the slot
 * of 2^20 ns and 500 in the one below, so squares = (sum / (1500 * 1.5 * 2^20 + 500 * 1.5 * 2^19))^2 * 7 / 3 *
 * (1500 * 2^40 + 500 * 2^38); a thread's variance is (1 - sum / 30 s)^2 of that; errors of the four add up.
 */
static void test_error(void)
{
	struct pair pair = pair_new(change_new(false), change_new(true), DIFF_NOT_NORMALISED);
	const struct diff_row *r = row_named(pair.d, DIFF_BY_LEAF, "nanosleep");

	assert_near(r->side[DIFF_BEFORE].scaled_se_ns, 325.275e6, 1e-4);
	pair_free(&pair);
}

static void test_same(void)
{
	struct profile *p = change_new(false);
	struct pair pair = pair_new(p, p, DIFF_PER_THREAD_TIME);

	for (unsigned by = 0; by < DIFF_BY_COUNT; by++)
		g_assert_cmpuint(diff_table(pair.d, by)->real_cnt, ==, 0);
	g_assert_cmpfloat(pair.d->total.time.by, ==, 0);
	pair_free(&pair);
}

static void test_empty(void)
{
	struct pair both = pair_new(profile_new(), profile_new(), DIFF_PER_THREAD_TIME);
	struct pair one = pair_new(profile_new(), change_new(true), DIFF_PER_THREAD_TIME);

	g_assert_cmpuint(diff_table(both.d, DIFF_BY_STACK)->rows->len, ==, 0);
	g_assert_cmpuint(diff_table(one.d, DIFF_BY_LOCK)->rows->len, ==, 0);
	g_assert_true(row_named(one.d, DIFF_BY_STACK, "futex")->fate == DIFF_NEW);
	pair_free(&both);
	pair_free(&one);
}

static void test_time(void)
{
	struct profile *before = change_large(20000, 1), *after = change_large(20000, 2);
	clock_t begin = clock();
	struct pair pair = pair_new(before, after, DIFF_PER_THREAD_TIME);

	diff_table(pair.d, DIFF_BY_STACK);
	g_test_message("20,000 stacks: %.0f ms of CPU time", 1e3 * (double)(clock() - begin) / CLOCKS_PER_SEC);
	/* Every hundredth stack of each has a function of its own, so that many are on one side alone: none is alike enough by chance. */
	g_assert_cmpuint(diff_table(pair.d, DIFF_BY_STACK)->rows->len, >, 20000);
	pair_free(&pair);
}

static struct condition_result check(struct diff *d, const char *text)
{
	g_autoptr(GError) error = NULL;
	struct condition *c = condition_parse(text, &error);
	struct condition_result result;

	g_assert_no_error(error);
	g_assert_true(condition_check(d, c, 1, &result, &error));
	condition_free(c);
	return result;
}

static void test_conditions(void)
{
	struct pair pair = pair_new(change_new(false), change_new(true), DIFF_PER_THREAD_TIME);
	struct diff *d = pair.d;

	g_assert_true(check(d, "stack~commit > +5%").is_true);
	g_assert_false(check(d, "stack~commit > +15%").is_true);
	g_assert_true(check(d, "function=commit mean > +5%").is_true);
	g_assert_true(check(d, "function = commit.part.3 mean > 50us").is_true);
	g_assert_true(check(d, "stack~'^old_path$' < -90%").is_true);
	g_assert_true(check(d, "stack~evil > +1000%").is_true);	/* new */
	g_assert_true(check(d, "stack~evil count > +100").is_true);
	g_assert_false(check(d, "comm=worker total > +5%").is_true);	/* all of their time before and after */
	g_assert_false(check(d, "leaf~nanosleep < -0.5%").is_true);
	g_assert_true(check(d, "leaf~nanosleep < -0.5%").is_beyond);
	g_assert_false(check(d, "lock=x > 1%").has_waits);
	/* A function and who calls it: each wait once. */
	assert_near(check(d, "function~'main|loop|commit' > 0%").value[DIFF_BEFORE],
		    check(d, "function=main > 0%").value[DIFF_BEFORE], 1e-9);
	g_assert_true(check(d, "reason=lock mean > +5%").is_true);
	g_assert_true(check(d, "reason=lock.mutex mean > +5%").is_true);
	g_assert_false(check(d, "reason=disk > +5%").is_true);
	g_assert_true(check(d, "leaf~futex max > 1%").is_true);
	g_assert_false(check(d, "leaf~futex p50 > +20%").is_true);
	assert_near(check(d, "leaf~futex p50 > +20%").percent, 10, 0.1);
	pair_free(&pair);
}

static void test_bad_conditions(void)
{
	static const char *const bad[][2] = {
		{ "", "character 1:" },
		{ "totl > 5%", "character 1: \"totl\" is none of total" },
		{ "total p98 > 5%", "character 7: \"p98\"" },
		{ "total 5%", "character 7: > or <" },
		{ "total > 5", "character 10:" },
		{ "total > x%", "character 9: a number" },
		{ "total > 0x10%", "character 9:" },
		{ "total > 1e999%", "character 9:" },
		{ "total > inf%", "character 9:" },
		{ "total > +%", "character 9:" },
		{ "total count > 5ms", "character 16:" },
		{ "total > 5% 6", "character 12: \"6\" is left over" },
		{ "comm > 5%", "character 6: = and a name" },
		{ "comm= > 5%", "character 7: a name" },
		{ "comm=\"a > 5%", "character 6: this quote" },
		{ "stack=f > 5%", "a stack has no name" },
		{ "reason=lokc > 5%", "character 8: there is no reason \"lokc\"; known are" },
		{ "stack~( > 5%", "character 7: expression" },
		{ "\xc3\xa9 > 5%", "character 1:" },
		{ "comm=\xc3\xa9 = 5%", "character 8:" },
	};

	for (unsigned i = 0; i < G_N_ELEMENTS(bad); i++) {
		g_autoptr(GError) error = NULL;

		g_assert_null(condition_parse(bad[i][0], &error));
		if (!strstr(error->message, bad[i][1]))
			g_error("\"%s\": %s", bad[i][0], error->message);
	}
}

static uint64_t merged_ns(const struct diff_merged *m, enum diff_side side)
{
	uint64_t ns = 0;

	for (uint32_t i = 0; i < m->profile->waits->len; i++)
		if ((profile_wait(m->profile, i)->thread < m->before_threads_cnt) == (side == DIFF_BEFORE))
			ns += wait_off_cpu_ns(profile_wait(m->profile, i));
	return ns;
}

static bool same_stack(const struct profile *p, const struct wait *a, const struct wait *b)
{
	return a->user == b->user && a->kernel == b->kernel &&
	       strcmp(profile_thread(p, a->thread)->comm, profile_thread(p, b->thread)->comm) == 0;
}

/* Each side's time is there, a stack that moved is one, and equal stacks are idle on both sides or on none. */
/* A recording with a helper thread that waits for 99 ms at a time, there for the last `there_s` of the window's 30 s. */
static struct profile *with_helper(bool is_after, uint64_t there_s)
{
	struct profile *p = change_new(is_after);
	struct thread t = *profile_thread(p, 0);

	t.tid = 99;
	t.comm = profile_string(p, "helper");
	t.from_ns = t.to_ns - there_s * 1000000000;
	t.on_cpu_ns = there_s * 10 * 1000000;
	t.blocked_ns = there_s * 990 * 1000000;
	struct wait w = {
		.thread = profile_add_thread(p, &t), .state = 'S', .count = there_s * 10, .blocked_ns = t.blocked_ns, .max_ns = 99000000,
		.kernel = fixture_stack(p, FRAME_KERNEL, STACK_NONE, "io_wq_worker schedule_timeout"),
		.hist = { [26] = (uint32_t)there_s * 10 },
	};

	profile_add_wait(p, &w);
	return p;
}

/* A lock that eight threads take now and then, or twelve fifty times as often, each another number of times. */
static struct profile *with_takers(unsigned cnt, unsigned times)
{
	struct profile *p = change_new(false);

	for (unsigned i = 0; i < cnt; i++) {
		struct thread t = *profile_thread(p, 0);

		t.tid = 200 + i;
		t.comm = profile_string(p, "taker");
		uint32_t n = times * (2 + i * 7 % 5);
		struct wait w = {
			.thread = profile_add_thread(p, &t), .state = 'S', .count = n, .blocked_ns = n * (uint64_t)MS, .max_ns = MS,
			.user = fixture_stack(p, FRAME_USER, STACK_COMPLETE, "start take"), .hist = { [19] = n },
		};

		profile_add_wait(p, &w);
	}
	return p;
}

/* How unequally threads grew makes no noise of fifty times as much, in neither direction. */
static void test_unequal_threads(void)
{
	struct pair pair = pair_new(with_takers(8, 10), with_takers(12, 500), DIFF_PER_THREAD_TIME);
	const struct diff_row *r = row_named(pair.d, DIFF_BY_FUNCTION, "take");
	double t = r->time.t;

	g_assert_true(r->time.is_real && r->time.by > 0);
	pair_free(&pair);
	pair = pair_new(with_takers(12, 500), with_takers(8, 10), DIFF_PER_THREAD_TIME);
	r = row_named(pair.d, DIFF_BY_FUNCTION, "take");
	g_assert_true(r->time.is_real && r->time.by < 0);
	assert_near(-r->time.t, t, 1e-6);
	pair_free(&pair);
}

/* When a single thread begins is one draw, of which no change follows; how long it waits is known whatever its life was. */
static void test_lives(void)
{
	struct pair pair = pair_new(with_helper(false, 3), with_helper(false, 30), DIFF_PER_THREAD_TIME);
	const struct diff_row *r = row_named(pair.d, DIFF_BY_COMM, "helper");

	g_assert_true(r->is_tested && !r->time.is_real);
	/* 2.97 s, and nine times that if it had been there all the time: of 5 threads of half a minute each, and 3 s */
	assert_near(sqrt(r->side[DIFF_BEFORE].lives), 9 * 2970 * MS * 60 / (5 * 30 + 3), 1e-6);
	g_assert_cmpfloat(r->side[DIFF_AFTER].lives, ==, 0);
	pair_free(&pair);
	/* Of a life that lacks little there is little doubt. */
	pair = pair_new(with_helper(false, 30), with_helper(true, 29), DIFF_PER_THREAD_TIME);
	r = row_named(pair.d, DIFF_BY_COMM, "helper");
	assert_near(sqrt(r->side[DIFF_AFTER].lives), 28710 * MS * (1 / 29.0) * 60 / (5 * 30 + 29), 1e-6);
	g_assert_true(!r->time.is_real);
	pair_free(&pair);
}

static uint64_t wakes_by(const struct profile *p, const char *name, const struct diff_merged *m, bool is_after)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < p->wakes->len; i++) {
		const struct wake *k = profile_wake(p, i);
		const struct waker *w = profile_get_waker(p, k->waker);
		bool own = (profile_wait(p, k->wait)->thread >= m->before_threads_cnt) == is_after;

		sum += own && strcmp(w->irq ? w->irq : w->comm, name) == 0 ? k->count : 0;
	}
	return sum;
}

/* With so many threads more that sleep all the time. */
static struct profile *with_pool(uint32_t threads_cnt)
{
	struct profile *p = change_new(false);

	for (uint32_t i = 0; i < threads_cnt; i++) {
		struct thread t = *profile_thread(p, 0);

		t.tid = 1000 + i;
		t.comm = profile_string(p, "pool");
		t.on_cpu_ns = 0;
		t.blocked_ns = t.to_ns - t.from_ns;
		struct wait w = {
			.thread = profile_add_thread(p, &t), .state = 'S', .count = 1, .blocked_ns = t.blocked_ns, .max_ns = t.blocked_ns,
			.kernel = fixture_stack(p, FRAME_KERNEL, STACK_NONE, "io_wq_worker schedule_timeout"),
			.flags = WAIT_OPEN_AT_START | WAIT_OPEN_AT_END,
		};

		profile_add_wait(p, &w);
	}
	return p;
}

/* The others' share of all threads' time is another one with more idle threads, and that is all. */
static void test_pool(void)
{
	for (unsigned i = 0; i < 2; i++) {
		struct pair pair = pair_new(with_pool(i ? 0 : 10), with_pool(i ? 10 : 0), DIFF_PER_THREAD_TIME);
		const struct diff_row *r = row_named(pair.d, DIFF_BY_STACK, "futex");

		g_assert_true(r->is_tested && !diff_row_is_real(r));
		g_assert_cmpfloat(fabs(r->time.by), >, r->side[DIFF_BEFORE].scaled_ns / 2);
		pair_free(&pair);
	}
}

/* Who woke whom on each side; a waker is the same one on both whatever its ids are. */
static void test_merged_wakers(void)
{
	struct profile *before = change_new(false), *after = change_new(true);

	change_add_more(before, false, CHANGE_SLICE_NS);
	change_add_more(after, true, CHANGE_SLICE_NS);
	struct pair pair = pair_new(before, after, DIFF_PER_THREAD_TIME);
	struct diff_merged *m = diff_merged_new(pair.d);

	g_assert_true(m->profile->info.has_wakers);
	g_assert_cmpuint(m->profile->wakers->len, ==, 2);
	g_assert_cmpuint(wakes_by(m->profile, "worker", m, false), ==, 4 * 3000);
	g_assert_cmpuint(wakes_by(m->profile, "timer", m, false), ==, 4 * 2000);
	g_assert_cmpuint(wakes_by(m->profile, "worker", m, true), ==, 4 * 5000);
	g_assert_cmpuint(wakes_by(m->profile, "timer", m, true), ==, 0);
	for (unsigned side = 0; side < DIFF_SIDES; side++)
		for (uint32_t i = 0; i < pair.p[side]->waits->len; i++)
			g_assert_cmpuint(m->rows[side][i], <=, m->profile->waits->len);
	diff_merged_free(m);
	pair_free(&pair);
}

static void test_merged(void)
{
	struct pair pair = pair_new(change_new(false), change_new(true), DIFF_PER_THREAD_TIME);
	struct diff_merged *m = diff_merged_new(pair.d);
	const struct profile *p = m->profile;
	unsigned shared_cnt = 0;
	g_autoptr(GError) error = NULL;

	g_assert_true(profile_check(p, &error));
	for (unsigned side = 0; side < DIFF_SIDES; side++)
		g_assert_cmpuint(merged_ns(m, side), ==, diff_all_ns(pair.d, side));
	g_assert_cmpuint(m->before_threads_cnt, ==, pair.p[DIFF_BEFORE]->threads->len);
	for (uint32_t i = 0; i < p->waits->len; i++) {
		const struct wait *w = profile_wait(p, i);

		g_assert_cmpuint(m->root_squares_ns[i], >, 0);
		g_assert_cmpuint(m->root_squares_ns[i], <=, wait_off_cpu_ns(w));
		for (uint32_t n = 0; w->thread < m->before_threads_cnt && n < p->waits->len; n++) {
			if (profile_wait(p, n)->thread < m->before_threads_cnt || !same_stack(p, w, profile_wait(p, n)))
				continue;
			g_assert_true((m->reasons[i].idle == IDLE_NOT) == (m->reasons[n].idle == IDLE_NOT));
			shared_cnt++;
		}
	}
	/* Of each worker lock, sleep, moved, library and idle, of four after; and the kernel worker. */
	g_assert_cmpuint(shared_cnt, >=, 5 * 4 * 4);
	diff_merged_free(m);
	pair_free(&pair);
}

/* Without counts nothing tells what is noise: the threshold alone decides. */
static void test_without_counts(void)
{
	struct pair pair = pair_new(change_new(false), change_new(true), DIFF_NOT_NORMALISED);
	struct condition_result result;
	struct condition *c = condition_parse("total < +0.1%", NULL);

	g_assert_true(diff_has_counts(pair.d));
	pair.p[DIFF_AFTER]->info.unknown = UNKNOWN_COUNTS;
	g_assert_false(diff_has_counts(pair.d));
	g_assert_true(condition_check(pair.d, c, 1, &result, NULL));
	g_assert_true(result.is_true == (result.change.by != 0 && result.percent < 0.1));
	condition_free(c);
	c = condition_parse("stack~old_path total < -50%", NULL);
	g_assert_true(condition_check(pair.d, c, 1, &result, NULL));
	g_assert_true(result.is_true);
	condition_free(c);
	pair_free(&pair);
}

#define NAP "__x64_sys_clock_nanosleep@[kernel] do_nanosleep@[kernel]"

/* A run of a command: a pool's threads sleep, and the main thread in two stages, which end in one function. */
static struct profile *run_new(uint64_t stage_ms)
{
	static const char *const stages[] = { "main@app stage_one@app nap@app nanosleep@libc.so.6",
					      "main@app stage_two@app nap@app nanosleep@libc.so.6" };
	struct profile *p = profile_new();
	const uint64_t each_ns[] = { stage_ms * 1000000, 100000000 };

	p->info.filters = profile_string(p, "command ./app");
	p->info.duration_ns = 10 * each_ns[0] + 10 * each_ns[1];
	for (uint32_t i = 0; i < 4; i++) {
		g_autofree char *comm = i ? g_strdup_printf("pool-1-thread-%u", i) : g_strdup("app");
		struct thread t = { .pid = 1, .tid = 1 + i, .comm = profile_string(p, comm), .process = profile_string(p, "app"),
				    .flags = THREAD_EXITED, .to_ns = p->info.duration_ns };
		uint32_t thread = profile_add_thread(p, &t);

		for (unsigned k = 0; k < G_N_ELEMENTS(stages); k++) {
			struct wait w = { .thread = thread, .state = 'S', .count = 10, .blocked_ns = 10 * each_ns[k], .max_ns = each_ns[k],
					  .user = fixture_stack(p, FRAME_USER, STACK_COMPLETE, stages[k]),
					  .kernel = fixture_stack(p, FRAME_KERNEL, STACK_COMPLETE, NAP) };

			w.hist[profile_hist_slot(each_ns[k])] = 10;
			profile_add_wait(p, &w);
		}
	}
	return p;
}

static void test_whole_runs(void)
{
	struct pair pair = pair_new(run_new(50), run_new(150), DIFF_WHOLE_RUNS);
	struct condition *c = condition_parse("total > 10%", NULL);
	struct condition_result result;

	g_assert_true(diff_is_whole_run(pair.p[DIFF_BEFORE]));
	g_assert_true(condition_check(pair.d, c, 1, &result, NULL));
	g_assert_true(result.is_true);
	assert_near(result.value[DIFF_AFTER] - result.value[DIFF_BEFORE], 4000 * MS, 1e-9);
	condition_free(c);
	/* rows of one label are told apart by the next frame, and a pool's threads are one row */
	const struct diff_row *one = row_named(pair.d, DIFF_BY_STACK, "nap <- stage_one"),
			      *two = row_named(pair.d, DIFF_BY_STACK, "nap <- stage_two");
	g_assert_true(one->time.is_real && !two->time.is_real);
	g_assert_cmpuint(row_named(pair.d, DIFF_BY_COMM, "pool-1-thread-*")->side[DIFF_BEFORE].threads_cnt, ==, 3);
	g_array_index(pair.p[DIFF_AFTER]->threads, struct thread, 0).flags = THREAD_OPEN_AT_END;
	g_assert_false(diff_is_whole_run(pair.p[DIFF_AFTER]));
	pair_free(&pair);
}

static void test_endless_expression(void)
{
	struct profile *p = profile_new();
	struct thread t = { .comm = profile_string(p, "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!"), .to_ns = 1000 };
	struct wait w = { .thread = profile_add_thread(p, &t), .state = 'S', .count = 1, .blocked_ns = 10, .max_ns = 10,
			  .hist = { [3] = 1 } };
	struct condition_result result;
	g_autoptr(GError) error = NULL;

	profile_add_wait(p, &w);
	struct pair pair = pair_new(p, p, DIFF_NOT_NORMALISED);
	struct condition *c = condition_parse("comm~(a+)+$ > 5%", &error);
	g_assert_false(condition_check(pair.d, c, 1, &result, &error));
	g_assert_nonnull(strstr(error->message, "too many steps"));
	condition_free(c);
	pair_free(&pair);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/diff/rows", test_rows);
	g_test_add_func("/diff/sums", test_sums);
	g_test_add_func("/diff/norms", test_norms);
	g_test_add_func("/diff/error", test_error);
	g_test_add_func("/diff/same", test_same);
	g_test_add_func("/diff/empty", test_empty);
	g_test_add_func("/diff/time", test_time);
	g_test_add_func("/diff/lives", test_lives);
	g_test_add_func("/diff/unequal-threads", test_unequal_threads);
	g_test_add_func("/diff/pool", test_pool);
	g_test_add_func("/diff/merged", test_merged);
	g_test_add_func("/diff/merged/wakers", test_merged_wakers);
	g_test_add_func("/diff/without-counts", test_without_counts);
	g_test_add_func("/diff/whole-runs", test_whole_runs);
	g_test_add_func("/diff/conditions", test_conditions);
	g_test_add_func("/diff/conditions/bad", test_bad_conditions);
	g_test_add_func("/diff/conditions/endless", test_endless_expression);
	return g_test_run();
}
