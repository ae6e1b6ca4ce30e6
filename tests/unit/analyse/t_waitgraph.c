/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "features/waitgraph/analysis.h"

#include <stdlib.h>
#include <string.h>

#include "../fixture.h"
#include "features/critical/analysis.h"
#include "analyse/label.h"
#include "features/waitgraph/analysis_components.h"
#include "analyse/roles.h"
#include "features/wakers/analysis.h"

#define MS UINT64_C(1000000)

struct expected_edge {
	const char *from, *to, *wait, *waker;	/* the first place of the edge */
	uint64_t count, blocked_ms, runnable_ms;
};

static struct profile *profile_with_wakers(void)
{
	struct profile *p = fixture_new();

	fixture_add_wakers(p);
	g_assert_true(profile_check(p, NULL));
	return p;
}

static void check_edges(enum actor_by by, const struct expected_edge *edges, unsigned cnt)
{
	struct profile *p = profile_with_wakers();
	struct waitgraph *g = waitgraph_new(p, NULL, by, false);
	uint64_t blocked_ns = 0;

	g_assert_cmpuint(g->edges->len, ==, cnt);
	for (unsigned i = 0; i < cnt; i++) {
		const struct wait_edge *e = waitgraph_edge(g, i);
		const struct wait_place *place = waitgraph_place(g, e->places_first);

		g_assert_cmpstr(actors_get(g->actors, e->from)->name, ==, edges[i].from);
		g_assert_cmpstr(actors_get(g->actors, e->to)->name, ==, edges[i].to);
		g_assert_cmpstr(place->wait, ==, edges[i].wait);
		g_assert_cmpstr(place->waker, ==, edges[i].waker);
		g_assert_cmpuint(e->count, ==, edges[i].count);
		g_assert_cmpuint(e->blocked_ns, ==, edges[i].blocked_ms * MS);
		g_assert_cmpuint(e->runnable_ns, ==, edges[i].runnable_ms * MS);
		blocked_ns += e->blocked_ns;
	}
	g_assert_cmpuint(g->blocked_ns, ==, blocked_ns);
	g_assert_cmpuint(g->all_asleep_ns, ==, 1000 * MS);
	waitgraph_free(g);
	profile_free(p);
}

#define COND "futex_wait (pthread_cond_wait <- do_work)"
#define SIGNAL "futex_wake (pthread_cond_signal <- hand_over)"

static void test_edges(void)
{
	static const struct expected_edge threads[] = {
		{ "kwork-2/2", "timer", "worker_thread", "hrtimer_wakeup", 3, 995, 5 },
		{ "server-100/100", "worker-100/101", COND, SIGNAL, 8, 400, 40 },
		{ "server-100/100", "irq:virtio0", "folio_wait_bit_common (fsync <- do_work)", "end_bio_bh_io_sync", 4, 400, 30 },
		{ "worker-100/101", "server-100/100", COND, SIGNAL, 20, 400, 80 },
		{ "ev\033[31m;il-200/200", "client-300/300", "pipe_read (read <- app+0x1234)", "futex_wake", 5, 150, 30 },
		{ "worker-100/101", "ev\033[31m;il-200/200", "futex_wait ([stack lost])", "futex_wake", 2, 100, 20 },
		{ "server-100/100", "timer", COND, "hrtimer_wakeup", 1, 80, 8 },
		{ "server-100/100", "unknown", COND, "", 1, 20, 2 },
	};

	check_edges(ACTOR_BY_THREAD, threads, G_N_ELEMENTS(threads));
}

static void test_edges_by_process(void)
{
	static const struct expected_edge processes[] = {
		{ "kwork (2)", "timer", "worker_thread", "hrtimer_wakeup", 3, 995, 5 },
		{ "server (100)", "server (100)", COND, SIGNAL, 28, 800, 120 },
		{ "server (100)", "irq:virtio0", "folio_wait_bit_common (fsync <- do_work)", "end_bio_bh_io_sync", 4, 400, 30 },
		{ "evil (200)", "client (300)", "pipe_read (read <- app+0x1234)", "futex_wake", 5, 150, 30 },
		{ "server (100)", "evil (200)", "futex_wait ([stack lost])", "futex_wake", 2, 100, 20 },
		{ "server (100)", "timer", COND, "hrtimer_wakeup", 1, 80, 8 },
		{ "server (100)", "unknown", COND, "", 1, 20, 2 },
	};

	check_edges(ACTOR_BY_PROCESS, processes, G_N_ELEMENTS(processes));
}

/* Two that wait for each other's work are a pool; at a mutex they hold up each other. */
static void test_knot(void)
{
	struct profile *p = profile_with_wakers();
	struct waitgraph *g = waitgraph_new(p, NULL, ACTOR_BY_THREAD, false);
	g_autoptr(GPtrArray) idle = waitgraph_knots(g);

	g_assert_cmpuint(idle->len, ==, 0);
	waitgraph_free(g);
	fixture_set_mutex(p);
	g = waitgraph_new(p, NULL, ACTOR_BY_THREAD, false);
	g_autoptr(GPtrArray) knots = waitgraph_knots(g);

	g_assert_cmpuint(knots->len, ==, 1);
	const struct knot *k = g_ptr_array_index(knots, 0);
	g_assert_cmpuint(k->nodes->len, ==, 2);
	g_assert_cmpuint(k->held, ==, 800 * MS);
	g_assert_cmpuint(k->outside, ==, 580 * MS);	/* and 20 ms for whom is not known */
	g_assert_cmpuint(k->cycle_weight, ==, 400 * MS);
	waitgraph_free(g);
	profile_free(p);
}

/* The kernel's threads come along if a selected one waited for them. */
static void test_their_wakers(void)
{
	struct profile *p = profile_with_wakers();
	const struct query users = { .user_only = true };
	const struct waker worker = { .pid = 2, .tid = 2, .comm = profile_string(p, "kwork") };
	struct wake wake = { .wait = 0, .count = 1, .blocked_ns = 20 * MS, .runnable_ns = 2 * MS };
	struct selection *selection = selection_new(p, &users, NULL);
	struct waitgraph *g = waitgraph_new(p, selection, ACTOR_BY_THREAD, true);

	for (unsigned i = 0; i < g->edges->len; i++)
		g_assert_cmpstr(actors_get(g->actors, waitgraph_edge(g, i)->from)->name, !=, "kwork-2/2");
	waitgraph_free(g);
	wake.waker = profile_waker(p, &worker);
	profile_add_wake(p, &wake);
	g = waitgraph_new(p, selection, ACTOR_BY_THREAD, true);
	g_assert_cmpstr(actors_get(g->actors, waitgraph_edge(g, 0)->from)->name, ==, "kwork-2/2");
	waitgraph_free(g);
	selection_free(selection);
	profile_free(p);
}

static void add_sleep(struct profile *p, uint32_t thread, uint64_t ms, const char *stack)
{
	struct wait w = {
		.thread = thread, .state = 'S', .count = 1, .blocked_ns = ms * MS, .max_ns = ms * MS,
		.user = fixture_stack(p, FRAME_USER, STACK_COMPLETE, stack),
	};

	profile_add_wait(p, &w);
}

/* A pool of three, a log writer and an idle main thread, all called the same. */
static void test_roles(void)
{
	static const char *const names[] = { "db:pool_main", "db:pool_main", "db:log_main", "db:main", "db:pool_main",
					     "ksoftirqd/*", "ksoftirqd/*", "db/8", "db:log_main", "db:cut", "db:cut" };
	struct wait broken = { .state = 'S', .count = 1, .blocked_ns = 100 * MS, .max_ns = 100 * MS };
	struct profile *p = profile_new();

	for (uint32_t i = 0; i < 5; i++)
		fixture_thread(p, 1, i + 1, "db", "db");
	fixture_thread(p, 6, 6, "ksoftirqd/0", "ksoftirqd/0");
	fixture_thread(p, 7, 7, "ksoftirqd/1", "ksoftirqd/1");
	for (uint32_t i = 8; i < 12; i++)
		fixture_thread(p, 1, i, "db", "db");
	g_array_index(p->threads, struct thread, 5).flags = g_array_index(p->threads, struct thread, 6).flags = THREAD_KERNEL;
	add_sleep(p, 0, 60, "clone@/libc.so.6 start_thread@/libc.so.6 pool_main@/db idle@/db");
	add_sleep(p, 0, 40, "clone@/libc.so.6 start_thread@/libc.so.6 pool_main@/db query@/db read@/libc.so.6");
	add_sleep(p, 1, 99, "clone@/libc.so.6 start_thread@/libc.so.6 pool_main@/db idle@/db");
	add_sleep(p, 4, 99, "clone@/libc.so.6 start_thread@/libc.so.6 pool_main@/db query@/db read@/libc.so.6");
	add_sleep(p, 4, 1, "clone@/libc.so.6 start_thread@/libc.so.6 log_main@/db");	/* too little to count */
	add_sleep(p, 2, 100, "clone@/libc.so.6 start_thread@/libc.so.6 log_main@/db fsync@/libc.so.6");
	add_sleep(p, 3, 100, "_start@/db main@/db poll@/libc.so.6");
	/* those whose stacks were cut go by where they sleep: like the log writer; nobody like them */
	broken.thread = 8;
	broken.user = fixture_stack(p, FRAME_USER, STACK_BROKEN, "log_main@/db fsync@/libc.so.6");
	profile_add_wait(p, &broken);
	for (broken.thread = 9; broken.thread < 11; broken.thread++) {
		broken.user = fixture_stack(p, FRAME_USER, STACK_BROKEN, "cut@/db poll@/libc.so.6");
		profile_add_wait(p, &broken);
	}
	struct actors *a = actors_new(p, NULL, ACTOR_BY_ROLE);
	for (uint32_t i = 0; i < G_N_ELEMENTS(names); i++)
		g_assert_cmpstr(actors_get(a, a->of_thread[i])->name, ==, names[i]);
	g_assert_cmpuint(actors_get(a, a->of_thread[0])->threads_cnt, ==, 3);
	actors_free(a);
	profile_free(p);
}

static void test_role_names(void)
{
	static const char *const names[][2] = {
		{ "ksoftirqd/0", "ksoftirqd/*" }, { "kworker/u8:2-events", "kworker/*" }, { "kworker/R-mm_pe", "kworker/R-mm_pe" },
		{ "kswapd0", "kswapd0" }, { "irq/24-virtio0", "irq/24-virtio0" }, { "jbd2/vda1-8", "jbd2/vda1-8" },
		{ "", "" }, { "12", "12" }, { "/", "/" }, { "rcuc/11", "rcuc/*" },
	};
	static const char *const functions[][2] = {
		{ "main", "main" }, { "do_command(THD*, bool)", "do_command" },
		{ "(anonymous namespace)::run(int)", "(anonymous namespace)::run" },
		{ "std::function<void (int)>::operator()(int) const", "std::function<void (int)>::operator()" },
		{ "a::(anonymous namespace)::b(c)", "a::(anonymous namespace)::b" }, { "", "" },
		{ "block (2 levels) in <main>", "block (2 levels) in <main>" }, { "f (int)", "f" },
		{ "(garbage collector)", "(garbage collector)" },
	};

	for (unsigned i = 0; i < G_N_ELEMENTS(names); i++) {
		g_autofree char *name = role_kernel_name(names[i][0]);

		g_assert_cmpstr(name, ==, names[i][1]);
	}
	static const char *const shown[][2] = {
		{ "std::thread::_State_impl<std::thread::_Invoker<std::tuple<app::Pool::start(int, char)::{lambda()#1}> > >::_M_run()",
		  "lambda in app::Pool::start" },
		{ "std::_Function_handler<void (), work<int>(int)::{lambda(int)#2}>::_M_invoke(std::_Any_data const&)", "lambda in work<int>" },
		{ "camlChatd__broadcast_301", "Chatd.broadcast" }, { "camlChatd__fun_387", "Chatd.fun_387" },
		{ "camlShop__Cart__add_item_12", "Shop.Cart.add_item" }, { "caml_main", "caml_main" }, { "camlX__", "X." },
		{ "<)::{lambda(", "lambda in <)" }, { "::{lambda(", "::{lambda(" }, { "serve(int)", "serve" }, { "", "" },
		{ "main::{lambda()#1}::operator()() const", "lambda in main" },
	};

	for (unsigned i = 0; i < G_N_ELEMENTS(functions); i++) {
		g_autofree char *function = function_plain_name(functions[i][0]);

		g_assert_cmpstr(function, ==, functions[i][1]);
	}
	for (unsigned i = 0; i < G_N_ELEMENTS(shown); i++) {
		g_autofree char *function = function_shown_name(shown[i][0]);

		g_assert_cmpstr(function, ==, shown[i][1]);
	}
	g_assert_true(actors_same_kind("worker-3", "worker-12"));
	g_assert_false(actors_same_kind("worker-3", "work-3"));
	g_assert_false(actors_same_kind("1", "2")); /* a number alone is no name */
}

/* A program cannot pass for an interrupt, nor an exec's two names be mixed up. */
static void test_actors(void)
{
	struct profile *p = profile_new();
	uint32_t liar = fixture_thread(p, 1, 1, "timer", "timer");
	uint32_t before = fixture_thread(p, 5, 5, "sh", "sh"), after = fixture_thread(p, 5, 5, "make", "make");
	const struct waker wakers[] = {
		{ .comm = profile_string(p, ""), .irq = profile_string(p, "timer") },
		{ .pid = 5, .tid = 5, .comm = profile_string(p, "make") },
		{ .pid = 5, .tid = 5, .comm = profile_string(p, "sh") },
		{ .pid = 5, .tid = 5, .comm = profile_string(p, "gone") },
		{ .pid = 5, .tid = 5, .start_ns = 7, .comm = profile_string(p, "make") },	/* another thread, later */
	};

	for (unsigned i = 0; i < G_N_ELEMENTS(wakers); i++)
		profile_waker(p, &wakers[i]);
	g_autofree uint32_t *threads = actors_threads_of_wakers(p);
	g_assert_cmpuint(threads[0], ==, UINT32_MAX);
	g_assert_cmpuint(threads[1], ==, after);
	g_assert_cmpuint(threads[2], ==, before);
	g_assert_cmpuint(threads[3], ==, before);
	g_assert_cmpuint(threads[4], ==, UINT32_MAX);
	for (int by = 0; by < ACTOR_BY_COUNT; by++) {
		struct actors *a = actors_new(p, NULL, (enum actor_by)by);

		g_assert_cmpuint(a->of_thread[liar], !=, a->of_waker[0]);
		g_assert_cmpint(actors_get(a, a->of_waker[0])->kind, ==, ACTOR_INTERRUPT);
		g_assert_cmpint(actors_get(a, a->unknown)->kind, ==, ACTOR_UNKNOWN);
		actors_free(a);
	}
	profile_free(p);
}

/* The parts below one sum to it, those at the top to the time observed. */
static void check_sums(const struct critical *c)
{
	g_autofree int64_t *below = g_new0(int64_t, c->parts->len + 1);
	g_autofree bool *has = g_new0(bool, c->parts->len + 1);
	int64_t top = 0;

	for (guint i = 0; i < c->parts->len; i++) {
		const struct critical_part *part = critical_get(c, i);

		if (part->parent == UINT32_MAX) {
			top += part->ns;
			continue;
		}
		g_assert_cmpuint(part->parent, <, i);
		below[part->parent] += part->ns;
		has[part->parent] = true;
	}
	for (guint i = 0; i < c->parts->len; i++)
		if (has[i])
			g_assert_cmpint(below[i], ==, critical_get(c, i)->ns);
	g_assert_cmpint(top, ==, (int64_t)c->observed_ns);
}

static int64_t part_of(const struct critical *c, enum critical_kind kind, const char *actor)
{
	for (guint i = 0; i < c->parts->len; i++) {
		const struct critical_part *part = critical_get(c, i);

		if (part->kind == kind && (!actor || strcmp(actors_get(c->graph->actors, part->actor)->name, actor) == 0))
			return part->ns;
	}
	return -1;
}

static void test_critical(void)
{
	static const char *const subjects[] = { "server", "worker", "100", "101", "200", "kwork", "w*", "*" };
	struct profile *p = profile_with_wakers();
	g_autoptr(GError) error = NULL;
	bool is_own;

	for (unsigned i = 0; i < G_N_ELEMENTS(subjects); i++) {
		for (int by = 0; by < ACTOR_BY_COUNT; by++) {
			struct critical *c = critical_new(p, subjects[i], (enum actor_by)by, NULL);

			g_assert_nonnull(c);
			check_sums(c);
			critical_free(c);
		}
	}
	struct critical *c = critical_new(p, "server", ACTOR_BY_THREAD, NULL);
	g_assert_cmpint(part_of(c, CRITICAL_ON_CPU, NULL), ==, 10 * MS);
	g_assert_cmpint(part_of(c, CRITICAL_WAITING, NULL), ==, 900 * MS);
	g_assert_cmpint(part_of(c, CRITICAL_FOR, "worker-100/101"), ==, 400 * MS);
	g_assert_cmpint(part_of(c, CRITICAL_FOR, "unknown"), ==, 20 * MS);
	g_assert_cmpint(part_of(c, CRITICAL_RESIDUAL, NULL), ==, 10 * MS);
	g_assert_cmpstr(actors_get(c->graph->actors, critical_next(c, &is_own))->name, ==, "worker-100/101");
	g_assert_false(is_own);
	critical_free(c);
	c = critical_new(p, "evil-200/200", ACTOR_BY_THREAD, &error);
	g_assert_null(c);
	g_assert_cmpstr(error->message, ==, "\"evil-200/200\": no thread of the recording has that id or name");
	c = critical_new(p, "worker-100/102", ACTOR_BY_THREAD, NULL);
	g_assert_cmpint(part_of(c, CRITICAL_ASLEEP, NULL), ==, 1000 * MS);
	critical_free(c);
	profile_free(p);
}

/* The one part of that kind whose parent is of that kind and whose actor has that name; -1: none. */
static int64_t hop_of(const struct critical *c, enum critical_kind above, enum critical_kind kind, const char *actor)
{
	for (guint i = 0; i < c->parts->len; i++) {
		const struct critical_part *part = critical_get(c, i);

		if (part->kind == kind && part->parent != UINT32_MAX && critical_get(c, part->parent)->kind == above &&
		    strcmp(actors_get(c->graph->actors, part->actor)->name, actor) == 0)
			return part->ns;
	}
	return -1;
}

static void test_chains(void)
{
	struct profile *p = profile_with_wakers();

	fixture_add_chains(p);
	g_assert_true(profile_check(p, NULL));
	struct critical *c = critical_new(p, "server", ACTOR_BY_THREAD, NULL);
	check_sums(c);
	g_assert_true(c->has_chains);
	g_assert_cmpint(hop_of(c, CRITICAL_PLACE, CRITICAL_RAN, "worker-100/101"), ==, 110 * MS);
	g_assert_cmpint(hop_of(c, CRITICAL_PLACE, CRITICAL_READY, "worker-100/101"), ==, 70 * MS);
	g_assert_cmpint(hop_of(c, CRITICAL_PLACE, CRITICAL_EARLIER, "worker-100/101"), ==, 20 * MS);
	g_assert_cmpint(hop_of(c, CRITICAL_PLACE, CRITICAL_FOR, "timer"), ==, 200 * MS);
	const struct critical_share *first = &g_array_index(c->shares, struct critical_share, 0);
	/* irq:virtio0 400, timer 80 + 200, worker 200, unknown 20 */
	g_assert_cmpuint(c->shares->len, ==, 4);
	g_assert_cmpstr(actors_get(c->graph->actors, first[0].actor)->name, ==, "irq:virtio0");
	g_assert_cmpuint(first[1].ns, ==, 280 * MS);
	g_assert_cmpuint(first[2].ran_ns, ==, 110 * MS);
	critical_free(c);
	c = critical_new(p, "101", ACTOR_BY_THREAD, NULL);
	check_sums(c);
	g_assert_cmpint(hop_of(c, CRITICAL_PLACE, CRITICAL_FOR, "ev\033[31m;il-200/200"), ==, 390 * MS);
	g_assert_cmpint(hop_of(c, CRITICAL_FOR, CRITICAL_RAN, "ev\033[31m;il-200/200"), ==, 100 * MS);
	g_assert_cmpint(hop_of(c, CRITICAL_FOR, CRITICAL_REST, "ev\033[31m;il-200/200"), ==, 200 * MS);
	g_assert_cmpint(hop_of(c, CRITICAL_PLACE, CRITICAL_UNTOLD, "ev\033[31m;il-200/200"), ==, 100 * MS);
	critical_free(c);
	for (int by = 0; by < ACTOR_BY_COUNT; by++) {
		c = critical_new(p, "*", (enum actor_by)by, NULL);
		check_sums(c);
		critical_free(c);
	}
	profile_free(p);
}

static int compare_ns(const void *va, const void *vb)
{
	uint64_t a = *(const uint64_t *)va, b = *(const uint64_t *)vb;

	return (a > b) - (a < b);
}

/* Against the sorted delays themselves: never off by more than the power of two it lies in. */
static void test_percentiles(void)
{
	static const double shares[] = { 0.01, 0.25, 0.5, 0.9, 0.99, 1 };
	uint64_t hist[PROFILE_HIST_SLOTS], delays[1000];

	for (int round = 0; round < 200; round++) {
		unsigned cnt = (unsigned)g_test_rand_int_range(1, G_N_ELEMENTS(delays) + 1);
		uint64_t last = 0;

		memset(hist, 0, sizeof(hist));
		for (unsigned i = 0; i < cnt; i++) {
			delays[i] = UINT64_C(2) << g_test_rand_int_range(0, 30);
			delays[i] += (uint64_t)(g_test_rand_double() * (double)delays[i]);
			hist[profile_hist_slot(delays[i])]++;
		}
		qsort(delays, cnt, sizeof(*delays), compare_ns);
		for (unsigned i = 0; i < G_N_ELEMENTS(shares); i++) {
			unsigned nth = (unsigned)(shares[i] * cnt + 0.999999);
			uint64_t exact = delays[nth ? nth - 1 : 0], got = waker_percentile_ns(hist, shares[i]);
			uint64_t low = UINT64_C(1) << profile_hist_slot(exact);

			g_assert_cmpuint(got, >=, low);
			g_assert_cmpuint(got, <=, 2 * low);
			g_assert_cmpuint(got, >=, last);
			last = got;
		}
	}
	memset(hist, 0, sizeof(hist));
	g_assert_cmpuint(waker_percentile_ns(hist, 0.5), ==, 0);
	hist[10] = 4;
	g_assert_cmpuint(waker_percentile_ns(hist, 0.25), ==, 1280);
	g_assert_cmpuint(waker_percentile_ns(hist, 0.5), ==, 1536);
	g_assert_cmpuint(waker_percentile_ns(hist, 1), ==, 2048);
	/* where the longest is known, the last one is as long as that */
	g_assert_cmpuint(wait_percentile_ns(hist, 1, 0, 1424), ==, 1424);
	g_assert_cmpuint(wait_percentile_ns(hist, 0.5, 0, 1424), ==, 1224);
	hist[10] = 1;
	g_assert_cmpuint(wait_percentile_ns(hist, 0.5, 0, 1100), ==, 1100);
	g_assert_cmpuint(wait_percentile_ns(hist, 0.5, 0, 0), ==, 1536);
	hist[12] = 3;
	g_assert_cmpuint(wait_percentile_ns(hist, 0.25, 0, 5000), ==, 2048);
	g_assert_cmpuint(wait_percentile_ns(hist, 0.99, 0, 5000), ==, 5000);
}

/* With their sum and the longest: of one and two exact, of equal ones too, and never outside of what these allow. */
static void test_percentiles_of_sum(void)
{
	static const double shares[] = { 0.01, 0.25, 0.5, 0.9, 0.99, 1 };
	uint64_t hist[PROFILE_HIST_SLOTS], ns[40];

	for (int round = 0; round < 2000; round++) {
		unsigned cnt = (unsigned)g_test_rand_int_range(1, round % 2 ? 4 : G_N_ELEMENTS(ns) + 1);
		uint64_t sum = 0, last = 0;

		memset(hist, 0, sizeof(hist));
		for (unsigned i = 0; i < cnt; i++) {
			ns[i] = UINT64_C(2) << g_test_rand_int_range(20, round % 3 ? 24 : 21);
			ns[i] = i && round % 5 == 0 ? ns[0] : ns[i] + (uint64_t)(g_test_rand_double() * (double)ns[i]);
			hist[profile_hist_slot(ns[i])]++;
			sum += ns[i];
		}
		qsort(ns, cnt, sizeof(*ns), compare_ns);
		for (unsigned i = 0; i < G_N_ELEMENTS(shares); i++) {
			unsigned nth = MAX((unsigned)(shares[i] * cnt + 0.999999), 1);
			uint64_t max = ns[cnt - 1], got = wait_percentile_ns(hist, shares[i], sum, max);

			if (cnt <= 2 || ns[0] == max)
				g_assert_cmpuint(got, ==, ns[nth - 1]);
			/* those up to the rank are at most as long as it, the others as the longest */
			g_assert_cmpuint(got * nth + (cnt - nth) * max + cnt, >=, sum);
			if (nth < cnt)
				g_assert_cmpuint(got * (cnt - nth) + max, <=, sum);
			g_assert_cmpuint(got, >=, UINT64_C(1) << profile_hist_slot(ns[nth - 1]));
			g_assert_cmpuint(got, <=, UINT64_C(2) << profile_hist_slot(ns[nth - 1]));
			g_assert_cmpuint(got, >=, last);
			g_assert_cmpuint(got, <=, max);
			last = got;
		}
	}
	/* a sum that cannot be theirs says nothing */
	memset(hist, 0, sizeof(hist));
	hist[10] = 4;
	g_assert_cmpuint(wait_percentile_ns(hist, 0.5, 1, 1424), ==, 1224);
	g_assert_cmpuint(wait_percentile_ns(hist, 0.5, 1000000, 1424), ==, 1224);
	g_assert_cmpuint(wait_percentile_ns(hist, 0.5, 4 * 1424, 1424), ==, 1424);
	g_assert_cmpuint(wait_percentile_ns(hist, 0.5, 3 * 1024 + 1424, 1424), ==, 1024);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/waitgraph/edges", test_edges);
	g_test_add_func("/waitgraph/by_process", test_edges_by_process);
	g_test_add_func("/waitgraph/knot", test_knot);
	g_test_add_func("/waitgraph/their_wakers", test_their_wakers);
	g_test_add_func("/waitgraph/roles", test_roles);
	g_test_add_func("/waitgraph/names", test_role_names);
	g_test_add_func("/waitgraph/actors", test_actors);
	g_test_add_func("/waitgraph/critical", test_critical);
	g_test_add_func("/waitgraph/chains", test_chains);
	g_test_add_func("/waitgraph/percentiles", test_percentiles);
	g_test_add_func("/waitgraph/percentiles-of-sum", test_percentiles_of_sum);
	return g_test_run();
}
