/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <string.h>

#include "../fixture.h"
#include "server/ask.h"

#define S UINT64_C(1000000000)
#define FROM (UINT64_C(1790000000) * S)

/* An hour of history. */
static const struct store_extent extent = { .from_unix_ns = FROM, .to_unix_ns = FROM + 3600 * S };

static GHashTable *query;

static struct request request_of(const char *text)
{
	g_auto(GStrv) parts = g_strsplit(text, "&", -1);

	if (query)
		g_hash_table_unref(query);
	query = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
	for (unsigned i = 0; parts[i] && *parts[i]; i++) {
		const char *eq = strchr(parts[i], '=');

		g_hash_table_insert(query, g_strndup(parts[i], (gsize)(eq - parts[i])), g_strdup(eq + 1));
	}
	return (struct request){ .query = query };
}

/* The sentence that refuses it names what is wrong. */
static void assert_refused(GError *error, const char *names)
{
	g_assert_error(error, SERVER_ERROR, SERVER_BAD_REQUEST);
	if (!strstr(error->message, names))
		g_error("\"%s\" does not name %s", error->message, names);
	g_assert_null(strchr(error->message, '\n'));
	g_error_free(error);
}

static void check_range(const char *text, uint64_t from_s, uint64_t to_s)
{
	const struct request r = request_of(text);
	struct ask_range range;

	g_assert_true(ask_range(&r, "from", "to", &extent, ASK_RANGE_MAX_NS, &range, NULL));
	g_assert_cmpuint(range.from_ns, ==, FROM + from_s * S);
	g_assert_cmpuint(range.to_ns, ==, FROM + to_s * S);
}

static void test_range(void)
{
	check_range("", 0, 3600);
	check_range("from=1790000060000000000", 60, 3600);
	check_range("from=1790000060000000000&to=1790000070000000000", 60, 70);
	check_range("to=1790000070000000000", 0, 70);
	/* beyond the history there is nothing, however long */
	check_range("from=0&to=9223372036854775807", 0, 3600);
	check_range("from=0&to=1", 0, 0);
	check_range("from=1790009999000000000&to=1790009999000000001", 3600, 3600);
	check_range("from=1790000060000000000&to=1790000060000000000", 60, 60);
}

static void test_bad_ranges(void)
{
	static const char *const bad[][2] = {
		{ "from=x", "from" }, { "from=", "from" }, { "from=-1", "from" }, { "from=1e9", "from" }, { "to=0x10", "to" }, { "to= 5", "to" },
		{ "to=9223372036854775808", "to" }, { "from=18446744073709551616", "from" }, { "from=99999999999999999999999999", "from" },
		{ "from=1790000070000000000&to=1790000060000000000", "later" }, { "to=1790000000000000000.5", "to" },
	};
	struct ask_range range;

	for (guint i = 0; i < G_N_ELEMENTS(bad); i++) {
		const struct request r = request_of(bad[i][0]);
		GError *error = NULL;

		g_assert_false(ask_range(&r, "from", "to", &extent, ASK_RANGE_MAX_NS, &range, &error));
		assert_refused(error, bad[i][1]);
	}
	GError *error = NULL;
	const struct request r = request_of("");

	g_assert_false(ask_range(&r, "from", "to", &extent, 3599 * S, &range, &error));
	assert_refused(error, "at most");
	g_assert_true(ask_range(&r, "from", "to", &extent, 3600 * S, &range, NULL));
}

static void test_last(void)
{
	static const char *const bad[] = { "seconds=0", "seconds=-5", "seconds=x", "seconds=99999999999", "seconds=18446744073709551615" };
	struct ask_range range;
	struct request r = request_of("");

	g_assert_true(ask_last(&r, &extent, &range, NULL));
	g_assert_cmpuint(range.to_ns - range.from_ns, ==, 60 * S);
	r = request_of("seconds=10");
	g_assert_true(ask_last(&r, &extent, &range, NULL));
	g_assert_cmpuint(range.from_ns, ==, FROM + 3590 * S);
	r = request_of("seconds=100000");
	g_assert_true(ask_last(&r, &extent, &range, NULL));
	g_assert_true(range.from_ns == extent.from_unix_ns && range.to_ns == extent.to_unix_ns);
	for (guint i = 0; i < G_N_ELEMENTS(bad); i++) {
		GError *error = NULL;

		r = request_of(bad[i]);
		g_assert_false(ask_last(&r, &extent, &range, &error));
		assert_refused(error, "seconds");
	}
}

static void test_line(void)
{
	static const char *const bad[][2] = {
		{ "step=1", "second" }, { "step=x", "step" }, { "step=999999999", "second" }, { "step=1000000000", "too short" },
		{ "by=thread", "by" }, { "by=", "by" }, { "series=0", "series" }, { "series=49", "series" }, { "series=-1", "series" },
		{ "from=5&to=4", "later" }, { "step=18446744073709551615", "step" },
	};
	struct ask_line line;
	struct request r = request_of("");

	g_assert_true(ask_line(&r, &extent, &line, NULL));
	g_assert_true(line.by == STORE_BY_CLASS && line.step_ns >= S && 3600 * S / line.step_ns < ASK_STEPS_MAX);
	r = request_of("by=reason&step=10000000000&series=5&from=1790000000000000000&to=1790000600000000000");
	g_assert_true(ask_line(&r, &extent, &line, NULL));
	g_assert_true(line.by == STORE_BY_REASON && line.step_ns == 10 * S && line.series_max == 5);
	r = request_of("by=service");
	g_assert_true(ask_line(&r, &extent, &line, NULL) && line.by == STORE_BY_SERVICE);
	for (guint i = 0; i < G_N_ELEMENTS(bad); i++) {
		GError *error = NULL;

		r = request_of(bad[i][0]);
		g_assert_false(ask_line(&r, &extent, &line, &error));
		assert_refused(error, bad[i][1]);
	}
}

static void test_bad_filters(void)
{
	g_autofree char *long_text = g_strnfill(ASK_TEXT_MAX_BYTES + 1, 'a');
	g_autofree char *too_long = g_strconcat("process=", long_text, NULL);
	const char *const bad[][2] = {
		{ "reason=nonsense", "lock.mutex" }, { "grep=(", "grep" }, { "grep=a{99999}", "grep" }, { too_long, "512" }, { "comm=\xff", "UTF-8" },
	};
	struct ask_filter f;

	for (guint i = 0; i < G_N_ELEMENTS(bad); i++) {
		const struct request r = request_of(bad[i][0]);
		GError *error = NULL;

		g_assert_false(ask_filter(&r, &f, &error));
		assert_refused(error, bad[i][1]);
	}
}

/* How much of the fixture's 3,960 ms in waits is left. */
static uint64_t selected_ms(const struct profile *p, const char *text)
{
	const struct request r = request_of(text);
	struct ask_filter f;
	uint64_t sum = 0;

	g_assert_true(ask_filter(&r, &f, NULL));
	struct selection *s = ask_select(&f, p, NULL);

	g_assert_nonnull(s);
	for (uint32_t i = 0; i < p->waits->len; i++)
		sum += s->waits[i] ? wait_off_cpu_ns(profile_wait(p, i)) : 0;
	selection_free(s);
	return sum / 1000000;
}

static void test_filters(void)
{
	struct profile *p = fixture_new();

	g_array_index(p->threads, struct thread, 1).service = profile_string(p, "shop.service");
	g_assert_cmpuint(selected_ms(p, ""), ==, 3960);
	g_assert_cmpuint(selected_ms(p, "process="), ==, 3960);
	g_assert_cmpuint(selected_ms(p, "process=server"), ==, 550 + 430 + 480 + 200 + 120 + 1000);
	g_assert_cmpuint(selected_ms(p, "process=ser*&comm=worker"), ==, 480 + 200 + 120 + 1000);
	g_assert_cmpuint(selected_ms(p, "service=shop*"), ==, 480 + 200 + 120);
	g_assert_cmpuint(selected_ms(p, "service=(no service)"), ==, 550 + 430 + 1000 + 180);
	g_assert_cmpuint(selected_ms(p, "service=(kernel)"), ==, 1000);
	g_assert_cmpuint(selected_ms(p, "process=serve"), ==, 0);
	g_assert_cmpuint(selected_ms(p, "grep=^spin$"), ==, 200);
	g_assert_cmpuint(selected_ms(p, "reason=cpu"), ==, 200);
	g_assert_cmpuint(selected_ms(p, "reason=cpu.queue&process=server"), ==, 200);
	g_assert_cmpuint(selected_ms(p, "reason=cpu.queue&process=evil"), ==, 0);
	profile_free(p);
}

static void test_filter_text(void)
{
	const struct ask_filter all = { 0 }, some = { .process = "mariadbd", .reason = "lock" };
	g_autofree char *nothing = ask_filter_text(&all), *both = ask_filter_text(&some);

	g_assert_cmpstr(nothing, ==, "");
	g_assert_cmpstr(both, ==, "process mariadbd, reason lock");
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/server/ask/range", test_range);
	g_test_add_func("/server/ask/bad_ranges", test_bad_ranges);
	g_test_add_func("/server/ask/last", test_last);
	g_test_add_func("/server/ask/line", test_line);
	g_test_add_func("/server/ask/bad_filters", test_bad_filters);
	g_test_add_func("/server/ask/filters", test_filters);
	g_test_add_func("/server/ask/filter_text", test_filter_text);
	return g_test_run();
}
