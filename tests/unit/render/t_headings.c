/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* No report has a heading, or an introduction that ends in a colon, with nothing below it. */
#include <string.h>

#include "../crowd.h"
#include "../fixture.h"
#include "features/critical/analysis.h"
#include "features/wakers/text.h"
#include "render/text/text.h"

#define BOLD "\033[1m"

static const struct text_options options = { .top = 10, .colour = true };

static bool is_section(const char *line)
{
	return g_str_has_prefix(line, BOLD) && g_ascii_isalpha(line[strlen(BOLD)]);
}

/* A section may leave a line free before its first row. */
static void check_headings(const char *text)
{
	g_auto(GStrv) lines = g_strsplit(text, "\n", -1);

	for (unsigned i = 0; lines[i]; i++) {
		unsigned below = i + 1;

		if (!is_section(lines[i]) && !g_str_has_suffix(lines[i], ":"))
			continue;
		while (is_section(lines[i]) && lines[below] && !*lines[below])
			below++;
		if (!lines[below] || !*lines[below] || is_section(lines[below]))
			g_error("nothing below \"%s\" in:\n%s", lines[i], text);
	}
}

static void check_all(const struct profile *p)
{
	g_autoptr(GString) s = g_string_new(NULL);
	struct waitgraph *g = waitgraph_new(p, NULL, ACTOR_BY_THREAD, false);

	text_report(s, p, NULL, NULL, &options);
	check_headings(s->str);
	g_string_truncate(s, 0);
	wakers_text(s, g, &options);
	check_headings(s->str);
	g_string_truncate(s, 0);
	locks_text(s, p, NULL, &options);
	check_headings(s->str);
	g_string_truncate(s, 0);
	blame_text(s, p, NULL, &options);
	check_headings(s->str);
	g_string_truncate(s, 0);
	storms_text(s, p, NULL, &options);
	check_headings(s->str);
	waitgraph_free(g);
}

static void test_empty(void)
{
	struct profile *p = profile_new();

	check_all(p);
	p->info.has_wakers = p->info.has_locks = p->info.has_blame = p->info.has_storms = true;
	check_all(p);
	profile_free(p);
}

static void test_filled(void)
{
	struct profile *p = fixture_new(), *crowd = crowd_new();

	check_all(p);
	fixture_add_wakers(p);
	check_all(p);
	fixture_add_chains(p);
	check_all(p);
	check_all(crowd);
	g_array_set_size(crowd->blames, 0);
	g_array_set_size(crowd->wakes, 0);
	check_all(crowd);
	profile_free(p);
	profile_free(crowd);
}

/* Sleeps whose waker is unknown, and no loss that says why; and one that does. */
static void test_unknown_wakers(void)
{
	struct profile *p = fixture_new();
	g_autoptr(GString) s = g_string_new(NULL);

	fixture_add_wakers(p);
	g_array_set_size(p->losses, 0);
	check_all(p);
	struct waitgraph *g = waitgraph_new(p, NULL, ACTOR_BY_THREAD, false);
	wakers_text(s, g, &options);
	assert_has(s, "Wakers that could not be recorded are unknown.");
	g_assert_null(strstr(s->str, "Lost in the whole recording"));
	profile_add_loss(p, "waker_sampled", "it was not looked at", 3, 0);
	g_string_truncate(s, 0);
	wakers_text(s, g, &options);
	assert_has(s, "Lost in the whole recording:\n");
	assert_has(s, "waker_sampled, 3 times: it was not looked at");
	check_all(p);
	waitgraph_free(g);
	profile_free(p);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/headings/empty", test_empty);
	g_test_add_func("/headings/filled", test_filled);
	g_test_add_func("/headings/unknown-wakers", test_unknown_wakers);
	return g_test_run();
}
