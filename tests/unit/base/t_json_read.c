/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "base/json_read.h"

#include <string.h>

static bool is_good(const char *text)
{
	struct json_reader r = json_reader_of(text, strlen(text));

	json_skip(&r);
	return json_at_end(&r);
}

static void test_strict(void)
{
	static const char *const good[] = { "{}", " [ ] ", "0", "-1.5e+3", "\"\\u00e4\\n\"", "true", "null",
					    "{\"a\":[1,{\"b\":false}],\"c\":\"}\"}" };
	static const char *const bad[] = { "", "{", "[", "[1,]", "[,1]", "[1 2]", "{\"a\"}", "{\"a\":}", "{\"a\":1,}",
					   "{1:2}", "01", "-", "1.", "1e", "1-2", "tru", "truer", "nul", "\"a",
					   "\"\\x\"", "\"\\u00g0\"",
					   "{} {}", "]", "{\"a\":1]" };

	for (guint i = 0; i < G_N_ELEMENTS(good); i++)
		g_assert_true(is_good(good[i]));
	for (guint i = 0; i < G_N_ELEMENTS(bad); i++)
		g_assert_false(is_good(bad[i]));
}

static void test_depth(void)
{
	g_autoptr(GString) text = g_string_new(NULL);

	for (unsigned i = 0; i < JSON_READ_DEPTH_MAX; i++) {
		g_string_prepend_c(text, '[');
		g_string_append_c(text, ']');
	}
	g_assert_true(is_good(text->str));
	g_string_prepend_c(text, '[');
	g_string_append_c(text, ']');
	g_assert_false(is_good(text->str));
}

static void test_values(void)
{
	static const char text[] = "{\"id\": [1, \"x\"] ,\"is\":true,\"name\":\"\\ud83d\\ude00\",\"n\":12.5e3}";
	struct json_reader r = json_reader_of(text, strlen(text));
	g_autoptr(GString) key = g_string_new(NULL), name = g_string_new(NULL);
	bool first = true;
	const char *raw;
	gsize len;

	g_assert_true(json_enter(&r, '{') && json_next_member(&r, &first, key) && json_read_raw(&r, &raw, &len));
	g_assert_cmpmem(raw, len, "[1, \"x\"]", 8);
	g_assert_true(json_next_member(&r, &first, key) && json_read_bool(&r));
	g_assert_cmpstr(key->str, ==, "is");
	g_assert_true(json_next_member(&r, &first, key) && json_read_string(&r, name));
	g_assert_cmpstr(name->str, ==, "\xf0\x9f\x98\x80");
	g_assert_true(json_next_member(&r, &first, key) && json_read_number(&r, &raw, &len));
	g_assert_cmpmem(raw, len, "12.5e3", 6);
	g_assert_false(json_next_member(&r, &first, key));
	g_assert_true(json_at_end(&r));
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/json_read/strict", test_strict);
	g_test_add_func("/json_read/depth", test_depth);
	g_test_add_func("/json_read/values", test_values);
	return g_test_run();
}
