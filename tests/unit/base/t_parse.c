/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "base/parse.h"

#include <string.h>

static void check_duration(const char *text, uint64_t bare_ns, uint64_t expected)
{
	g_autoptr(GError) error = NULL;
	uint64_t ns = 0;

	g_assert_true(parse_duration(text, bare_ns, &ns, &error));
	g_assert_no_error(error);
	g_assert_cmpuint(ns, ==, expected);
}

static void refuse_duration(const char *text)
{
	g_autoptr(GError) error = NULL;
	uint64_t ns = 7;

	g_assert_false(parse_duration(text, 1000, &ns, &error));
	g_assert_error(error, PARSE_ERROR, 0);
	g_assert_cmpuint(ns, ==, 7);
}

static void test_durations(void)
{
	check_duration("10", 1000, 10000);
	check_duration("10", 1000000000, 10000000000);
	check_duration("1.5ms", 1, 1500000);
	check_duration("3ns", 1000, 3);
	check_duration("2us", 1, 2000);
	check_duration("2m", 1, 120000000000);
	check_duration("0", 1, 0);
	check_duration(".5s", 1, 500000000);
	static const char *const bad[] = { "", "-1", "ms", "1h", "1 s", "0x10", "1e", "inf", "nan", "1e30s", "5sx", "+3" };
	for (guint i = 0; i < G_N_ELEMENTS(bad); i++)
		refuse_duration(bad[i]);
}

static void test_lists(void)
{
	g_autoptr(GError) error = NULL;
	GArray *list = NULL;

	g_assert_true(parse_u32_list("1,2", &list, &error));
	g_assert_true(parse_u32_list("4294967295", &list, &error));
	g_assert_cmpuint(list->len, ==, 3);
	g_assert_cmpuint(g_array_index(list, uint32_t, 2), ==, G_MAXUINT32);
	static const char *const bad[] = { "", "1,", ",1", "1,,2", "x", "-1", "4294967296", "1 2" };
	for (guint i = 0; i < G_N_ELEMENTS(bad); i++) {
		g_assert_false(parse_u32_list(bad[i], &list, &error));
		g_clear_error(&error);
	}
	g_array_unref(list);
}

static void check_states(const char *text, const char *letters)
{
	g_autofree char *got = NULL;

	g_assert_true(parse_state_letters(text, &got, NULL));
	g_assert_cmpstr(got, ==, letters);
}

static void test_states(void)
{
	check_states("S", "S");
	check_states("D,S", "SD");
	check_states("tT", "Tt");
	check_states("0", "R");		/* TASK_RUNNING */
	check_states("2", "D");
	check_states("3", "SD");
	check_states("1026", "I");	/* TASK_IDLE, 0x402 */
	static const char *const bad[] = { "", ",", "X", "SX", "16", "99999999999", "s" };
	for (guint i = 0; i < G_N_ELEMENTS(bad); i++) {
		char *got = NULL;
		g_autoptr(GError) error = NULL;
		g_assert_false(parse_state_letters(bad[i], &got, &error));
		g_assert_error(error, PARSE_ERROR, 0);
		g_assert_null(got);
	}
}

static void check_glob(const char *text, const char *wrong)
{
	g_autoptr(GError) error = NULL;

	g_assert_cmpint(parse_name_glob(text, 31, 15, &error), ==, !wrong);
	if (!wrong) {
		g_assert_no_error(error);
		return;
	}
	g_assert_error(error, PARSE_ERROR, 0);
	g_assert_cmpstr(error->message, ==, wrong);
}

static void test_name_globs(void)
{
	check_glob("mariadbd", NULL);
	check_glob("*", NULL);
	check_glob("kworker/?:*]", NULL);
	check_glob("123456789012345", NULL);
	check_glob("*1*2*3*4*5*6*7*8*9*0*1*2*3*4*5*", NULL);	/* 31 bytes, 15 of them to be met */
	check_glob("", "'' matches no name");
	check_glob("[", "'[' has a [: only * and ? are wildcards here, and ? stands for that, too");
	check_glob("[ab]*", "'[ab]*' has a [: only * and ? are wildcards here, and ? stands for that, too");
	check_glob("a\\*", "'a\\*' has a \\: only * and ? are wildcards here, and ? stands for that, too");
	check_glob("1234567890123456", "'1234567890123456' matches no name: the longest have 15 bytes");
	check_glob("12345678?0*123456", "'12345678?0*123456' matches no name: the longest have 15 bytes");
	check_glob("a*******************************", "'a*******************************' is longer than 31 bytes");
}

static void test_rates(void)
{
	const char *const wrong[] = { "", "0", "1000.5", "-1", "7x", "nan", "1e9" };
	double hz = 0;

	g_assert_true(parse_rate("0.5", 0.01, 1000, &hz, NULL) && hz == 0.5);
	g_assert_true(parse_rate("1000", 0.01, 1000, &hz, NULL) && hz == 1000);
	for (size_t i = 0; i < G_N_ELEMENTS(wrong); i++) {
		g_autoptr(GError) error = NULL;

		g_assert_false(parse_rate(wrong[i], 0.01, 1000, &hz, &error));
		g_assert_nonnull(error);
		g_assert_nonnull(strstr(error->message, "is not a rate from 0.01 to 1000 Hz"));
	}
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/parse/durations", test_durations);
	g_test_add_func("/parse/lists", test_lists);
	g_test_add_func("/parse/rates", test_rates);
	g_test_add_func("/parse/states", test_states);
	g_test_add_func("/parse/name-globs", test_name_globs);
	return g_test_run();
}
