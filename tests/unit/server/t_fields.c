/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "server/connections.h"

static const char *refusal(const char *first_name, const char *first, const char *name, const char *value)
{
	struct fields f = { 0 };

	fields_take(&f, "Host", "127.0.0.1:1");
	fields_take(&f, first_name, first);
	fields_take(&f, name, value);
	return fields_refusal(&f);
}

static void test_plain(void)
{
	g_assert_null(refusal("Accept", "*/*", "X-Some_thing.1", "a b: c"));
	g_assert_null(refusal("Content-Length", "3", "Accept", NULL));
	g_assert_null(refusal("Transfer-Encoding", "Chunked", "Accept", "*/*"));
}

/* What a proxy in front might read otherwise. */
static void test_ambiguous(void)
{
	g_assert_nonnull(refusal("Accept", "*/*", "Host", "127.0.0.1:1"));
	g_assert_nonnull(refusal("Accept", "*/*", "hOST", "evil"));
	g_assert_nonnull(refusal("Content-Length", "3", "Transfer-Encoding", "chunked"));
	g_assert_nonnull(refusal("Content-Length", "3", "content-length", "3"));
	g_assert_nonnull(refusal("Transfer-Encoding", "chunked", "Transfer-Encoding", "chunked"));
	g_assert_nonnull(refusal("Transfer-Encoding", "gzip, chunked", "Accept", ""));
	g_assert_nonnull(refusal("Content-Length", "+3", "Accept", ""));
	g_assert_nonnull(refusal("Content-Length", "", "Accept", ""));
	g_assert_nonnull(refusal("Accept", "", "Host ", "evil"));
	g_assert_nonnull(refusal("X\t", "", "Accept", ""));
	g_assert_nonnull(refusal("", "x", "Accept", ""));
	g_assert_nonnull(refusal("X\x80", "x", "Accept", ""));
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/server/fields/plain", test_plain);
	g_test_add_func("/server/fields/ambiguous", test_ambiguous);
	return g_test_run();
}
