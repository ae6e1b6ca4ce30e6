/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "../fixture.h"
#include "features/wakers/analysis_chains.h"
#include "render/text/text.h"
#include "render/text/folded.h"

/* web waits 280 ms: db ran 12 ms, waited 8 for a CPU and 250 for disk, which did other things for 10 before. */
static struct profile *waits_for_db(void)
{
	struct profile *p = profile_new();
	const uint32_t web = fixture_thread(p, 10, 11, "web", "web");
	const uint32_t user = fixture_stack(p, FRAME_USER, STACK_COMPLETE, "main@/bin/web query@/bin/web");
	const struct wait w = { .thread = web, .user = user, .state = 'S', .count = 2, .blocked_ns = 280000000,
				.runnable_ns = 1000000, .max_ns = 200000000 };
	const struct waker db = { .pid = 20, .tid = 21, .comm = "db", .kernel = fixture_stack(p, FRAME_KERNEL, STACK_COMPLETE, "write@[kernel] wake@[kernel]") };
	const struct waker disk = { .pid = 30, .tid = 31, .comm = "disk" };
	struct wake k = { .wait = profile_add_wait(p, &w), .waker = profile_waker(p, &db), .count = 2,
			  .blocked_ns = 280000000, .runnable_ns = 1000000 };
	const struct chain_node last = { .waker = profile_waker(p, &disk), .end = CHAIN_LOOP, .loop_steps = 2 };
	const struct chain_node first = { .waker = k.waker, .next = profile_chain(p, &last) + 1 };
	struct story s = { .chain = profile_chain(p, &first), .count = 2, .blocked_ns = 280000000, .runnable_ns = 1000000,
			   .hop = { { 12000000, 8000000, 10000000 }, { 250000000, 0, 0 } } };

	k.hist[19] = 2;
	s.wake = profile_add_wake(p, &k);
	profile_add_story(p, &s);
	return p;
}

static void test_text(void)
{
	struct profile *p = waits_for_db();
	struct actors *actors = actors_new(p, NULL, ACTOR_BY_ROLE);
	g_autoptr(GString) text = g_string_new(NULL);

	chains_text(text, p, actors, NULL, 10);
	g_assert_cmpstr(text->str, ==,
			"\nChains of wakers, by blocked time\n"
			"\nweb waited 280 ms (100.0%), 2 times, 140 ms each; meanwhile, from the end backwards:\n"
			"       12.0 ms   4.3%  db   ran\n"
			"       8.00 ms   2.9%       waited for a CPU\n"
			"       10.0 ms   3.6%       before its own wait, of which nothing was kept\n"
			"        250 ms  89.3%  disk ran\n"
			"    loop: disk had been woken by web before\n");
	actors_free(actors);
	profile_free(p);
}

static void test_nothing(void)
{
	struct profile *p = profile_new();
	struct actors *actors = actors_new(p, NULL, ACTOR_BY_ROLE);
	g_autoptr(GString) text = g_string_new(NULL);

	chains_text(text, p, actors, NULL, 10);
	g_assert_cmpstr(text->str, ==, "");
	actors_free(actors);
	profile_free(p);
}

static void test_folded(void)
{
	struct profile *p = waits_for_db();
	g_autoptr(GString) text = g_string_new(NULL);
	const struct folded_options options = { .delimiter = true };

	folded_wakers_render(text, p, NULL, &options, FOLDED_OFFWAKE, NULL);
	g_assert_cmpstr(text->str, ==, "web;main;query;--;wake;write;db;--;disk;--;[loop] 281000\n");
	profile_free(p);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/chains/text", test_text);
	g_test_add_func("/chains/nothing", test_nothing);
	g_test_add_func("/chains/folded", test_folded);
	return g_test_run();
}
