/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */

#include <string.h>

#include "../fixture.h"
#include "explain/text.h"
#include "features/critical/analysis.h"
#include "features/wakers/text.h"
#include "render/text/text.h"

/*
 * The end of the quoted string that begins at s, or NULL: as graphviz reads it, where a
 * backslash takes the next character along.
 */
static const char *behind_string(const char *s)
{
	if (*s++ != '"')
		return NULL;
	for (; *s && *s != '"'; s++) {
		if (*s == '\\' && !*++s)
			return NULL;
	}
	return *s ? s + 1 : NULL;
}

static void check_quote(const char *text, const char *expected)
{
	g_autoptr(GString) s = g_string_new(NULL);

	dot_quote(s, text);
	g_assert_cmpstr(s->str, ==, expected);
	g_assert_true(behind_string(s->str) == s->str + s->len);
}

static void test_quote(void)
{
	check_quote("", "\"\"");
	check_quote("mariadbd:do_command", "\"mariadbd:do_command\"");
	check_quote("a\"]; b [label=\"c", "\"a\\\"]; b [label=\\\"c\"");
	check_quote("\\", "\"\\\\\"");
	check_quote("\\N\\\"", "\"\\\\N\\\\\\\"\"");
	check_quote("<b>&amp;&#65;</b>", "\"<b>&amp;amp;&amp;#65;</b>\"");
	check_quote("a\nb\033[31m", "\"a\\\\x0ab\\\\x1b[31m\"");
	check_quote("\xff\xc3", "\"\\\\xff\\\\xc3\"");
}

/* Any bytes: one string, printable, of one line. */
static void test_quote_random(void)
{
	for (int i = 0; i < 2000; i++) {
		char text[40];
		int len = g_test_rand_int_range(0, sizeof(text));
		g_autoptr(GString) s = g_string_new(NULL);

		for (int k = 0; k < len; k++)
			text[k] = (char)g_test_rand_int_range(1, 256);
		text[len] = '\0';
		dot_quote(s, text);
		g_assert_true(behind_string(s->str) == s->str + s->len);
		g_assert_true(g_utf8_validate(s->str, -1, NULL));
		for (const char *c = s->str; *c; c++)
			g_assert_cmpint((unsigned char)*c, >=, 0x20);
	}
}

/* A graph all of whose names try to break out: every line is what it should be. */
static void test_hostile_names(void)
{
	static const char evil[] = "x\"];\n}\ndigraph b{\\";
	struct profile *p = fixture_new();
	g_autoptr(GString) s = g_string_new(NULL);

	fixture_add_wakers(p);
	for (uint32_t i = 0; i < p->threads->len; i++)
		g_array_index(p->threads, struct thread, i).comm = profile_string(p, evil);
	for (uint32_t i = 0; i < p->wakers->len; i++) {
		struct waker *w = &g_array_index(p->wakers, struct waker, i);

		w->comm = profile_string(p, evil);
		w->irq = w->irq ? profile_string(p, evil) : NULL;
	}
	for (uint32_t i = 0; i < p->frames->len; i++)
		g_array_index(p->frames, struct frame, i).name = profile_string(p, evil);
	for (int by = 0; by < ACTOR_BY_COUNT; by++) {
		struct waitgraph *g = waitgraph_new(p, NULL, (enum actor_by)by, false);

		g_string_truncate(s, 0);
		waitgraph_dot(s, g, 0);
		g_auto(GStrv) lines = g_strsplit(s->str, "\n", -1);
		for (unsigned i = 1; lines[i + 1]; i++) {
			const char *quote = strchr(lines[i], '"');
			bool is_last = !lines[i + 2];

			g_assert_cmpint(strcmp(lines[i], "}") == 0, ==, is_last);
			while (quote) {
				quote = behind_string(quote);
				g_assert_nonnull(quote);
				quote = strchr(quote, '"');
			}
		}
		waitgraph_free(g);
	}
	profile_free(p);
}

/* No line of the parts that can be cut is wider than the terminal. */
static void test_widths(void)
{
	static const unsigned widths[] = { 80, 100, 120 };
	struct profile *p = fixture_new();

	fixture_add_wakers(p);
	for (uint32_t i = 0; i < 3; i++)
		g_array_index(p->threads, struct thread, i).comm = profile_string(p, "a-thread-with-a-name-that-no-table-holds-whole");
	for (uint32_t i = 0; i < p->frames->len; i++)
		g_array_index(p->frames, struct frame, i).name =
			profile_string(p, "a_function::with_a<long, long>::name(int, std::string const&, void*)");
	for (unsigned i = 0; i < G_N_ELEMENTS(widths); i++) {
		const struct text_options options = { .top = 10, .width = widths[i] };
		struct waitgraph *g = waitgraph_new(p, NULL, ACTOR_BY_THREAD, false);
		struct critical *c = critical_new(p, "101", ACTOR_BY_THREAD, NULL);
		g_autoptr(GString) s = g_string_new(NULL);

		wakers_text(s, g, &options);
		g_string_truncate(s, (gsize)(strstr(s->str, "Knots") - s->str));
		g_auto(GStrv) lines = g_strsplit(s->str, "\n", -1);
		for (unsigned k = 0; lines[k]; k++)
			g_assert_cmpuint(text_width(lines[k]), <=, widths[i]);
		g_string_truncate(s, 0);
		critical_text(s, c, &options);
		const char *from = strstr(s->str, "on CPU"), *to = strstr(s->str, "observed\n");
		g_autofree char *parts = g_strndup(from, (gsize)(to - from));
		g_auto(GStrv) part_lines = g_strsplit(parts, "\n", -1);
		for (unsigned k = 0; part_lines[k]; k++)
			g_assert_cmpuint(text_width(part_lines[k]), <=, widths[i]);
		critical_free(c);
		waitgraph_free(g);
	}
	profile_free(p);
}

/* Two that wait for each other's work are a pool and no knot; at a mutex they are one. */
static void test_knot(void)
{
	struct profile *p = fixture_new();
	const struct text_options options = { .top = 10 };
	g_autoptr(GString) s = g_string_new(NULL);

	fixture_add_wakers(p);
	struct waitgraph *g = waitgraph_new(p, NULL, ACTOR_BY_THREAD, false);

	wakers_text(s, g, &options);
	g_assert_null(strstr(s->str, "Knots"));
	waitgraph_free(g);
	fixture_set_mutex(p);
	g = waitgraph_new(p, NULL, ACTOR_BY_THREAD, false);
	g_string_truncate(s, 0);
	wakers_text(s, g, &options);
	assert_has(s, "Knots: who waits for each other in a circle");
	assert_has(s, "  1. 800 ms  31.4%");
	assert_has(s, "2 wait for each other; for others 580 ms\n     tightest, each for the next at least 400 ms:\n");
	g_string_truncate(s, 0);
	waitgraph_dot(s, g, 0);
	assert_has(s, "\\lknot of 800 ms: worker-100/101 -> server-100/100 -> worker-100/101");
	assert_has(s, "\\n20x\", penwidth=1.53, color=\"#b03020\"");
	waitgraph_free(g);
	profile_free(p);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/waitgraph/quote", test_quote);
	g_test_add_func("/waitgraph/quote_random", test_quote_random);
	g_test_add_func("/waitgraph/hostile_names", test_hostile_names);
	g_test_add_func("/waitgraph/widths", test_widths);
	g_test_add_func("/waitgraph/knot", test_knot);
	return g_test_run();
}
