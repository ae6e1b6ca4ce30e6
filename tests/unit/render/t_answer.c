/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <string.h>

#include "render/answer/answer.h"
#include "render/answer/report.h"
#include "render/text/text.h"

#define HOSTILE "\"},{\"id\":\"\\\033[2J\r\n\xff\xe2\x80\xae</details>`|"

/* Behind a value that is valid JSON; NULL: it is none. */
static const char *value_end(const char *c)
{
	char close = *c == '{' ? '}' : ']';

	if (*c == '"') {
		for (c++; *c != '"'; c++) {
			if ((unsigned char)*c < 0x20 || (*c == '\\' && !strchr("\"\\ntru", c[1])))
				return NULL;
			c += *c == '\\';
		}
		return c + 1;
	}
	if (*c != '{' && *c != '[') {
		size_t len = strspn(c, "-0123456789truefalsn");

		return len ? c + len : NULL;
	}
	for (c++; *c != close;) {
		if (close == '}' && (*c != '"' || !(c = value_end(c)) || *c++ != ':'))
			return NULL;
		if (!(c = value_end(c)) || (*c != ',' && *c != close) || (*c == ',' && c[1] == close))
			return NULL;
		c += *c == ',';
	}
	return c + 1;
}

static void assert_valid(const GString *s, size_t max_bytes)
{
	const char *end = value_end(s->str);

	g_assert_cmpuint(s->len, <=, max_bytes);
	g_assert_true(g_utf8_validate(s->str, (gssize)s->len, NULL));
	g_assert_nonnull(end);
	g_assert_cmpstr(end, ==, "\n");
}

static void test_quote_within(void)
{
	for (size_t max = 3; max < 80; max++) {
		g_autoptr(GString) cut = g_string_new(NULL), whole = g_string_new(NULL);

		json_quote_within(cut, HOSTILE HOSTILE, max);
		json_quote(whole, HOSTILE HOSTILE);
		g_assert_cmpuint(cut->len, <=, max + 2);
		g_assert_nonnull(value_end(cut->str));
		g_assert_true(g_str_has_suffix(cut->str, "...\""));
		g_assert_true(strncmp(cut->str, whole->str, cut->len - 4) == 0);
	}
	g_autoptr(GString) fits = g_string_new(NULL);
	json_quote_within(fits, "four", 4);
	g_assert_cmpstr(fits->str, ==, "\"four\"");
}

/* An answer of so many items of an array, each of which is as long as its number says, and some members. */
static struct answer *made(const struct answer_options *options, unsigned items)
{
	struct answer *a = answer_new("test", options);
	g_autoptr(GString) name = g_string_new(NULL);

	answer_member_text(a, "sentence", HOSTILE, 1);
	for (unsigned i = 0; i < items; i++) {
		g_string_append(name, HOSTILE);
		json_string(answer_item(a, "items"), name->str);
		answer_end(a, 2 + i);
	}
	return a;
}

static void test_sizes(void)
{
	for (size_t max = ANSWER_BYTES_MIN; max <= 1 << 16; max += max / 16) {
		const struct answer_options options = { .max_bytes = max };
		struct answer *a = made(&options, 100);
		g_autoptr(GString) out = g_string_new(NULL);

		g_assert_true(answer_write(out, a, NULL));
		assert_valid(out, max);
		g_assert_nonnull(strstr(out->str, "\"sentence\":"));
		g_assert_true(max > 16384 || strstr(out->str, "\"left_out\":{\"items\":"));
		answer_free(a);
	}
}

/* Pages tell each piece once, in their order, and the last one says no more. */
static void test_pages(void)
{
	struct answer_options options = { .max_bytes = ANSWER_BYTES_MIN, .id = "x-1" };
	unsigned pages = 0;

	for (;; pages++) {
		struct answer *a = made(&options, 50);
		g_autoptr(GString) out = g_string_new(NULL);
		const char *next;

		g_assert_true(answer_write(out, a, NULL));
		assert_valid(out, options.max_bytes);
		answer_free(a);
		g_assert_null(strstr(out->str, "left_out"));
		g_assert_true(!strstr(out->str, "\"sentence\"") == (pages > 0));
		next = strstr(out->str, "--cursor ");
		if (!next)
			break;
		uint64_t cursor = g_ascii_strtoull(next + strlen("--cursor "), NULL, 10);
		g_assert_cmpuint(cursor, >, options.cursor);
		options.cursor = cursor;
	}
	g_assert_cmpuint(pages, >, 5);
	g_autoptr(GError) error = NULL;
	g_autoptr(GString) out = g_string_new(NULL);
	options.cursor = 51;
	struct answer *a = made(&options, 50);
	g_assert_false(answer_write(out, a, &error));
	g_assert_cmpstr(error->message, ==, "--cursor 51: the answer to --id x-1 ends before that");
	answer_free(a);
}

/* A whole report with long names, a long stack and a histogram. */
static void test_object(void)
{
	g_autoptr(GString) object = g_string_new(NULL), name = g_string_new(NULL);
	struct json j;

	for (unsigned i = 0; i < 50; i++)
		g_string_append(name, HOSTILE);
	json_init(&j, object);
	json_object_begin(&j);
	json_member_string(&j, "schema", "offcpu.io/1");
	json_member_string(&j, "host", name->str);
	json_key(&j, "rows");
	json_array_begin(&j);
	for (unsigned row = 0; row < 300; row++) {
		json_object_begin(&j);
		json_member_string(&j, "name", name->str);
		json_key(&j, "log2_ns");
		json_array_begin(&j);
		json_uint(&j, row);
		json_array_end(&j);
		json_key(&j, "stack");
		json_array_begin(&j);
		for (unsigned i = 0; i < 30; i++)
			json_uint(&j, i);
		json_array_end(&j);
		json_object_end(&j);
	}
	json_array_end(&j);
	json_object_end(&j);
	for (size_t max = ANSWER_BYTES_MIN; max <= 1 << 16; max *= 2) {
		g_autoptr(GString) out = g_string_new(NULL);

		answer_object(out, "io", object, "one\n\n" HOSTILE "\n", max);
		assert_valid(out, max);
		g_assert_nonnull(strstr(out->str, "\"told\":[\"one\","));
		g_assert_nonnull(strstr(out->str, ",\"stack\":[0,1,2,3,\"... 19 more ...\",23,24,25,26,27,28,29]}"));
		g_assert_null(strstr(out->str, "log2_ns"));
		g_assert_nonnull(strstr(out->str, "\"left_out\":{\"rows\":"));
	}
}

static void test_ids(void)
{
	g_autoptr(GHashTable) taken = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	const char *const one[] = { "a", "bc" }, *const other[] = { "ab", "c" }, *const none[] = { NULL, "abc" };
	char *first = answer_id(taken, "wait", one, 2);
	g_autofree char *again = answer_id(taken, "wait", one, 2), *second = answer_id(taken, "wait", other, 2),
			*third = answer_id(taken, "wait", none, 2);

	g_assert_cmpstr(first, ==, again);
	g_assert_cmpstr(first, !=, second);
	g_assert_cmpstr(second, !=, third);
	g_assert_true(g_str_has_prefix(first, "wait-"));
	g_hash_table_add(taken, first);
	g_autofree char *same = answer_id(taken, "wait", one, 2);
	g_assert_cmpstr(first, !=, same);
}

static void assert_escaped(const char *text, bool is_ours, const char *want)
{
	g_autoptr(GString) s = g_string_new(NULL);

	markdown_escape(s, text, is_ours);
	g_assert_cmpstr(s->str, ==, want);
}

static void test_markdown(void)
{
	assert_escaped("a_b waits in std::map<int*>", false, "a_b waits in std::map\\<int\\*\\>");
	assert_escaped("_init [x](y) a|b `c`", false, "\\_init \\[x\\](y) a\\|b \\`c\\`");
	assert_escaped("@root and #12", false, "@<!-- -->root and #<!-- -->12");
	assert_escaped("https://x www.y", false, "https\\://x www\\.y");
	assert_escaped("look: `a_b <c> _d_`, *then*", true, "look: `a_b <c> _d_`, \\*then\\*");
	assert_escaped("\033[2J\n</details>", false, "\\\\x1b\\[2J\\\\x0a\\</details\\>");
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/answer/quote-within", test_quote_within);
	g_test_add_func("/answer/sizes", test_sizes);
	g_test_add_func("/answer/pages", test_pages);
	g_test_add_func("/answer/object", test_object);
	g_test_add_func("/answer/ids", test_ids);
	g_test_add_func("/answer/markdown", test_markdown);
	return g_test_run();
}
