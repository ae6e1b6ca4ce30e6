/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* What engines answer is anybody's bytes. */

#include "push/series.h"

static void check_parca(const char *bytes, gsize len, const char *headers, long status, const char *words)
{
	/* of their exact size, so that the sanitizers see a read beyond them */
	g_autofree char *own = g_memdup2(bytes, len);
	g_autofree char *said = NULL;

	g_assert_cmpint(parca_status(own, len, headers, &said), ==, status);
	g_assert_cmpstr(said, ==, words);
}

#define PARCA(bytes, headers, status, words) check_parca(bytes, sizeof(bytes) - 1, headers, status, words)

static void test_parca(void)
{
	PARCA("\0\0\0\0\0\x80\0\0\0\x10grpc-status: 0\r\n", "", 0, NULL);
	PARCA("\x80\0\0\0\x21Grpc-Status:3\r\ngrpc-message: no\r\n\r\n", "", 3, "no");
	PARCA("", "grpc-status: 14\r\ngrpc-message: away\r\n", 14, "away");
	/* none, cut off, of no gRPC, not a number */
	PARCA("", "", -1, NULL);
	PARCA("\x80\0\0\0\x10grpc-st", "", -1, NULL);
	PARCA("\x80\xff\xff\xff\xff", "", -1, NULL);
	PARCA("<html>502</html>", "", -1, NULL);
	PARCA("", "grpc-status: -1\r\n", -1, NULL);
	PARCA("", "grpc-status: 4294967296\r\n", -1, NULL);
	PARCA("", "grpc-status: 77\r\n", -1, NULL);
	PARCA("", "grpc-statuses: 0\r\n", -1, NULL);
}

static void check_otlp(const char *bytes, gsize len, uint64_t rejected, const char *words)
{
	g_autofree char *own = g_memdup2(bytes, len);
	g_autofree char *said = NULL;

	g_assert_cmpuint(otlp_rejected(own, len, &said), ==, rejected);
	g_assert_cmpstr(said, ==, words);
}

#define OTLP(bytes, rejected, words) check_otlp(bytes, sizeof(bytes) - 1, rejected, words)

static void test_otlp(void)
{
	OTLP("", 0, NULL);
	OTLP("\x0a\x06\x08\x02\x12\x02no", 2, "no");
	OTLP("\x0a\x04\x12\x02so", 0, "so");
	OTLP("\x0a\x06\x08\x02\x12\x7fno", 2, NULL);
	OTLP("\x0a\x7f\x08\x02", 0, NULL);
	OTLP("<html>502</html>", 0, NULL);

	static const char status[] = "\x08\x0e\x12\x04" "busy", html[] = "<html>502 Bad Gateway</html>";
	g_autofree char *words = otlp_words(status, sizeof(status) - 1), *none = otlp_words(html, sizeof(html) - 1);

	g_assert_cmpstr(words, ==, "busy");
	g_assert_null(none);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/push/answers/parca", test_parca);
	g_test_add_func("/push/answers/otlp", test_otlp);
	return g_test_run();
}
