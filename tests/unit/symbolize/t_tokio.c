/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Tokio's tasks, as they lie in a program's memory. */
#include <glib.h>

#include "tokio_image.h"

static struct tokio_program program;

static void expect(const enum tokio_task_state *states, unsigned cnt, bool is_cut)
{
	g_autoptr(GArray) tasks = g_array_new(FALSE, FALSE, sizeof(struct tokio_task));
	bool seen_cut;

	g_assert_true(tokio_program_read(&program, tasks, &seen_cut));
	g_assert_cmpuint(tasks->len, ==, cnt);
	g_assert_cmpint(seen_cut, ==, is_cut);
	for (guint i = 0; i < cnt; i++)
		g_assert_cmpint(g_array_index(tasks, struct tokio_task, i).state, ==, states[i]);
	tokio_image_free(&program);
}

#define EXPECT(is_cut, ...)                                                                                           \
	expect((const enum tokio_task_state[]){ __VA_ARGS__ },                                                        \
	       sizeof((const enum tokio_task_state[]){ __VA_ARGS__ }) / sizeof(enum tokio_task_state), is_cut)

static void test_lists(void)
{
	tokio_image_make(&program);
	EXPECT(false, TOKIO_WAITS, TOKIO_RUNS, TOKIO_WAITS, TOKIO_READY);
	/* the second list has no task */
	tokio_image_make(&program);
	tokio_image[TOKIO_OTHER_ENDS] = tokio_image[TOKIO_OTHER_ENDS + 1] = 0;
	EXPECT(false, TOKIO_WAITS, TOKIO_RUNS, TOKIO_WAITS);
	/* what is no end of a list: its first task has one before it */
	tokio_image_make(&program);
	tokio_image[TOKIO_ENDS] = tokio_image_task(1);
	expect(NULL, 0, false);
	/* it changes meanwhile, or is a ring: what was read of it is told; where one alone has its neighbours is not known */
	tokio_image_make(&program);
	tokio_image[TOKIO_ENDS + 1] = tokio_image_task(1);
	EXPECT(true, TOKIO_WAITS, TOKIO_RUNS, TOKIO_WAITS);
	tokio_image_make(&program);
	tokio_image[TOKIO_TASK + 2 * TOKIO_TASK_WORDS + 10] = tokio_image_task(0);
	EXPECT(true, TOKIO_WAITS, TOKIO_RUNS, TOKIO_WAITS);
}

static void check_name(const char *function, const char *name)
{
	g_autofree char *seen = tokio_future_name(function);

	g_assert_cmpstr(seen, ==, name);
}

static void test_names(void)
{
	check_name("tokio::runtime::task::raw::poll::<shop::pay::{closure#0}, alloc::sync::Arc<tokio::Handle>>", "shop::pay::{closure#0}");
	check_name("core::ptr::drop_in_place<tokio::runtime::task::core::Stage<shop::pay::{{closure}}>>", "shop::pay::{{closure}}");
	check_name("core::ptr::drop_in_place<alloc::boxed::Box<tokio::runtime::task::core::Cell<a::B<(u8,u8),fn(u8)->u8>,c::D>>>",
		   "a::B<(u8,u8),fn(u8)->u8>");
	check_name("tokio::runtime::task::raw::poll", NULL);
	check_name("tokio::runtime::task::core::Cell<", NULL);
	check_name("tokio::runtime::task::core::Cell<a<b", NULL);
	check_name("tokio::runtime::task::core::Cell<>", NULL);
	check_name("tokio::runtime::task::core::Cell<T,S>::new", NULL);
}

/* Any word may be any other: nothing is read without end. */
static void test_damaged(void)
{
	g_autoptr(GRand) rand = g_rand_new_with_seed(33);
	g_autoptr(GArray) tasks = g_array_new(FALSE, FALSE, sizeof(struct tokio_task));
	bool is_cut;

	for (unsigned i = 0; i < 20000; i++) {
		tokio_image_make(&program);
		for (unsigned k = g_rand_int_range(rand, 1, 6); k; k--) {
			unsigned to = (unsigned)g_rand_int_range(rand, 0, TOKIO_IMAGE_WORDS);

			tokio_image[to] = g_rand_boolean(rand) ? tokio_image_task(g_rand_int_range(rand, 0, TOKIO_TASK_CNT)) : g_rand_int(rand);
		}
		tokio_program_read(&program, tasks, &is_cut);
		g_assert_cmpuint(tasks->len, <=, TOKIO_TASKS_MAX);
		tokio_image_free(&program);
	}
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/tokio/lists", test_lists);
	g_test_add_func("/tokio/names", test_names);
	g_test_add_func("/tokio/damaged", test_damaged);
	return g_test_run();
}
