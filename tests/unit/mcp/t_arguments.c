/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "mcp/tools.h"

#include "base/parse.h"

static const struct tool_options options = { .allows_recording = true };

/* The command that answers, its words with spaces between; or what is wrong. */
static char *command_of(const char *name, const char *arguments)
{
	const struct tool *tool = tools_find(&options, name);
	struct tool_input in = { .options = &options };
	g_autoptr(GPtrArray) words = g_ptr_array_new_with_free_func(g_free);
	g_autoptr(GError) error = NULL;
	char *text;

	g_assert_nonnull(tool);
	if (arguments_read(&in, tool, arguments, &error)) {
		tool->words(words, &in, TOOL_BYTES_MAX);
		g_ptr_array_add(words, NULL);
		text = g_strjoinv(" ", (char **)words->pdata);
	} else {
		g_assert_error(error, PARSE_ERROR, 0);
		text = g_strdup(error->message);
	}
	arguments_clear(&in);
	return text;
}

static void check(const char *name, const char *arguments, const char *expected)
{
	g_autofree char *text = command_of(name, arguments);

	g_assert_cmpstr(text, ==, expected);
}

static void test_words(void)
{
	check("findings", "{}", "report --json=tool --max-bytes=8192");
	check("findings", "{\"file\":null,\"process\":\"a b\"}", "report --json=tool --max-bytes=8192 --pid=a b");
	check("explain", "{\"id\":\"--rules=x\",\"cursor\":\"12\",\"file\":\"--rules=x\"}",
	      "report --json=tool --max-bytes=8192 --id=--rules=x --cursor=12 -- --rules=x");
	check("stacks", "{\"file\":\"-\"}", "report --json=tool --max-bytes=8192 --id=stacks -- ./-");
	check("findings", "{\"file\":\"history\",\"from\":\"14:00\"}",
	      "report --json=tool --max-bytes=8192 --from=14:00 --history");
	check("compare", "{\"before\":\"a\",\"after\":\"b\"}", "diff --json=tool --max-bytes=8192 -- a b");
	check("compare", "{\"before_from\":\"1\",\"from\":\"2\"}",
	      "diff --json=tool --max-bytes=8192 --from=2 --before-from=1 --history");
}

static void test_bad(void)
{
	check("findings", "[]", "arguments: an object is wanted");
	check("findings", "{\"file\":\"\"}", "file: a string of 1 to 4096 bytes without control characters is wanted");
	check("findings", "{\"file\":\"a\\u001bb\"}", "file: a string of 1 to 4096 bytes without control characters is wanted");
	check("doctor", "{\"file\":\"x\"}", "doctor has no argument of that name; known are: process");
	check("record", "{\"seconds\":61}", "seconds: a whole number from 1 to 60 is wanted");
	check("record", "{\"seconds\":1.5}", "seconds: a whole number from 1 to 60 is wanted");
	check("record", "{\"seconds\":[1]}", "seconds: a whole number from 1 to 60 is wanted");
	check("record", "{\"seconds\":5,\"on_cpu\":1}", "on_cpu: true or false is wanted");
	check("record", "{\"seconds\":5,\"seconds\":null}", "seconds is wanted: How long");
}

static void test_recording_is_asked_for(void)
{
	const struct tool_options none = { 0 };

	g_assert_null(tools_find(&none, "record"));
	g_assert_null(tools_find(&none, NULL));
	g_assert_nonnull(tools_find(&none, "findings"));
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/arguments/words", test_words);
	g_test_add_func("/arguments/bad", test_bad);
	g_test_add_func("/arguments/recording-is-asked-for", test_recording_is_asked_for);
	return g_test_run();
}
