/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "analyse/query.h"

#include <string.h>

#include "../fixture.h"

/* "1" for each selected wait, "0" for the others. */
static char *waits_of(const struct query *q)
{
	struct profile *p = fixture_new();
	g_autoptr(GError) error = NULL;
	struct selection *s = selection_new(p, q, &error);
	GString *bits = g_string_new(NULL);

	g_assert_no_error(error);
	for (unsigned i = 0; i < p->waits->len; i++)
		g_string_append_c(bits, s->waits[i] ? '1' : '0');
	selection_free(s);
	profile_free(p);
	return g_string_free(bits, FALSE);
}

#define assert_waits(expected, ...)                                 \
	do {                                                        \
		struct query q_ = { __VA_ARGS__ };                  \
		g_autofree char *bits_ = waits_of(&q_);             \
		g_assert_cmpstr(bits_, ==, expected);               \
	} while (0)

static void test_parts(void)
{
	const uint32_t pids[] = { 200, 2 }, tids[] = { 101 };
	const char *const names[] = { "serv*", NULL }, *const none[] = { "servers", NULL };

	assert_waits("11111111", .states = NULL);
	assert_waits("01000000", .states = "D");
	assert_waits("01010000", .states = "D,R");
	assert_waits("00111100", .comm = "work*");
	assert_waits("00111100", .comm = "[v-x]orker");
	assert_waits("00000011", .pids = pids, .pids_cnt = 2);
	assert_waits("11111100", .processes = names);
	assert_waits("11111111", .processes = names, .pids = pids, .pids_cnt = 2);
	assert_waits("00000011", .processes = none, .pids = pids, .pids_cnt = 2);
	assert_waits("00000000", .processes = none);
	assert_waits("00111000", .tids = tids, .tids_cnt = 1);
	assert_waits("11111110", .user_only = true);
	assert_waits("00000001", .kernel_only = true);
	assert_waits("00101000", .tids = tids, .tids_cnt = 1, .states = "S");
}

static void test_grep(void)
{
	assert_waits("10101100", .grep = "futex");	/* only in kernel stacks */
	assert_waits("11110100", .grep = "^do_work$");	/* an inner frame of user stacks */
	assert_waits("11110100", .grep = "^main$");
	assert_waits("01000000", .grep = "^fsync|^ext4");
	assert_waits("00000010", .grep = "app\\+0x1234");	/* the label of a frame without a name */
	assert_waits("00000000", .grep = "nothing_of_the_kind");
	assert_waits("01000000", .grep = "fsync", .comm = "server");
}

static void expect_error(const struct query *q, const char *part)
{
	struct profile *p = fixture_new();
	g_autoptr(GError) error = NULL;

	g_assert_null(selection_new(p, q, &error));
	g_assert_nonnull(error);
	g_assert_nonnull(strstr(error->message, part));
	g_assert_null(strchr(error->message, '\n'));
	profile_free(p);
}

static void test_bad(void)
{
	expect_error(&(struct query){ .states = "SX" }, "'X'");
	expect_error(&(struct query){ .states = "" }, "names no state");
	expect_error(&(struct query){ .grep = "a(b" }, "\"a(b\"");
	g_assert_true(query_check(&(struct query){ .states = "S", .grep = "a.b" }, NULL));
	g_assert_false(query_check(&(struct query){ .grep = "[" }, NULL));
}

/* Exponential backtracking ends in a sentence, soon; also when the pattern asks for more. */
static void test_catastrophe(void)
{
	static const char *const patterns[] = { "^(a+)+$", "(*LIMIT_MATCH=4000000000)^(a|a)*$" };

	for (unsigned i = 0; i < G_N_ELEMENTS(patterns); i++) {
		struct profile *p = profile_new();
		g_autoptr(GError) error = NULL;
		g_autofree char *name = g_strnfill(60, 'a');
		g_autofree char *word = g_strconcat(name, "!@x", NULL);
		gint64 start_us = g_get_monotonic_time();

		fixture_stack(p, FRAME_USER, STACK_COMPLETE, word);
		g_assert_null(selection_new(p, &(struct query){ .grep = patterns[i] }, &error));
		g_assert_nonnull(strstr(error->message, "too many steps"));
		g_assert_cmpint(g_get_monotonic_time() - start_us, <, 2 * G_USEC_PER_SEC);
		profile_free(p);
	}
}

static void test_text(void)
{
	const uint32_t pids[] = { 12, 34 };
	g_autofree char *none = query_text(&(struct query){ 0 });
	g_autofree char *all = query_text(&(struct query){ .states = "D", .comm = "x*", .grep = "y", .pids = pids, .pids_cnt = 2, .user_only = true });

	g_assert_cmpstr(none, ==, "");
	g_assert_cmpstr(all, ==, "user threads, pid 12,34, comm x*, state D, a frame matching /y/");
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/query/parts", test_parts);
	g_test_add_func("/query/grep", test_grep);
	g_test_add_func("/query/bad", test_bad);
	g_test_add_func("/query/catastrophe", test_catastrophe);
	g_test_add_func("/query/text", test_text);
	return g_test_run();
}
