/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "render/json/json.h"

#include <string.h>
#include <time.h>

#include "../fixture.h"
#include "render/json/write.h"

static void test_writer(void)
{
	g_autoptr(GString) s = g_string_new(NULL);
	struct json j;

	json_init(&j, s);
	json_object_begin(&j);
	json_member_uint(&j, "max", UINT64_MAX);
	json_member_int(&j, "min", INT64_MIN);
	json_key(&j, "list");
	json_array_begin(&j);
	json_uint(&j, 0);
	json_bool(&j, true);
	json_null(&j);
	json_object_begin(&j);
	json_object_end(&j);
	json_raw(&j, "[1]", 3);
	json_array_end(&j);
	json_member_string(&j, "none", NULL);
	json_member_bool(&j, "no", false);
	json_object_end(&j);
	g_assert_cmpstr(s->str, ==,
		"{\"max\":18446744073709551615,\"min\":-9223372036854775808,"
		"\"list\":[0,true,null,{},[1]],\"none\":null,\"no\":false}");
}

static void test_quote(void)
{
	g_autoptr(GString) s = g_string_new(NULL);

	json_quote(s, "a\"b\\c\n\t\r\001\033\177/\xc3\xa9\xff\xe2\x82");
	g_assert_cmpstr(s->str, ==, "\"a\\\"b\\\\c\\n\\t\\r\\u0001\\u001b\\u007f/\xc3\xa9\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"");
	g_assert_true(g_utf8_validate(s->str, (gssize)s->len, NULL));
	/* C1, as a one-character CSI, bidirectional and invisible characters; a face stays */
	g_string_truncate(s, 0);
	json_quote(s, "\xc2\x9b" "31m\xc2\x80\xc2\x9f\xc2\xa1\xe2\x80\xae\xe2\x80\xa8\xf3\xa0\x80\x81\xf0\x9f\x98\x80");
	g_assert_cmpstr(s->str, ==,
			"\"\\u009b31m\\u0080\\u009f\xc2\xa1\\u202e\\u2028\\udb40\\udc01\xf0\x9f\x98\x80\"");
}

static void test_report(void)
{
	struct profile *p = fixture_new();
	g_autoptr(GString) s = g_string_new(NULL);

	json_report_drained(s, p, NULL, NULL);
	g_assert_true(g_str_has_prefix(s->str, "{\"schema\":1,\"window\":{\"start_unix_ns\":1790000000123456789,\"duration_ns\":1000000000},"
		"\"host\":{\"kernel\":\"6.12.0-test\",\"cpus\":2,\"name\":\"testhost\"}"));
	assert_has(s, "\"coverage\":{\"switches\":120,\"thread_switches\":86,\"lost\":{\"ring_stack\":2}");
	assert_has(s, "\"observed_ns\":4400000000,");
	assert_has(s, "\"residual_ns\":10000000,");
	assert_has(s, "\"filtered_ns\":120000000,");
	assert_has(s, "\"stacks\":{\"complete_ns\":2660000000,\"truncated_ns\":180000000,\"broken_ns\":0,\"pending_ns\":120000000,\"none_ns\":1000000000}");
	assert_has(s, "\"tracer\":{\"bpf_ns\":3400000,\"cpu_ns\":12000000,\"start_cpu_ns\":0,\"running_cpu_ns\":0,\"peak_rss_bytes\":34603008}");
	assert_has(s, "{\"pid\":100,\"tid\":102,\"comm\":\"worker\",\"process\":\"server\",");
	assert_has(s, "\"comm\":\"ev\\u001b[31m;il\"");
	/* root first, and the whole of one wait */
	assert_has(s, "{\"pid\":200,\"tid\":200,\"comm\":\"ev\\u001b[31m;il\",\"state\":\"S\",\"reason\":\"pipe\",\"protocol\":\"\","
		"\"idle\":null,\"count\":5,\"off_cpu_ns\":180000000,\"blocked_ns\":150000000,\"runnable_ns\":30000000,"
		"\"preempted_ns\":0,\"median_ns\":32148522,\"p90_ns\":50000000,\"p99_ns\":50000000,\"max_ns\":50000000,\"off_cpu_se_ns\":0,\"count_se\":0,"
		"\"log2_ns\":[[24,4],[25,1]],\"open_at_start\":false,\"open_at_end\":false,\"throttled\":false,\"user\":["
		"{\"name\":null,\"module\":\"/opt/app\",\"offset\":4660,\"file\":null,\"line\":0,\"inline\":false,\"why\":\"no symbols in file\"},"
		"{\"name\":\"read\",\"module\":\"/lib/libc.so.6\",\"offset\":4096,\"file\":null,\"line\":0,\"inline\":false}],\"kernel\":["
		"{\"name\":\"entry_SYSCALL_64_after_hwframe\",");
	/* the third of the headlines is of it */
	assert_has(s, "\"user_end\":\"truncated\",\"headline\":3,\"object\":null,\"wakers\":[]}");
	assert_has(s, "\"open_at_start\":true,\"open_at_end\":true,\"throttled\":false,\"user\":[");
	g_assert_true(g_str_has_suffix(s->str, "]}\n"));
	profile_free(p);
}

static void test_selected(void)
{
	struct profile *p = fixture_new();
	struct selection *sel = selection_new(p, &(struct query){ .comm = "kwork" }, NULL);
	g_autoptr(GString) s = g_string_new(NULL);

	p->info.has_bpf_ns = false;
	json_report_drained(s, p, sel, NULL);
	assert_has(s, "\"bpf_ns\":null");
	assert_has(s, "\"observed_ns\":1000000000,");
	assert_has(s, "\"comm\":\"kwork\"");
	g_assert_null(strstr(s->str, "worker\","));
	selection_free(sel);
	profile_free(p);
}

static uint64_t number_behind(const char *text, const char *key)
{
	const char *at = strstr(text, key);

	g_assert_nonnull(at);
	return g_ascii_strtoull(at + strlen(key), NULL, 10);
}

/* What has no room is summed up, and it is the least. */
static void test_within(void)
{
	struct profile *p = profile_new();
	g_autoptr(GString) whole = g_string_new(NULL), s = g_string_new(NULL);
	uint32_t thread = fixture_thread(p, 1, 1, "a", "a");
	uint64_t all_ns = 0, told_ns = 0, told_cnt = 0, last_ns = UINT64_MAX;

	for (unsigned i = 0; i < 1000; i++) {
		struct frame f = { .name = NULL, .module = "/usr/bin/a", .offset = i, .why = FRAME_NO_SYMBOLS };
		struct wait w = { .thread = thread, .state = 'S', .count = 1, .blocked_ns = 1000 + i * 7919 % 1000 };

		w.max_ns = w.blocked_ns;
		w.user = profile_node(p, 0, profile_frame(p, &f));
		all_ns += w.blocked_ns;
		profile_add_wait(p, &w);
	}
	json_report_drained(whole, p, NULL, NULL);
	g_assert_null(strstr(whole->str, "left_out"));
	json_report_within(s, p, NULL, whole->len);
	g_assert_cmpstr(s->str, ==, whole->str);
	g_string_truncate(s, 0);
	json_report_within(s, p, NULL, 200000);
	g_assert_cmpuint(s->len, <, 200000);
	const char *rest = strstr(s->str, "\"left_out\":{");
	g_assert_nonnull(rest);
	for (const char *at = strstr(s->str, "\"waits\":["); (at = strstr(at, ",\"off_cpu_ns\":")) && at < rest; at++) {
		uint64_t ns = number_behind(at, "\"off_cpu_ns\":");

		g_assert_cmpuint(ns, <=, last_ns);
		last_ns = ns;
		told_ns += ns;
		told_cnt++;
	}
	g_assert_cmpuint(told_cnt, >, 50);
	g_assert_cmpuint(told_cnt + number_behind(rest, "\"rows\":"), ==, 1000);
	g_assert_cmpuint(told_ns + number_behind(rest, "\"off_cpu_ns\":"), ==, all_ns);
	profile_free(p);
}

/* CPU time to write a report of so many waits, of which half and more have a stack of their own. */
static int64_t time_report(unsigned waits)
{
	struct profile *p = profile_new();
	g_autoptr(GString) words = g_string_new(NULL), s = g_string_new(NULL);
	uint32_t thread = fixture_thread(p, 1, 1, "a", "a");

	for (unsigned i = 0; i < 6; i++)
		g_string_append_printf(words, "%sfunction_number_%u@/usr/bin/a", i ? " " : "", i);
	uint32_t base = fixture_stack(p, FRAME_USER, STACK_COMPLETE, words->str);
	for (unsigned i = 0; i < waits; i++) {
		struct frame f = { .name = NULL, .module = "/usr/bin/a", .offset = i % 5000, .why = FRAME_NO_SYMBOLS };
		struct wait w = { .thread = thread, .state = 'S', .count = 1, .blocked_ns = i, .max_ns = i };

		w.user = profile_node(p, base, profile_frame(p, &f));
		w.kernel = profile_node(p, 0, i / 5000);
		profile_add_wait(p, &w);
	}
	g_assert_cmpuint(p->waits->len, >=, waits / 2);
	clock_t start = clock();
	json_report_drained(s, p, NULL, NULL);
	int64_t took_us = (int64_t)(clock() - start) * (G_USEC_PER_SEC / CLOCKS_PER_SEC);
	g_test_message("%u waits, %zu MiB in %d ms", p->waits->len, s->len >> 20, (int)(took_us / 1000));
	profile_free(p);
	return took_us;
}

/* Eight times the waits take eight times as long, and something; what grows with their square takes 64 times. */
static void test_speed(void)
{
	const int64_t few_us = time_report(15000);

	g_assert_cmpint(time_report(120000), <, 24 * few_us);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/json/writer", test_writer);
	g_test_add_func("/json/quote", test_quote);
	g_test_add_func("/json/report", test_report);
	g_test_add_func("/json/selected", test_selected);
	g_test_add_func("/json/within", test_within);
	g_test_add_func("/json/speed", test_speed);
	return g_test_run();
}
