/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "render/svg/svg.h"

#include <string.h>

#include "../change.h"
#include "../fixture.h"
#include "render/json/json.h"
#include "render/text/diff.h"

#define MS UINT64_C(1000000)

static struct diff *diff_of(struct profile *before, struct profile *after)
{
	const struct diff_options options = { .noise = DIFF_NOISE_DEFAULT };

	return diff_new(&(struct diff_input){ .profile = before, .name = "a\033[31m.offcpu" },
			&(struct diff_input){ .profile = after, .name = "b</title>.offcpu" }, &options);
}

static void assert_has_not(const GString *s, const char *part)
{
	if (strstr(s->str, part))
		g_error("\"%s\" is in\n%s", part, s->str);
}

static void draw(GString *out, bool negated)
{
	struct profile *before = change_new(false), *after = change_new(true);
	struct diff *d = diff_of(before, after);
	const struct svg_diff_options options = { .finding = "What <changed>", .width_px = 1200, .min_width = 0.001,
						  .negated = negated };

	g_assert_true(svg_diff(out, d, &options));
	diff_free(d);
	profile_free(before);
	profile_free(after);
}

/* Names of others steer neither terminal nor browser; the picture is well-formed. */
static void test_svg(void)
{
	g_autoptr(GString) s = g_string_new(NULL);
	g_autoptr(GError) error = NULL;
	GMarkupParseContext *context = g_markup_parse_context_new(&(GMarkupParser){ .text = NULL }, 0, NULL, NULL);

	draw(s, false);
	g_assert_true(g_markup_parse_context_parse(context, s->str, (gssize)s->len, &error));
	g_assert_true(g_markup_parse_context_end_parse(context, &error));
	g_markup_parse_context_free(context);
	assert_has_not(s, "<script>alert");
	assert_has_not(s, "\033");
	assert_has(s, "What &lt;changed&gt;");
	assert_has(s, "b&lt;/title&gt;.offcpu");
	/* old_path is gone, and stands apart; what is new is where it is; what moved is no change */
	assert_has(s, "∅ only in BEFORE");
	assert_has(s, "old_path\napp\nbefore 800 ms per thread-minute, after 0 ns per thread-minute\nchange −");
	assert_has(s, "− gone");
	assert_has(s, "+ new");
	assert_has(s, "before 1.44 s per thread-minute, after 1.44 s per thread-minute");
}

static void test_negated(void)
{
	g_autoptr(GString) s = g_string_new(NULL);

	draw(s, true);
	assert_has(s, "∅ only in AFTER");
	assert_has_not(s, "∅ only in BEFORE");
}

static void test_nothing(void)
{
	struct profile *p = profile_new();
	struct diff *d = diff_of(p, p);
	g_autoptr(GString) s = g_string_new(NULL);
	const struct text_options text = { .top = 6 };
	const struct diff_text_options options = { .text = &text };

	g_assert_false(svg_diff(s, d, &(struct svg_diff_options){ .width_px = 1200 }));
	diff_text(s, d, &options);
	assert_has(s, "There is nothing to compare");
	diff_json(s, d, &(struct diff_json_options){ .finding = "" });
	diff_free(d);
	profile_free(p);
}

static void test_text(void)
{
	struct profile *before = change_new(false), *after = change_new(true);
	struct diff *d = diff_of(before, after);
	g_autoptr(GString) s = g_string_new(NULL);
	const struct text_options text = { .width = 80 };
	const enum diff_by by = DIFF_BY_FUNCTION;
	const struct diff_text_options options = { .text = &text, .tables = &by, .tables_cnt = 1, .all = true };

	diff_text(s, d, &options);
	assert_has_not(s, "\033");
	assert_has(s, "BEFORE is a\\x1b[31m.offcpu");
	g_auto(GStrv) lines = g_strsplit(s->str, "\n", -1);
	for (unsigned i = 6; lines[i]; i++)	/* the tables' */
		g_assert_cmpint(g_utf8_strlen(lines[i], -1), <=, 100);
	diff_free(d);
	profile_free(before);
	profile_free(after);
}

/* Of each worker as many waits of 1 ms, whose stacks did not come. */
static void add_lost(struct profile *p, uint32_t cnt)
{
	const struct frame lost = { .kind = FRAME_USER, .why = FRAME_PENDING };
	struct wait w = { .state = 'S', .count = cnt, .blocked_ns = cnt * MS, .max_ns = MS };

	w.user = w.kernel = profile_node(p, 0, profile_frame(p, &lost));
	w.hist[profile_hist_slot(MS)] = cnt;
	for (w.thread = 0; w.thread < 4; w.thread++)
		profile_add_wait(p, &w);
}

static char *text_with_lost(uint32_t before_cnt, uint32_t after_cnt)
{
	struct profile *before = change_new(false), *after = change_new(false);
	GString *s = g_string_new(NULL);
	const struct text_options text = { .width = 80 };
	const struct diff_text_options options = { .text = &text };
	struct diff *d;

	add_lost(before, before_cnt);
	add_lost(after, after_cnt);
	d = diff_of(before, after);
	diff_text(s, d, &options);
	diff_free(d);
	profile_free(before);
	profile_free(after);
	return g_string_free(s, FALSE);
}

/* They may be idle or not: they are in the total, told, and never the change without a word. */
static void test_lost(void)
{
	g_autofree char *none = text_with_lost(1, 1), *same = text_with_lost(6000, 6000), *more = text_with_lost(1, 6000);

	g_assert_null(strstr(none, "lost"));
	g_assert_nonnull(strstr(same, "Waits whose stacks were lost are in the total: 9.60 s -> 9.60 s."));
	g_assert_null(strstr(same, "may be idle"));
	g_assert_nonnull(strstr(more, "But +9.60 s is of waits whose stacks were lost: that may be idle time."));
}

/* It waits once for its disk, and is preempted now and then. */
static struct profile *run_new(uint64_t disk_ms, uint64_t preempted_us)
{
	struct profile *p = profile_new();
	const uint32_t thread = fixture_thread(p, 10, 10, "job", "job");

	p->info.duration_ns = 1300 * MS;
	g_array_index(p->threads, struct thread, thread).to_ns = p->info.duration_ns;
	fixture_wait(p, thread, 'D', 1, disk_ms * MS, "main@job first@job fsync@libc.so.6",
		     "__x64_sys_fsync@[kernel] submit_bio_wait@[kernel]");
	fixture_wait(p, thread, 'R', 400, preempted_us * 1000, "main@job compute@job", "preempt_schedule_irq@[kernel]");
	return p;
}

/* One wait tells no noise; yet it is told, and not a small change that is certain. */
static void test_one_long_wait(void)
{
	struct profile *before = run_new(200, 10), *after = run_new(1200, 14);
	struct diff *d = diff_of(before, after);
	g_autoptr(GString) s = g_string_new(NULL);

	diff_text_finding(s, d);
	g_test_message("%s", s->str);
	assert_has(s, "; most of it is submit_bio_wait (fsync <- first)");
	diff_free(d);
	profile_free(before);
	profile_free(after);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/render/diff/svg", test_svg);
	g_test_add_func("/render/diff/negated", test_negated);
	g_test_add_func("/render/diff/nothing", test_nothing);
	g_test_add_func("/render/diff/text", test_text);
	g_test_add_func("/render/diff/lost", test_lost);
	g_test_add_func("/diff/one-long-wait", test_one_long_wait);
	return g_test_run();
}
