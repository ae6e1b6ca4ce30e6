/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* The table's rows, and round trips: what is written and read back has the same sum for each stack. */
#include "exchange/format.h"

#include <string.h>
#include <time.h>
#include <zlib.h>

#include "../fixture.h"

static GString *write_as(const struct profile *p, const char *name, const struct export_plan *plan)
{
	GString *out = g_string_new(NULL);
	const struct sink sink = sink_of_string(out);
	g_autoptr(GError) error = NULL;

	g_assert_true(format_write(format_by_name(name), p, plan, &sink, &error));
	g_assert_no_error(error);
	return out;
}

static struct profile *read_back(const GString *bytes, uint64_t unit_ns)
{
	struct source *s = source_of_bytes(bytes->str, bytes->len);
	const struct import_options options = { .unit_ns = unit_ns };
	g_autoptr(GError) error = NULL;
	struct profile *p = exchange_read(s, "input", &options, &error);

	g_assert_no_error(error);
	g_assert_true(profile_check(p, NULL));
	source_free(s);
	return p;
}

static char *folded(const struct profile *p, enum weight weight, bool by_thread)
{
	const struct folded_options options = { .weight = weight, .unit = FOLDED_NS, .by_thread = by_thread };
	GString *s = g_string_new(NULL);

	folded_render(s, p, NULL, &options, NULL);
	return g_string_free(s, FALSE);
}

static void assert_same(const struct profile *a, const struct profile *b, enum weight weight, bool by_thread)
{
	g_autofree char *x = folded(a, weight, by_thread), *y = folded(b, weight, by_thread);

	g_assert_cmpstr(x, ==, y);
}

static void test_table(void)
{
	g_autofree char *names = format_names();

	g_assert_cmpstr(names, ==,
			"folded, json, csv, jsonl, pprof, speedscope, firefox, perfetto, otlp, perf-script, sqlite, "
			"collapsed");
	for (size_t i = 0; i < formats_cnt; i++) {
		g_assert_true(formats[i].write || formats[i].read);
		g_assert_true(!formats[i].read == !formats[i].sniff);
		g_assert_true(formats[i].name && formats[i].extension && formats[i].media_type && formats[i].help);
		g_assert_true(!formats[i].write || format_by_name(formats[i].name) == &formats[i]);
	}
	g_assert_null(format_by_name("stacks")); /* only read */
	g_assert_null(format_by_name("nonsense"));
}

/* With a wait whose numbers are large, a function of the same name in two files, and lines. */
static struct profile *rich_profile(void)
{
	struct profile *p = fixture_new();
	const struct frame inlined[] = {
		{ .name = "outer", .module = "/usr/bin/app", .offset = 0x10, .file = "/src/app.c", .line = 12 },
		{ .name = "inner",
		 .module = "/usr/bin/app",
		 .offset = 0x10,
		 .file = "/src/app.h",
		 .line = 3,
		 .is_inline = true },
		{ .name = "innermost",
		 .module = "/usr/bin/app",
		 .offset = 0x10,
		 .file = "/src/app.h",
		 .line = 4,
		 .is_inline = true },
		{ .name = "outer", .module = "/usr/lib/other.so", .offset = 0x99 },
		{ .module = "/usr/lib/other.so", .offset = 0x77, .why = FRAME_NO_SYMBOLS },
		{ .offset = 0x7fff12345678, .why = FRAME_NOT_MAPPED },
	};
	struct wait w = { .thread = fixture_thread(p, 4000000, 4000001, "a b;c 12", "long name"),
			 .state = 'D',
			 .count = 1,
			 .blocked_ns = UINT64_C(1) << 52 };

	for (size_t i = 0; i < G_N_ELEMENTS(inlined); i++)
		w.user = profile_node(p, w.user, profile_frame(p, &inlined[i]));
	profile_add_wait(p, &w);
	return p;
}

static void test_pprof(void)
{
	struct profile *p = rich_profile();
	g_autoptr(GString) bytes = write_as(p, "pprof", &(struct export_plan){ .columns = 1 });
	struct profile *back = read_back(bytes, 0);

	g_assert_cmpmem(bytes->str, 2, "\x1f\x8b", 2);
	for (enum weight weight = 0; weight < WEIGHT_KINDS; weight++)
		assert_same(p, back, weight, true);
	g_assert_cmpuint(back->info.unknown & (UNKNOWN_PARTS | UNKNOWN_COUNTS | UNKNOWN_STATES | UNKNOWN_IDS), ==, 0);
	g_assert_cmpuint(back->info.unknown & UNKNOWN_DURATIONS, !=, 0);
	g_assert_cmpuint(back->info.duration_ns, ==, p->info.duration_ns);
	g_assert_nonnull(back->info.imported);
	/* Packed or not is no matter. */
	g_autoptr(GString) again = write_as(back, "pprof", &(struct export_plan){ .columns = 1 });
	struct profile *back2 = read_back(again, 0);

	assert_same(p, back2, WEIGHT_OFF_CPU, true);
	profile_free(back2);
	profile_free(back);
	profile_free(p);
}

static void test_speedscope(void)
{
	struct profile *p = rich_profile();
	g_autoptr(GString) bytes = write_as(p, "speedscope", &(struct export_plan){ .columns = 1 });
	struct profile *back = read_back(bytes, 0);

	assert_same(p, back, WEIGHT_OFF_CPU, true);
	g_assert_cmpuint(back->info.unknown & UNKNOWN_COUNTS, !=, 0);
	profile_free(back);
	profile_free(p);
}

static void test_perf_script(void)
{
	struct profile *p = fixture_new();
	g_autoptr(GString) bytes = write_as(p, "perf-script", &(struct export_plan){ .columns = 1 });
	struct profile *back = read_back(bytes, 0);
	g_autofree char *x = folded(p, WEIGHT_OFF_CPU, true), *y = folded(back, WEIGHT_OFF_CPU, true);
	/* What text cannot hold is escaped once, and once more as it is read and written. */
	char *escape = strstr(y, "\\x1b");

	g_assert_nonnull(escape);
	g_assert_cmpstr(x, ==, y);
	profile_free(back);
	profile_free(p);
}

static void test_collapsed(void)
{
	struct profile *p = fixture_new();
	const struct export_plan one = { .folded = { .unit = FOLDED_NS, .by_thread = true, .delimiter = true },
					.columns = 1 };
	struct export_plan two = one;

	two.folded.two_columns = true;
	two.columns = 2;
	g_autoptr(GString) a = write_as(p, "collapsed", &one), b = write_as(p, "folded", &two);
	struct profile *from_a = read_back(a, 1), *from_b = read_back(b, 1);

	assert_same(p, from_a, WEIGHT_OFF_CPU, true);
	assert_same(p, from_b, WEIGHT_OFF_CPU, true);
	g_assert_nonnull(strstr(from_b->info.imported, "second column"));
	profile_free(from_a);
	profile_free(from_b);
	profile_free(p);
}

/* A selection is written, and nothing else. */
static void test_selection(void)
{
	static const char *const names[] = { "pprof", "speedscope", "perf-script" };
	struct profile *p = fixture_new();
	const struct query query = { .comm = "server" };
	g_autoptr(GError) error = NULL;
	struct selection *selection = selection_new(p, &query, &error);
	const struct folded_options options = { .unit = FOLDED_NS, .by_thread = true };
	g_autoptr(GString) expected = g_string_new(NULL);

	folded_render(expected, p, selection, &options, NULL);
	for (size_t i = 0; i < G_N_ELEMENTS(names); i++) {
		g_autoptr(GString) bytes = write_as(p, names[i],
						    &(struct export_plan){ .columns = 1,
									  .selection = selection,
									  .selection_text = "comm server" });
		struct profile *back = read_back(bytes, 0);
		g_autofree char *text = folded(back, WEIGHT_OFF_CPU, true);

		g_assert_cmpstr(text, ==, expected->str);
		profile_free(back);
	}
	selection_free(selection);
	profile_free(p);
}

/* 20,000 stacks of 30 frames. */
static struct profile *many_stacks(void)
{
	struct profile *p = profile_new();
	uint32_t thread = fixture_thread(p, 1, 1, "many", "many");

	for (unsigned i = 0; i < 20000; i++) {
		struct wait w = { .thread = thread, .state = 'S', .count = 1, .blocked_ns = 1000 + i };

		for (unsigned k = 0; k < 30; k++) {
			g_autofree char *name = g_strdup_printf("function_%u_%u", k, i % (k * 17 + 1));
			const struct frame f = { .name = name,
						.module = "/usr/bin/many",
						.offset = k << 16 | i % (k * 17 + 1) };

			w.user = profile_node(p, w.user, profile_frame(p, &f));
		}
		profile_add_wait(p, &w);
	}
	return p;
}

static void test_speed(void)
{
	struct profile *p = many_stacks();

	g_assert_cmpuint(p->waits->len, ==, 20000);
	for (size_t i = 0; i < formats_cnt; i++) {
		if (!formats[i].write)
			continue;
		clock_t from = clock();
		g_autoptr(GString)
			bytes = write_as(p, formats[i].name, &(struct export_plan){ .columns = 1, .selection_text = "" });

		g_test_message("%s: %zu bytes in %ld ms of CPU time", formats[i].name, bytes->len,
			       (long)(clock() - from) * 1000 / CLOCKS_PER_SEC);
		g_assert_cmpuint(bytes->len, >, 0);
	}
	profile_free(p);
}

static bool refuse(void *ctx, const void *bytes, gsize len_bytes, GError **error)
{
	g_set_error_literal(error, G_FILE_ERROR, G_FILE_ERROR_NOSPC, "disk full");
	return false;
}

static void test_sink_fails(void)
{
	struct profile *p = many_stacks();
	const struct sink sink = { refuse, NULL };

	for (size_t i = 0; i < formats_cnt; i++) {
		g_autoptr(GError) error = NULL;

		if (!formats[i].write)
			continue;
		g_assert_false(format_write(&formats[i], p, &(struct export_plan){ .columns = 1 }, &sink, &error));
		g_assert_error(error, G_FILE_ERROR, G_FILE_ERROR_NOSPC);
	}
	profile_free(p);
}

static void test_empty(void)
{
	struct profile *p = profile_new();

	for (size_t i = 0; i < formats_cnt; i++) {
		if (!formats[i].write)
			continue;
		g_string_free(write_as(p, formats[i].name, &(struct export_plan){ .columns = 1 }), TRUE);
	}
	profile_free(p);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/formats/table", test_table);
	g_test_add_func("/formats/pprof", test_pprof);
	g_test_add_func("/formats/speedscope", test_speedscope);
	g_test_add_func("/formats/perf_script", test_perf_script);
	g_test_add_func("/formats/collapsed", test_collapsed);
	g_test_add_func("/formats/selection", test_selection);
	g_test_add_func("/formats/speed", test_speed);
	g_test_add_func("/formats/sink_fails", test_sink_fails);
	g_test_add_func("/formats/empty", test_empty);
	return g_test_run();
}
