/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "mcp/protocol.h"

#include <string.h>

static void check(const char *line, enum message_kind kind, const char *id, const char *method)
{
	struct message m;

	message_read(&m, line, strlen(line));
	g_assert_cmpint(m.kind, ==, kind);
	g_assert_cmpstr(m.id, ==, id);
	g_assert_cmpstr(m.method, ==, method);
	message_clear(&m);
}

static void refuse(const char *line, int code)
{
	struct message m;

	message_read(&m, line, strlen(line));
	g_assert_cmpint(m.kind, ==, MESSAGE_BAD);
	g_assert_cmpint((int)m.code, ==, code);
	g_assert_nonnull(m.why);
	message_clear(&m);
}

static void test_kinds(void)
{
	check("{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"ping\"}", MESSAGE_REQUEST, "7", "ping");
	check(" {\"method\":\"p\\u0069ng\", \"id\" : \"a\\\"b\",\"jsonrpc\":\"2.0\"} ", MESSAGE_REQUEST, "\"a\\\"b\"", "ping");
	check("{\"jsonrpc\":\"2.0\",\"method\":\"ping\"}", MESSAGE_NOTIFICATION, NULL, "ping");
	check("{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{}}", MESSAGE_RESPONSE, "7", NULL);
	check("{\"jsonrpc\":\"2.0\",\"id\":-7,\"error\":{}}", MESSAGE_RESPONSE, "-7", NULL);
}

static void test_bad(void)
{
	refuse("", MESSAGE_PARSE_ERROR);
	refuse("{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"ping\"", MESSAGE_PARSE_ERROR);
	refuse("{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"pi\nng\"}", MESSAGE_PARSE_ERROR);
	refuse("{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"\xc3\"}", MESSAGE_PARSE_ERROR);
	refuse("{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"ping\"}{}", MESSAGE_PARSE_ERROR);
	refuse("[{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"ping\"}]", MESSAGE_INVALID_REQUEST);
	refuse("{\"id\":7,\"method\":\"ping\"}", MESSAGE_INVALID_REQUEST);
	refuse("{\"jsonrpc\":\"2.0\",\"id\":true,\"method\":\"ping\"}", MESSAGE_INVALID_REQUEST);
	refuse("{\"jsonrpc\":\"2.0\",\"id\":1e3,\"method\":\"ping\"}", MESSAGE_INVALID_REQUEST);
	refuse("{\"jsonrpc\":\"2.0\",\"id\":7}", MESSAGE_INVALID_REQUEST);
	refuse("{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"ping\",\"params\":7}", MESSAGE_INVALID_PARAMS);
}

static void test_members(void)
{
	const char *object = "{\"a\":{\"b\":1},\"b\":\"x\",\"a\":2,\"n\":null}";
	g_autofree char *raw = message_member_raw(object, "a"), *text = message_member_string(object, "b");
	g_autofree char *no_text = message_member_string(object, "a"), *none = message_member_raw(object, "c");
	g_autofree char *no_object = message_member_raw("[1]", "a");

	g_assert_cmpstr(raw, ==, "{\"b\":1}");
	g_assert_cmpstr(text, ==, "x");
	g_assert_null(no_text);
	g_assert_null(none);
	g_assert_null(no_object);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/message/kinds", test_kinds);
	g_test_add_func("/message/bad", test_bad);
	g_test_add_func("/message/members", test_members);
	return g_test_run();
}
