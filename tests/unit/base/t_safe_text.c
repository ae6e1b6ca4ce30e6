/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* t_safe_text NAMES: tests/web/test_serve.py holds safe() of the pages against the same list. */
#include <glib.h>
#include <string.h>

#include "base/text.h"

static const char *names_file;

static char *from_hex(const char *hex)
{
	GString *bytes = g_string_new(NULL);

	for (; hex[0] && hex[1]; hex += 2)
		g_string_append_c(bytes, (char)(g_ascii_xdigit_value(hex[0]) << 4 | g_ascii_xdigit_value(hex[1])));
	return g_string_free(bytes, FALSE);
}

static void expect(const char *name, const char *told)
{
	g_autoptr(GString) s = g_string_new(NULL);

	text_safe(s, name);
	g_assert_cmpstr(s->str, ==, told);
	text_safe(s, NULL);
	g_assert_cmpstr(s->str, ==, told);
}

static void test_list(void)
{
	g_autofree char *text = NULL;
	unsigned cnt = 0;

	g_assert_true(g_file_get_contents(names_file, &text, NULL, NULL));
	g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
	for (unsigned i = 0; lines[i]; i++) {
		char *told = strchr(lines[i], '\t');

		if (*lines[i] == '#' || !told)
			continue;
		*told++ = '\0';
		g_autofree char *name = from_hex(lines[i]);
		expect(name, told);
		cnt++;
	}
	g_assert_cmpuint(cnt, >, 10);
}

/* A browser gets these as U+FFFD: no JSON holds them. */
static void test_invalid(void)
{
	expect("\xff\xfe bad \xc3", "\\xff\\xfe bad \\xc3");
	expect("\xed\xa0\x80", "\\xed\\xa0\\x80");
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	names_file = argc > 1 ? argv[1] : "";
	g_test_add_func("/safe_text/list", test_list);
	g_test_add_func("/safe_text/invalid", test_invalid);
	return g_test_run();
}
