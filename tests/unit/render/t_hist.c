/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "render/text/text.h"

#include "../fixture.h"

static void test_text(void)
{
	/* 3 below 1024 ns, 1 in [1024, 2048), 10 in [8192, 16384), 20 in [65536, 131072) */
	const uint64_t slots[PROFILE_HIST_SLOTS] = { [3] = 1, [9] = 2, [10] = 1, [13] = 10, [16] = 20 };
	const struct hist_row row = { .label = "pid = 5 a\033b", .slots = slots, .sum_ns = 3400000, .max_ns = 130000 };
	g_autoptr(GString) s = g_string_new(NULL);

	hist_text(s, &row, HIST_US);
	g_assert_cmpstr(s->str, ==,
		"\npid = 5 a\\x1bb\n"
		"     usecs               : count     distribution\n"
		"         0 -> 1          : 3        |******                                  |\n"
		"         1 -> 2          : 1        |**                                      |\n"
		"         2 -> 4          : 0        |                                        |\n"
		"         4 -> 8          : 0        |                                        |\n"
		"         8 -> 16         : 10       |********************                    |\n"
		"        16 -> 32         : 0        |                                        |\n"
		"        32 -> 65         : 0        |                                        |\n"
		"        65 -> 131        : 20       |****************************************|\n"
		"     count 34, total 3.40 ms, mean 100 us, median 75.2 us, p99 130 us, max 130 us\n");
}

static void test_units(void)
{
	const uint64_t slots[PROFILE_HIST_SLOTS] = { [0] = 4, [2] = 8 };
	const uint64_t late[PROFILE_HIST_SLOTS] = { [47] = 1 }, none[PROFILE_HIST_SLOTS] = { 0 };
	g_autoptr(GString) s = g_string_new(NULL);

	hist_text(s, &(struct hist_row){ .slots = slots, .sum_ns = 48, .max_ns = 6 }, HIST_NS);
	g_assert_cmpstr(s->str, ==,
		"     nsecs               : count     distribution\n"
		"         0 -> 1          : 4        |********************                    |\n"
		"         2 -> 3          : 0        |                                        |\n"
		"         4 -> 7          : 8        |****************************************|\n"
		"     count 12, total 48 ns, mean 4 ns, median 4 ns, p99 6 ns, max 6 ns\n");
	g_string_truncate(s, 0);
	hist_text(s, &(struct hist_row){ .slots = slots, .sum_ns = 48, .max_ns = 6 }, HIST_MS);
	g_assert_cmpstr(s->str, ==,
		"     msecs               : count     distribution\n"
		"         0 -> 1          : 12       |****************************************|\n"
		"     count 12, total 48 ns, mean 4 ns, median 4 ns, p99 6 ns, max 6 ns\n");
	g_string_truncate(s, 0);
	hist_text(s, &(struct hist_row){ .slots = late }, HIST_NS);
	g_assert_nonnull(strstr(s->str,
		"     140737488355328 -> 281474976710655      : 1        |****************************************|\n"));
	g_string_truncate(s, 0);
	hist_text(s, &(struct hist_row){ .slots = none }, HIST_US);
	g_assert_cmpstr(s->str, ==, "     usecs               : count     distribution\n");
}

static void test_json(void)
{
	const uint64_t slots[PROFILE_HIST_SLOTS] = { [3] = 1, [20] = 2 };
	const struct hist_row rows[] = {
		{ .slots = slots, .sum_ns = 99, .max_ns = 60 }, { .pid = 7, .tid = 8, .comm = "x", .slots = slots, .sum_ns = 100, .max_ns = 61 },
	};
	g_autoptr(GString) s = g_string_new(NULL);

	hist_json(s, "runq", 5, 6, rows, 2);
	g_assert_cmpstr(s->str, ==,
		"{\"schema\":1,\"what\":\"runq\",\"interval\":{\"start_unix_ns\":5,\"duration_ns\":6},\"histograms\":["
		"{\"pid\":null,\"tid\":null,\"comm\":null,\"count\":3,\"sum_ns\":99,\"max_ns\":60,\"log2_ns\":[[3,1],[20,2]]},"
		"{\"pid\":7,\"tid\":8,\"comm\":\"x\",\"count\":3,\"sum_ns\":100,\"max_ns\":61,\"log2_ns\":[[3,1],[20,2]]}]}\n");
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/hist/text", test_text);
	g_test_add_func("/hist/units", test_units);
	g_test_add_func("/hist/json", test_json);
	return g_test_run();
}
