/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "render/text/text.h"

#include "../fixture.h"

static void check_field(const char *value, const char *expected)
{
	g_autoptr(GString) s = g_string_new(NULL);

	csv_field(s, value);
	g_assert_cmpstr(s->str, ==, expected);
}

static void test_field(void)
{
	check_field(NULL, "");
	check_field("plain", "plain");
	check_field("a,b", "\"a,b\"");
	check_field("say \"x\"", "\"say \"\"x\"\"\"");
	check_field("two\nlines", "\"two\nlines\"");
	/* what a spreadsheet would run */
	check_field("=cmd|' /C calc'!A0", "'=cmd|' /C calc'!A0");
	check_field("=HYPERLINK(\"x\",1)", "\"'=HYPERLINK(\"\"x\"\",1)\"");
	check_field("+1", "'+1");
	check_field("-1", "'-1");
	check_field("@SUM(A1)", "'@SUM(A1)");
	check_field("\t=1", "'\t=1");
	check_field("\r=1", "\"'\r=1\"");
	check_field("a=1", "a=1");
}

static void test_waits(void)
{
	struct profile *p = fixture_new();
	struct selection *s = selection_new(p, &(struct query){ .comm = "ev*" }, NULL);
	g_autoptr(GString) out = g_string_new(NULL), all = g_string_new(NULL);

	csv_waits(out, p, s, NULL, NULL);
	g_assert_cmpstr(out->str, ==,
		"pid,tid,comm,process,state,count,off_cpu_ns,blocked_ns,runnable_ns,preempted_ns,max_ns,"
		"open_at_start,open_at_end,user_end,user,kernel\n"
		"200,200,ev\\x1b[31m;il,evil,S,5,180000000,150000000,30000000,0,50000000,0,0,truncated,app+0x1234;read,"
		"entry_SYSCALL_64_after_hwframe;do_syscall_64;ksys_read;vfs_read;anon_pipe_read.constprop.0;schedule;__schedule\n");
	csv_waits(all, p, NULL, NULL, NULL);
	unsigned lines = 0;
	for (const char *c = all->str; *c; c++)
		lines += *c == '\n';
	g_assert_cmpuint(lines, ==, 9);
	selection_free(s);
	profile_free(p);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/csv/field", test_field);
	g_test_add_func("/csv/waits", test_waits);
	return g_test_run();
}
