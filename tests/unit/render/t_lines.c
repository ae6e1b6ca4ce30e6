/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Files, lines and inlined functions, in every format; one function at two lines is one function. */
#include <string.h>

#include "../fixture.h"
#include "analyse/top.h"
#include "analyse/tree.h"
#include "render/json/json.h"
#include "render/svg/svg.h"
#include "render/text/folded.h"
#include "render/text/text.h"

static uint32_t push(struct profile *p, uint32_t node, const char *name, const char *file, uint32_t line, bool is_inline)
{
	const struct frame f = { .name = name, .module = "/opt/app", .offset = 0x1000, .file = file, .line = line,
				 .is_inline = is_inline };

	return profile_node(p, node, profile_frame(p, &f));
}

static uint32_t stack(struct profile *p, uint32_t call_line)
{
	uint32_t node = push(p, 0, "main", "/src/app/main.c", 40, false);

	node = push(p, node, "work", "/src/app/work.c", call_line, false);
	node = push(p, node, "lock", "/src/lib/lock.h", 7, true);
	node = push(p, node, "std::mutex::lock()", NULL, 0, true);
	profile_stack_end(p, node, STACK_COMPLETE);
	return node;
}

/* Two waits that differ by the line of a call only. */
static struct profile *recording(void)
{
	struct profile *p = profile_new();
	uint32_t thread = fixture_thread(p, 5, 5, "app", "app");
	const uint32_t lines[] = { 12, 30 };

	for (int i = 0; i < 2; i++) {
		struct wait w = { .thread = thread, .state = 'S', .count = 1, .blocked_ns = 3000000, .max_ns = 3000000,
				  .user = stack(p, lines[i]) };

		profile_add_wait(p, &w);
	}
	return p;
}

static void contains(const GString *s, const char *part)
{
	if (!strstr(s->str, part))
		g_error("\"%s\" is not in:\n%s", part, s->str);
}

static void test_folded(void)
{
	struct profile *p = recording();
	g_autoptr(GString) plain = g_string_new(NULL), marked = g_string_new(NULL), csv = g_string_new(NULL);
	const struct folded_options with_both = { .lines = true, .annotate = true }, none = { 0 };

	folded_render(plain, p, NULL, &none, NULL);
	g_assert_cmpstr(plain->str, ==, "app;main;work;lock;std::mutex::lock() 6000\n");
	folded_render(marked, p, NULL, &with_both, NULL);
	g_assert_cmpstr(marked->str, ==,
			"app;main:main.c:40;work:work.c:12;lock:lock.h:7_[i];std::mutex::lock()_[i] 3000\n"
			"app;main:main.c:40;work:work.c:30;lock:lock.h:7_[i];std::mutex::lock()_[i] 3000\n");
	csv_waits(csv, p, NULL, &(struct folded_options){ .lines = true }, NULL);
	contains(csv, ",main:main.c:40;work:work.c:30;lock:lock.h:7;std::mutex::lock(),");
	profile_free(p);
}

static void test_annotations(void)
{
	struct profile *p = profile_new();
	uint32_t thread = fixture_thread(p, 5, 5, "app", "app");
	struct wait w = { .thread = thread, .state = 'S', .count = 1, .blocked_ns = 1000000, .max_ns = 1000000,
			  .user = fixture_stack(p, FRAME_USER, STACK_COMPLETE, "main@/opt/app Jit.run@[jit]"),
			  .kernel = fixture_stack(p, FRAME_KERNEL, STACK_COMPLETE, "schedule@[kernel]") };
	g_autoptr(GString) s = g_string_new(NULL);

	profile_add_wait(p, &w);
	folded_render(s, p, NULL, &(struct folded_options){ .annotate = true }, NULL);
	g_assert_cmpstr(s->str, ==, "app;main;Jit.run_[j];schedule_[k] 1000\n");
	profile_free(p);
}

static void test_text(void)
{
	struct profile *p = recording();
	struct top *stacks = top_new(p, NULL, TOP_BY_STACK, WEIGHT_OFF_CPU);
	struct top *leaves = top_new(p, NULL, TOP_BY_LEAF, WEIGHT_OFF_CPU);
	g_autoptr(GString) report = g_string_new(NULL), trace = g_string_new(NULL), narrow = g_string_new(NULL);

	text_top(report, p, stacks, &(struct text_options){ 0 });
	contains(report, "       std::mutex::lock() (inlined)\n"
			 "    => lock (lock.h:7) (inlined)\n"
			 "       work (work.c:12)\n"
			 "       main (main.c:40)\n");
	contains(report, "       work (work.c:30)\n");
	text_top(narrow, p, stacks, &(struct text_options){ .width = 27 });
	contains(narrow, "       std::mut.. (inlined)\n");
	trace_text(trace, p, NULL, false);
	contains(trace, "    std::mutex::lock() (inlined)\n    lock (lock.h:7) (inlined)\n    work (work.c:12)\n");
	/* the library's own is plumbing, and two lines of one function are one leaf */
	g_assert_cmpuint(leaves->rows->len, ==, 1);
	g_assert_cmpstr(g_array_index(leaves->rows, struct top_row, 0).name, ==, "(std::mutex::lock() <- lock)");
	top_free(stacks);
	top_free(leaves);
	profile_free(p);
}

static void test_json(void)
{
	struct profile *p = recording();
	g_autoptr(GString) s = g_string_new(NULL);

	json_report_drained(s, p, NULL, NULL);
	contains(s, "{\"name\":\"work\",\"module\":\"/opt/app\",\"offset\":4096,\"file\":\"/src/app/work.c\",\"line\":12,"
		    "\"inline\":false},{\"name\":\"lock\",\"module\":\"/opt/app\",\"offset\":4096,"
		    "\"file\":\"/src/lib/lock.h\",\"line\":7,\"inline\":true}");
	profile_free(p);
}

static void check_flame(bool reverse)
{
	struct profile *p = recording();
	struct tree *t = tree_from_profile(p, &(struct tree_options){ .weight = WEIGHT_OFF_CPU, .reverse = reverse });
	g_autoptr(GString) s = g_string_new(NULL);

	/* all, app, main, work, lock, std::mutex::lock(): one box each */
	g_assert_cmpuint(t->nodes->len, ==, 6);
	svg_flame(p, t, &(struct svg_options){ .width_px = 1200 }, s, NULL);
	contains(s, "<title>work\napp\n/src/app/work.c:12-30\n");
	contains(s, "<title>lock\napp\n/src/lib/lock.h:7, inlined\n");
	contains(s, "<title>main\napp\n/src/app/main.c:40\n");
	contains(s, "<title>std::mutex::lock()\napp\ninlined\n");
	tree_free(t);
	profile_free(p);
}

static void test_flame(void)
{
	check_flame(false);
	check_flame(true);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/lines/folded", test_folded);
	g_test_add_func("/lines/annotations", test_annotations);
	g_test_add_func("/lines/text", test_text);
	g_test_add_func("/lines/json", test_json);
	g_test_add_func("/lines/flame", test_flame);
	return g_test_run();
}
