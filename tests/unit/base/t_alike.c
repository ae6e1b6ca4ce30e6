/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */

#include "base/text.h"

static void test_rank(void)
{
	g_assert_cmpuint(alike_rank("shop::generic", "r::shop::generic"), ==, ALIKE_SAME_WORD);
	g_assert_cmpuint(alike_rank("pay", "<r::shop::Cart<u64> as r::shop::Pay>::pay"), ==, ALIKE_SAME_WORD);
	g_assert_cmpuint(alike_rank("checkout", "shop::Cart::checkout<double>"), ==, ALIKE_SAME_WORD);
	g_assert_cmpuint(alike_rank("handle(int)", "main.handle"), ==, ALIKE_SAME_WORD);
	g_assert_cmpuint(alike_rank("portalrun", "PortalRun"), ==, 1);
	g_assert_cmpuint(alike_rank("PortalRunn", "PortalRun"), <, alike_rank("PortalRunn", "PortalRuns0"));
	g_assert_cmpuint(alike_rank("query__strat", "query__start"), !=, ALIKE_NOT);
	g_assert_cmpuint(alike_rank("query__strat", "sort__done"), ==, ALIKE_NOT);
	g_assert_cmpuint(alike_rank("simple_query", "exec_simple_query"), !=, ALIKE_NOT);
	/* too short to tell, nothing to compare, and brackets that do not end */
	g_assert_cmpuint(alike_rank("run", "ran"), ==, ALIKE_NOT);
	g_assert_cmpuint(alike_rank("", "run"), ==, ALIKE_NOT);
	g_assert_cmpuint(alike_rank("a>", "a>"), ==, ALIKE_NOT);
	g_assert_cmpuint(alike_rank("()", "operator()"), ==, ALIKE_NOT);
}

static void test_long(void)
{
	g_autofree char *longest = g_strnfill(127, 'a'), *longer = g_strnfill(128, 'a');

	g_assert_cmpuint(alike_rank(longest, longest), ==, ALIKE_SAME_WORD);
	g_assert_cmpuint(alike_rank(longer, longer), ==, ALIKE_NOT);
	longest[60] = 'b';
	longer[127] = 0;
	g_assert_cmpuint(alike_rank(longest, longer), ==, 3);
}

static void test_list(void)
{
	static const char *const all[] = { "PortalRunSelect", "PortalRun", "PortalRan", "main", "PortalRun" };
	g_autoptr(GPtrArray) names = g_ptr_array_new();
	char *list;

	for (size_t i = 0; i < G_N_ELEMENTS(all); i++)
		g_ptr_array_add(names, (gpointer)all[i]);
	list = alike_list(names, "PortalRunn", ALIKE_NOT, 5);
	g_assert_cmpstr(list, ==, "PortalRun, PortalRan");
	g_free(list);
	list = alike_list(names, "PortalRunn", ALIKE_NOT, 1);
	g_assert_cmpstr(list, ==, "PortalRun");
	g_free(list);
	g_assert_null(alike_list(names, "PortalRunn", ALIKE_SAME_WORD, 5));
	g_assert_null(alike_list(names, "nothing_of_them", ALIKE_NOT, 5));
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/alike/rank", test_rank);
	g_test_add_func("/alike/long", test_long);
	g_test_add_func("/alike/list", test_list);
	return g_test_run();
}
