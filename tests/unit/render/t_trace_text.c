/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "render/text/text.h"

#include <string.h>

#include "../fixture.h"

/* Ascending, innermost first, states of one thread and stack summed, rounded to nearest. */
static void test_form(void)
{
	struct profile *p = profile_new();
	uint32_t tar = fixture_thread(p, 10, 11, "tar", "tar"), kw = fixture_thread(p, 2, 2, "kw", "kw");
	uint32_t user = fixture_stack(p, FRAME_USER, STACK_COMPLETE, "main@/bin/tar ?@/bin/tar read@/lib/libc.so.6");
	uint32_t kernel = fixture_stack(p, FRAME_KERNEL, STACK_COMPLETE, "entry_SYSCALL_64 vfs_read schedule");
	const struct wait waits[] = {
		{ .thread = tar, .user = user, .kernel = kernel, .state = 'S', .blocked_ns = 5000400, .count = 1 },
		{ .thread = tar, .user = user, .kernel = kernel, .state = 'D', .runnable_ns = 200, .count = 1 },
		{ .thread = kw, .kernel = kernel, .state = 'I', .blocked_ns = 1000, .count = 1 },
	};
	g_autoptr(GString) s = g_string_new(NULL);

	for (unsigned i = 0; i < G_N_ELEMENTS(waits); i++)
		profile_add_wait(p, &waits[i]);
	trace_text(s, p, NULL, true);
	g_assert_cmpstr(s->str, ==,
		"    schedule\n    vfs_read\n    entry_SYSCALL_64\n"
		"    -                kw (2)\n"
		"        1\n\n"
		"    schedule\n    vfs_read\n    entry_SYSCALL_64\n"
		"    --\n"
		"    read\n    tar+0x1234 [no symbols in file]\n    main\n"
		"    -                tar (11)\n"
		"        5001\n\n");
	g_string_truncate(s, 0);
	trace_text(s, p, NULL, false);
	g_assert_null(strstr(s->str, "--"));
	profile_free(p);
}

static void test_selected(void)
{
	struct profile *p = fixture_new();
	struct selection *sel = selection_new(p, &(struct query){ .comm = "worker" }, NULL);
	g_autoptr(GString) s = g_string_new(NULL);

	trace_text(s, p, sel, false);
	g_assert_null(strstr(s->str, "server ("));
	g_assert_true(g_str_has_suffix(s->str, "    -                worker (102)\n        1000000\n\n"));
	selection_free(sel);
	profile_free(p);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/trace-text/form", test_form);
	g_test_add_func("/trace-text/selected", test_selected);
	return g_test_run();
}
