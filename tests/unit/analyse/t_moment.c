/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "analyse/range.h"

#define S UINT64_C(1000000000)
#define NOW (UINT64_C(1764167478) * S)	/* Wednesday 2025-11-26 14:31:18 UTC */

static uint64_t at(const char *text)
{
	g_autoptr(GError) error = NULL;
	uint64_t ns = 0;

	moment_parse(text, NOW, &ns, &error);
	g_assert_no_error(error);
	return ns;
}

static void assert_bad(const char *text)
{
	g_autoptr(GError) error = NULL;
	uint64_t ns;

	g_assert_false(moment_parse(text, NOW, &ns, &error));
	g_assert_nonnull(error);
	g_assert_nonnull(strstr(error->message, text));
}

static void before_now(void)
{
	g_assert_cmpuint(at("now"), ==, NOW);
	g_assert_cmpuint(at("-90s"), ==, NOW - 90 * S);
	g_assert_cmpuint(at("-15m"), ==, NOW - 900 * S);
	g_assert_cmpuint(at("now-15m"), ==, NOW - 900 * S);
	g_assert_cmpuint(at("15 min ago"), ==, NOW - 900 * S);
	g_assert_cmpuint(at("2h ago"), ==, NOW - 7200 * S);
	g_assert_cmpuint(at("-2h"), ==, NOW - 7200 * S);
	g_assert_cmpuint(at("-1.5d"), ==, NOW - 129600 * S);
	g_assert_cmpuint(at("-1w"), ==, NOW - 7 * 86400 * S);
}

static void clock_times(void)
{
	const uint64_t midnight = UINT64_C(1764115200) * S;

	g_assert_cmpuint(at("14:31"), ==, midnight + (14 * 3600 + 31 * 60) * S);
	g_assert_cmpuint(at("14:31:18.5"), ==, midnight - 86400 * S + (14 * 3600 + 31 * 60 + 18) * S + S / 2);
	g_assert_cmpuint(at("23:59"), ==, midnight - 60 * S);
	g_assert_cmpuint(at("today 14:00"), ==, midnight + 14 * 3600 * S);
	g_assert_cmpuint(at("today"), ==, midnight);
	g_assert_cmpuint(at("yesterday 14:32"), ==, midnight - 86400 * S + (14 * 3600 + 32 * 60) * S);
	g_assert_cmpuint(at("yesterday"), ==, midnight - 86400 * S);
	g_assert_cmpuint(at("tue 14:32:18"), ==, midnight - 86400 * S + (14 * 3600 + 32 * 60 + 18) * S);
	g_assert_cmpuint(at("Tuesday"), ==, midnight - 86400 * S);
	g_assert_cmpuint(at("wed 10:00"), ==, midnight - 7 * 86400 * S + 36000 * S);
	g_assert_cmpuint(at("thursday 00:00"), ==, midnight - 6 * 86400 * S);
}

static void days(void)
{
	g_assert_cmpuint(at("2025-11-25"), ==, UINT64_C(1764028800) * S);
	g_assert_cmpuint(at("2025-11-25 14:32"), ==, UINT64_C(1764081120) * S);
	g_assert_cmpuint(at("2025-11-25T14:32:18Z"), ==, UINT64_C(1764081138) * S);
	g_assert_cmpuint(at("2025-11-25T14:32:18+01:00"), ==, UINT64_C(1764077538) * S);
	g_assert_cmpuint(at("@1764081138"), ==, UINT64_C(1764081138) * S);
	g_assert_cmpuint(at("@1764081138.5"), ==, UINT64_C(1764081138) * S + S / 2);
}

static uint64_t end(const char *from, const char *text)
{
	g_autoptr(GError) error = NULL;
	uint64_t ns = 0;

	moment_parse_end(text, from, at(from), NOW, &ns, &error);
	g_assert_no_error(error);
	return ns;
}

static void ends_of_ranges(void)
{
	const uint64_t midnight = UINT64_C(1764115200) * S;

	g_assert_cmpuint(end("14:00", "14:30"), ==, midnight + (14 * 3600 + 30 * 60) * S);
	g_assert_cmpuint(end("14:00", "15:00"), ==, NOW);
	g_assert_cmpuint(end("-10m", "15:00"), ==, NOW);
	g_assert_cmpuint(end("23:00", "00:30"), ==, midnight + 30 * 60 * S);
	g_assert_cmpuint(end("-2d", "14:00"), ==, midnight + 14 * 3600 * S);
	g_assert_cmpuint(end("tue 14:00", "15:00"), ==, midnight + (15 - 24) * 3600 * S);
	g_assert_cmpuint(end("2025-11-24 23:00", "01:00"), ==, midnight + (1 - 24) * 3600 * S);
	g_assert_cmpuint(end("monday", "14:00"), ==, midnight + 14 * 3600 * S);
	g_assert_cmpuint(end("yesterday 14:00", "-1h"), ==, NOW - 3600 * S);
}

static void no_times(void)
{
	static const char *const bad[] = {
		"", "12.5", "-", " ago", "now-", "now-x", "now -1h", "x ago", "-1h ago", "2h  ago x",
		"-x", "-5", "-1y", "-99999w", "--1h", "25:00", "14:60", "14", "14:32x",
		"tues 14:32", "today 14", "today 14:32Z",
		"yesterday yesterday", "2025-13-01", "2025-11-31", "2025-11-25T", "2025-11-25X14:32", "@", "@x", "@1x", "@-1", "@1e99", "1969-01-01",
	};

	for (size_t i = 0; i < G_N_ELEMENTS(bad); i++)
		assert_bad(bad[i]);
}

int main(int argc, char **argv)
{
	setenv("TZ", "UTC", 1);
	tzset();
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/moment/before_now", before_now);
	g_test_add_func("/moment/clock_times", clock_times);
	g_test_add_func("/moment/days", days);
	g_test_add_func("/moment/ends_of_ranges", ends_of_ranges);
	g_test_add_func("/moment/no_times", no_times);
	return g_test_run();
}
