/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* --from and --to as people type them. */
#include <glib.h>

#include "analyse/range.h"

#define S INT64_C(1000000000)

/* 2026-11-25 14:32:18.5 in Berlin, for a minute and a half. */
static const struct profile_info info = { .start_unix_ns = UINT64_C(1795613538500000000), .duration_ns = 90 * S };

static void test_times(void)
{
	const struct { const char *text; int64_t want_ns; } cases[] = {
		{ "0", 0 }, { "12.5", 12500 * S / 1000 }, { "12.5s", 12500 * S / 1000 }, { "500ms", S / 2 }, { "2m", 120 * S },
		{ "-10", 80 * S }, { "-10s", 80 * S }, { "-100ms", 90 * S - S / 10 }, { "-200", -110 * S },
		{ "14:32:18.5", 0 }, { "14:33", 41 * S + S / 2 }, { "14:33:00", 41 * S + S / 2 }, { "14:32", -18 * S - S / 2 },
		{ "14:32:19", S / 2 }, { "2026-11-25T14:33", 41 * S + S / 2 }, { "2026-11-25 14:33:01.25", 42 * S + S * 3 / 4 },
		{ "2026-11-25T13:33:00Z", 41 * S + S / 2 }, { "2026-11-25T15:33+02:00", 41 * S + S / 2 },
		{ "2026-11-26T14:32:18.5", 86400 * S }, { "00:00", -(14 * 3600 + 32 * 60 + 18) * S - S / 2 },
	};

	for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autoptr(GError) error = NULL;
		int64_t ns = -1;

		range_parse_time(cases[i].text, &info, &ns, &error);
		g_test_message("%s", cases[i].text);
		g_assert_no_error(error);
		g_assert_cmpint(ns, ==, cases[i].want_ns);
		g_assert_true(range_check_time(cases[i].text, NULL));
	}
}

/* Past midnight a clock time is of the next day, if that is in the window. */
static void test_midnight(void)
{
	/* 23:59:30 */
	const struct profile_info night = { .start_unix_ns = UINT64_C(1795647570000000000), .duration_ns = 90 * S };
	int64_t ns;

	g_assert_true(range_parse_time("23:59:40", &night, &ns, NULL));
	g_assert_cmpint(ns, ==, 10 * S);
	g_assert_true(range_parse_time("00:00:10", &night, &ns, NULL));
	g_assert_cmpint(ns, ==, 40 * S);
	g_assert_true(range_parse_time("14:00", &night, &ns, NULL));
	g_assert_cmpint(ns, <, 0);
}

static void test_no_times(void)
{
	static const char *const texts[] = {
		"", "x", "-", "--1", "1h", "14:3", "14:60", "24:00", "14:32:60", "14:32:", "14:32:18.", "14:32:18x", "2026-11-25",
		"2026-11-25T", "2026-13-25T14:32", "2026-02-30T14:32", "2026-11-25T14:32 Mars", "26-11-25T14:32", "1e400", "nan", "0x10",
		"T", ":", "2026-11-25X14:32", "99999999999999999999",
	};

	for (guint i = 0; i < G_N_ELEMENTS(texts); i++) {
		g_autoptr(GError) error = NULL;

		g_test_message("%s", texts[i]);
		g_assert_false(range_check_time(texts[i], &error));
		g_assert_nonnull(error);
		g_assert_nonnull(g_strstr_len(error->message, -1, texts[i]));
	}
}

static void assert_range(const char *from, const char *to, int64_t want_from, int64_t want_to)
{
	g_autoptr(GError) error = NULL;
	uint64_t from_ns, to_ns;

	range_parse(from, to, &info, &from_ns, &to_ns, &error);
	g_assert_no_error(error);
	g_assert_cmpint((int64_t)from_ns, ==, want_from);
	g_assert_cmpint((int64_t)to_ns, ==, want_to);
}

static void test_ranges(void)
{
	static const char *const empty[][2] = {
		{ "5", "5" }, { "5", "4" }, { "90", NULL }, { "14:35", NULL }, { NULL, "0" }, { NULL, "14:32" }, { "-200", "-100" }, { "x", NULL },
	};

	assert_range(NULL, NULL, 0, 90 * S);
	assert_range("5", NULL, 5 * S, 90 * S);
	assert_range(NULL, "5", 0, 5 * S);
	assert_range("14:32", "14:33", 0, 41 * S + S / 2);
	assert_range("-5", "500", 85 * S, 90 * S);
	for (guint i = 0; i < G_N_ELEMENTS(empty); i++) {
		g_autoptr(GError) error = NULL;
		uint64_t from_ns, to_ns;

		g_assert_false(range_parse(empty[i][0], empty[i][1], &info, &from_ns, &to_ns, &error));
		g_assert_nonnull(error);
	}
}

int main(int argc, char **argv)
{
	g_setenv("TZ", "CET-1", TRUE);
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/range/times", test_times);
	g_test_add_func("/range/midnight", test_midnight);
	g_test_add_func("/range/no-times", test_no_times);
	g_test_add_func("/range/ranges", test_ranges);
	return g_test_run();
}
