/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "render/text/text.h"

#include <string.h>

#include "../fixture.h"
#include "base/text.h"
#include "explain/text.h"

static void check_duration(uint64_t ns, const char *expected)
{
	g_autoptr(GString) s = g_string_new(NULL);

	text_duration(s, ns);
	g_assert_cmpstr(s->str, ==, expected);
}

static void test_durations(void)
{
	check_duration(0, "0");
	check_duration(999, "999 ns");
	check_duration(1000, "1.00 us");
	check_duration(12345, "12.3 us");
	check_duration(999499, "999 us");
	check_duration(999500, "1.00 ms");	/* not "1000 us" */
	check_duration(9994999, "9.99 ms");
	check_duration(9996000, "10.0 ms");
	check_duration(UINT64_C(60000000000), "60.0 s");
	check_duration(UINT64_C(180000000000), "3 min 0 s");
	check_duration(UINT64_C(546000000000), "9 min 6 s");
	check_duration(UINT64_C(3840000000000), "1 h 4 min");
	check_duration(UINT64_C(36000000000000), "10 h 0 min");
	g_autoptr(GString) s = g_string_new(NULL);
	text_duration_signed(s, -1500);
	g_assert_cmpstr(s->str, ==, "-1.50 us");
}

static void test_numbers(void)
{
	g_autoptr(GString) s = g_string_new(NULL);

	text_thousands(s, 0);
	g_string_append_c(s, ' ');
	text_thousands(s, 999);
	g_string_append_c(s, ' ');
	text_thousands(s, 1000);
	g_string_append_c(s, ' ');
	text_thousands(s, UINT64_MAX);
	g_string_append_c(s, ' ');
	size_text(s, 1023);
	g_string_append_c(s, ' ');
	size_text(s, 33 << 20);
	g_assert_cmpstr(s->str, ==, "0 999 1,000 18,446,744,073,709,551,615 1023 B 33.0 MiB");
}

static void check_safe(const char *name, const char *expected)
{
	g_autoptr(GString) s = g_string_new(NULL);

	text_safe(s, name);
	g_assert_cmpstr(s->str, ==, expected);
}

static void test_safe(void)
{
	check_safe(NULL, "");
	check_safe("plain name", "plain name");
	check_safe("a\033[31mb", "a\\x1b[31mb");
	check_safe("tab\tnl\ndel\177", "tab\\x09nl\\x0adel\\x7f");
	check_safe("\xc3\xa9t\xc3\xa9", "\xc3\xa9t\xc3\xa9");	/* valid UTF-8 stays */
	check_safe("cut\xc3", "cut\\xc3");	/* the kernel cuts comms at 15 bytes */
	check_safe("\xff\xfe", "\\xff\\xfe");
	check_safe("\xc2\x9b" "31m", "\\u009b31m");	/* C1: a one-character CSI */
	check_safe("a\xe2\x80\xae" "b", "a\\u202e" "b");	/* right-to-left override */
	check_safe("a\xe2\x80\xa8", "a\\u2028");
}

static void test_cut(void)
{
	g_autoptr(GString) s = g_string_new(NULL);

	g_assert_cmpuint(text_safe_cut(s, "0123456789", 10), ==, 10);
	g_string_append_c(s, '|');
	g_assert_cmpuint(text_safe_cut(s, "0123456789", 9), ==, 9);
	g_string_append_c(s, '|');
	g_assert_cmpuint(text_safe_cut(s, "\xe4\xb8\xad\xe4\xb8\xad\xe4\xb8\xad", 5), ==, 4);	/* wide: two columns each */
	g_string_append_c(s, '|');
	g_assert_cmpuint(text_safe_cut(s, "0123456789", 0), ==, 10);
	g_assert_cmpstr(s->str, ==, "0123456789|0123456..|\xe4\xb8\xad..|0123456789");
}

/* The lines of seed material: one empty bucket above and below, 40 @ for all. */
static void test_quantize(void)
{
	uint64_t hist[PROFILE_HIST_SLOTS] = { [18] = 0, [19] = 1, [20] = 2, [21] = 10, [22] = 53, [23] = 16 };
	g_autoptr(GString) s = g_string_new(NULL);

	text_quantize(s, hist, "");
	g_assert_cmpstr(s->str, ==,
		"           value  ------------- Distribution ------------- count\n"
		"          262 us |                                         0\n"
		"          524 us |                                         1\n"
		"         1.05 ms |@                                        2\n"
		"         2.10 ms |@@@@@                                    10\n"
		"         4.19 ms |@@@@@@@@@@@@@@@@@@@@@@@@@@               53\n"
		"         8.39 ms |@@@@@@@@                                 16\n"
		"         16.8 ms |                                         0\n");

	uint64_t edges[PROFILE_HIST_SLOTS] = { [0] = 1 };
	g_string_truncate(s, 0);
	text_quantize(s, edges, "");
	g_assert_cmpstr(s->str, ==,
		"           value  ------------- Distribution ------------- count\n"
		"               0 |                                         0\n"
		"            1 ns |@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@ 1\n"
		"            2 ns |                                         0\n");

	uint64_t none[PROFILE_HIST_SLOTS] = { 0 };
	g_string_truncate(s, 0);
	text_quantize(s, none, "");
	g_assert_cmpstr(s->str, ==, "");
}

static void test_report(void)
{
	struct profile *p = fixture_new();
	const struct text_options options = { .top = 2, .by = TOP_BY_STACK };
	g_autoptr(GString) s = g_string_new(NULL);

	text_report(s, p, NULL, NULL, &options);
	assert_has(s, "for 1.00 s");
	assert_has(s, "Host      testhost, kernel 6.12.0-test, 2 CPUs\n");
	assert_has(s, "residual  10.0 ms (0.2273%) of 4.40 s observed\n");
	assert_has(s, "lost      ring_stack: 2 times, 120 ms: the ring buffer was full");
	assert_has(s, "filtered  120 ms (2.9% of off-CPU)");
	assert_has(s, "complete 67.2%, truncated 4.5%, broken 0.0%, pending 3.0%, none 25.3% of 3.96 s listed");
	assert_has(s, "at the start 1.00 s in 1 wait, at the end 1.00 s in 1 wait");
	assert_has(s, "own threads were left out; cost: BPF 3.40 ms, CPU 12.0 ms, peak memory 33.0 MiB\n");
	assert_has(s, "     100  server                  3    3.00 s    210 ms    2.40 s    180 ms    200 ms    2.78 s   10.0 ms\n");
	assert_has(s, "          (1 more)                1    400 ms    100 ms    250 ms   50.0 ms         0    300 ms         0\n");
	assert_has(s, "          total                   5    4.40 s    310 ms    3.65 s    235 ms    200 ms    4.08 s   10.0 ms\n");
	assert_has(s, "\nBelow: user threads. 1 kernel thread, off CPU for 1.00 s: see -k.\n");
	assert_has(s, "       2,030,000   65.9%  futex_wait (pthread_cond_wait <- do_work)\n");
	assert_has(s, "         500,000   16.2%  (3 more)\n");
	assert_has(s, "  1. 1.48 s  48.1%  worker (100), 2 threads, S sleeping\n");
	assert_has(s, "    => do_work\n");
	assert_has(s, "(4 more: 930 ms, 30.2%)\n");
	g_assert_null(strchr(s->str, '\033'));
	g_assert_true(g_utf8_validate(s->str, (gssize)s->len, NULL));
	profile_free(p);
}

/* Escapes only when colour is asked for, and then none of them from a name. */
static void test_colour_and_width(void)
{
	struct profile *p = fixture_new();
	const struct text_options options = { .by = TOP_BY_COMM, .colour = true, .width = 60 };
	g_autoptr(GString) s = g_string_new(NULL);

	text_report(s, p, NULL, NULL, &options);
	assert_has(s, "\033[1m");
	assert_has(s, "ev\\x1b[31m;il");
	g_assert_null(strstr(s->str, "\033[31m"));
	assert_has(s, "futex_wait (pthread_cond_wait <-..");
	profile_free(p);
}

static void check_sampling(const struct profile_sampling *sampling, const char *expected)
{
	struct profile *p = fixture_new();
	g_autoptr(GString) s = g_string_new(NULL);

	p->info.sampling = *sampling;
	text_sampling(s, p, "* ");
	g_assert_cmpstr(s->str, ==, expected);
	profile_free(p);
}

/* Nothing of an exact recording within its budget; else what was sampled, and the budget. */
static void test_sampling(void)
{
	struct profile_sampling sampling = { .budget_ppm = 10000, .has_used = true, .used_ppm = 5000, .peak_ppm = 9000 };

	check_sampling(&sampling, "");
	sampling.over_cnt = 1;
	sampling.peak_ppm = 25000;
	check_sampling(&sampling, "* budget    tracing cost 0.50% of all CPUs' time (2.5% in the worst second); the budget is 1.0%. "
				  "It was exceeded 1 time, but all waits were looked at.\n");
	sampling = (struct profile_sampling){ .start_ns = 10000, .end_ns = 10000, .max_ns = 10000 };
	check_sampling(&sampling, "* sampled   only a part of the waits below 10.0 us was looked at. Their stacks are estimates; errors "
				  "above 1% are shown. Totals and the sums of threads are exact.\n");
	sampling = (struct profile_sampling){ .max_ns = 40000, .end_ns = 10000, .raised_cnt = 2, .lowered_cnt = 1,
		.over_cnt = 3, .budget_ppm = 1000, .has_used = true, .used_ppm = 1200, .peak_ppm = 1500 };
	check_sampling(&sampling, "* sampled   only a part of the waits below 40.0 us was looked at, to keep the budget. Their stacks are "
		"estimates; errors above 1% are shown. Totals and the sums of threads are exact.\n* budget    tracing cost 0.12% of all "
		"CPUs' time (0.15% in the worst second); the budget is 0.10%. It was exceeded 3 times. So fewer short waits were "
		"looked at, 2 times, and more again, 1 time.\n");
}

static void test_empty(void)
{
	struct profile *p = profile_new();
	const struct text_options options = { .top = 10 };
	g_autoptr(GString) s = g_string_new(NULL);

	text_report(s, p, NULL, NULL, &options);
	assert_has(s, "lost      nothing\n");
	assert_has(s, "no wait to show\n");
	profile_free(p);
}

static void test_history(void)
{
	struct profile_info info = { .start_unix_ns = UINT64_C(1764081000) * 1000000000, .history.gap_why = "" };
	g_autoptr(GString) s = g_string_new(NULL);

	info.history.windows = 2;
	info.history.to_unix_ns = info.start_unix_ns + 20 * UINT64_C(1000000000);
	text_history(s, &info);
	g_assert_true(g_str_has_suffix(s->str, ", 2 windows, no gaps"));
	info.history.is_gone_by_name = true;
	text_history(s, &info);
	g_assert_true(g_str_has_suffix(s->str, ", 2 windows, no gaps, threads that ended are told by name"));
}

/* What starting took is told apart from what runs. */
static void test_tracer(void)
{
	struct profile *p = fixture_new();
	const struct text_options options = { .top = 10 };
	g_autoptr(GString) s = g_string_new(NULL);

	text_coverage(s, p, NULL, &options);
	assert_has(s, ", CPU 12.0 ms, peak memory");	/* a recording that does not say */
	p->info.tracer_start_cpu_ns = 8000000;
	p->info.tracer_stop_cpu_ns = 11000000;
	text_coverage(s, p, NULL, &options);
	assert_has(s, ", CPU 12.0 ms (start 8.00 ms, running 3.00 ms, the rest to write it), peak memory");
	profile_free(p);
}

/* Switches are of the threads shown; those of the machine are said to be that. */
static void test_switches(void)
{
	struct profile *p = fixture_new();
	const struct text_options options = { .top = 10 };
	const uint32_t pid = 200;
	const struct query q = { .pids = &pid, .pids_cnt = 1 };
	struct selection *one = selection_new(p, &q, NULL);
	g_autoptr(GString) s = g_string_new(NULL);

	text_coverage(s, p, NULL, &options);
	assert_has(s, "  switches  86 by these threads, 120 on all CPUs; 85 waits listed, 5 threads\n");
	g_string_truncate(s, 0);
	text_coverage(s, p, one, &options);
	assert_has(s, "  switches  7 by these threads, 120 on all CPUs; 5 waits listed, 1 thread\n");
	selection_free(one);
	profile_free(p);
}

/* On a terminal long lines of the coverage go on below their text, and no word is lost. */
static void test_coverage_fits(void)
{
	struct profile *p = fixture_new();
	const struct text_options wide = { .top = 10 }, narrow = { .top = 10, .width = 60 };
	g_autoptr(GString) a = g_string_new(NULL), b = g_string_new(NULL);

	text_coverage(a, p, NULL, &wide);
	text_coverage(b, p, NULL, &narrow);
	g_auto(GStrv) lines = g_strsplit(b->str, "\n", -1);
	for (char **line = lines; *line; line++)
		g_assert_cmpuint(strlen(*line), <=, 60);
	g_assert_cmpuint(g_strv_length(lines), >, 8);
	for (char *from = strstr(b->str, "\n            "); from; from = strstr(b->str, "\n            ")) {
		*from = ' ';
		g_string_erase(b, from + 1 - b->str, (gssize)strlen("            "));
	}
	g_assert_cmpstr(b->str, ==, a->str);
	profile_free(p);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/text/coverage-fits", test_coverage_fits);
	g_test_add_func("/text/switches", test_switches);
	g_test_add_func("/text/tracer", test_tracer);
	g_test_add_func("/text/durations", test_durations);
	g_test_add_func("/text/numbers", test_numbers);
	g_test_add_func("/text/safe", test_safe);
	g_test_add_func("/text/cut", test_cut);
	g_test_add_func("/text/quantize", test_quantize);
	g_test_add_func("/text/report", test_report);
	g_test_add_func("/text/colour-and-width", test_colour_and_width);
	g_test_add_func("/text/sampling", test_sampling);
	g_test_add_func("/text/empty", test_empty);
	g_test_add_func("/text/history", test_history);
	return g_test_run();
}
