/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "cmd/cmd.h"

#include <string.h>

static void check(const char *text, unsigned width, const char *expected)
{
	g_autofree char *got = help_text_wrap(text, width);

	g_assert_cmpstr(got, ==, expected);
}

static void test_options(void)
{
	check("Options:\n"
	      "  -m, --min-block=TIME   List waits of at least this (a bare number is us)\n"
	      "  --follow               Short\n",
	      60,
	      "Options:\n"
	      "  -m, --min-block=TIME   List waits of at least this (a bare\n"
	      "                         number is us)\n"
	      "  --follow               Short\n");
}

static void test_no_room_for_the_column(void)
{
	check("  offcpu request -p redis-server socket:6379        from receive to send on each connection\n", 60,
	      "  offcpu request -p redis-server socket:6379        from\n"
	      "      receive to send on each connection\n");
}

static void test_left_alone(void)
{
	check("", 80, "");
	check("a\n\nb\n", 80, "a\n\nb\n");
	check("no newline", 80, "no newline\n");
	check("  a line that is too long for a terminal of ten columns\n", 10,
	      "  a line that is too long for a terminal of ten columns\n");
}

/* No word is lost or joined to another one, and what can be broken is. */
static void test_words(void)
{
	const char *text = "  --x=VERYLONGVERYLONGVERYLONGVERYLONGVERYLONGVERYLONGVERYLONGVERYLONG   aa bb cc dd ee ff gg\n"
			   "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen\n";
	for (unsigned width = 48; width < 120; width++) {
		g_autofree char *got = help_text_wrap(text, width);
		g_auto(GStrv) a = g_strsplit_set(text, " \n", -1), b = g_strsplit_set(got, " \n", -1);
		char **x = a, **y = b;

		for (;; x++, y++) {
			while (*x && !**x)
				x++;
			while (*y && !**y)
				y++;
			g_assert_cmpstr(*x, ==, *y);
			if (!*x)
				break;
		}
		g_auto(GStrv) lines = g_strsplit(got, "\n", -1);
		for (char **line = lines; *line; line++)
			g_assert_true(strlen(*line) <= width || strstr(*line, "VERYLONG"));
	}
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/help-text/options", test_options);
	g_test_add_func("/help-text/no-room-for-the-column", test_no_room_for_the_column);
	g_test_add_func("/help-text/left-alone", test_left_alone);
	g_test_add_func("/help-text/words", test_words);
	return g_test_run();
}
