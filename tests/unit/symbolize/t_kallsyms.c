/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <glib.h>
#include <string.h>

#include "symbolize/names/kallsyms.h"

static struct kallsyms *parse(const char *text)
{
	size_t len = strlen(text);
	char *copy = g_malloc(len + 2);

	memcpy(copy, text, len + 1);
	return kallsyms_parse(copy, len);
}

static void is(const struct kallsyms *k, uint64_t addr, const char *name, const char *module, uint64_t offset)
{
	const char *got_name = NULL, *got_module = NULL;
	uint64_t got_offset = 0;

	g_assert_cmpint(kallsyms_find(k, addr, &got_name, &got_module, &got_offset), ==, name != NULL);
	g_assert_cmpstr(got_name, ==, name);
	g_assert_cmpstr(got_module, ==, module);
	g_assert_cmphex(got_offset, ==, offset);
}

static void test_names(void)
{
	struct kallsyms *k = parse("ffffffff81000000 T srso_alias_untrain_ret\n"
				   "ffffffff81000000 T _stext\n"
				   "ffffffff81000000 T _text\n"
				   "ffffffff81000100 t __pfx_helper\n"
				   "ffffffff81000110 t helper\n"
				   "ffffffff81000180 W __ia32_sys_getpid\n"
				   "ffffffff81000180 W __x64_sys_getpid\n"
				   "ffffffff81000200 T schedule\n"
				   "ffffffff81000200 t local_alias\n"
				   "ffffffff81000280 t schedule.cold\n"
				   "ffffffff81000300 T __entry_text_end\n"
				   "ffffffff81001000 D some_data\n"
				   "ffffffffc0203000 t ext4_sync_file\t[ext4]\n"
				   "ffffffffc0000000 t bpf_prog_6deef7357e7b4530_sd\t[bpf]\n");

	is(k, 0xffffffff81000000, "srso_alias_untrain_ret", "[kernel]", 0);
	is(k, 0xffffffff81000115, "helper", "[kernel]", 5);
	is(k, 0xffffffff81000180, "__x64_sys_getpid", "[kernel]", 0);
	is(k, 0xffffffff81000204, "schedule", "[kernel]", 4);
	is(k, 0xffffffff81000290, "schedule.cold", "[kernel]", 0x10);
	is(k, 0xffffffff81000301, NULL, NULL, 0);	/* behind the last of a section */
	is(k, 0xffffffffc0203008, "ext4_sync_file", "[ext4]", 8);
	is(k, 0xffffffffc0000008, "bpf_prog_6deef7357e7b4530_sd", "[bpf]", 8);
	is(k, 0xffffffff80ffffff, NULL, NULL, 0);
	is(k, 0xffffffffc0103000, NULL, NULL, 0);	/* between two modules */
	is(k, 0xfffffffff0000000, NULL, NULL, 0);
	is(k, 0, NULL, NULL, 0);
	g_assert_false(k->hidden);
	kallsyms_free(k);
}

static void test_locks(void)
{
	struct kallsyms *k = parse("ffffffff82000040 d rtnl_mutex\n"
				   "ffffffff81000110 t down_read\n"
				   "ffffffff82000000 D event_mutex\n"
				   "ffffffff82000080 b jiffies\n"
				   "ffffffffc0203000 d nfsd_mutex\t[nfsd]\n");

	g_assert_cmpstr(kallsyms_find_lock(k, 0xffffffff82000000), ==, "event_mutex");
	g_assert_cmpstr(kallsyms_find_lock(k, 0xffffffff82000040), ==, "rtnl_mutex");
	g_assert_cmpstr(kallsyms_find_lock(k, 0xffffffffc0203000), ==, "nfsd_mutex");
	g_assert_null(kallsyms_find_lock(k, 0xffffffff82000008));	/* inside of it */
	g_assert_null(kallsyms_find_lock(k, 0xffffffff82000080));
	g_assert_null(kallsyms_find_lock(k, 0xffffffff81000110));
	is(k, 0xffffffff81000115, "down_read", "[kernel]", 5);
	is(k, 0xffffffff82000040, NULL, NULL, 0);
	kallsyms_free(k);
}

static void test_sched_text(void)
{
	struct kallsyms *k = parse("ffffffff81000000 T _stext\n"
				   "ffffffff81000200 T __sched_text_start\n"
				   "ffffffff81000200 t __schedule\n"
				   "ffffffff81000300 T schedule\n"
				   "ffffffff81000380 T __sched_text_end\n");

	g_assert_cmphex(k->sched_start, ==, 0xffffffff81000200);
	g_assert_cmphex(k->sched_end, ==, 0xffffffff81000380);
	is(k, 0xffffffff81000204, "__schedule", "[kernel]", 4);
	kallsyms_free(k);
	k = parse("ffffffff81000200 t __schedule\n"
		  "ffffffff81000300 T __sched_text_started\n"
		  "0000000000000000 T __sched_text_end\n");
	g_assert_cmphex(k->sched_start, ==, 0);
	g_assert_cmphex(k->sched_end, ==, 0);
	kallsyms_free(k);
}

/* Nearly sorted, as the kernel lists them, and in the worst order: the same table. */
static void test_order(void)
{
	enum { FUNCTIONS = 3000 };
	static const unsigned strides[] = { 1, 1009, FUNCTIONS - 1 };	/* straight, scattered, backwards */

	for (size_t order = 0; order < G_N_ELEMENTS(strides); order++) {
		g_autoptr(GString) text = g_string_new(NULL);

		for (unsigned i = 0, at = 0; i < FUNCTIONS; i++, at = (at + strides[order]) % FUNCTIONS) {
			unsigned swapped = order == 0 && at / 2 % 3 == 0 ? at ^ 1 : at;

			g_string_append_printf(text, "ffffffff%08x t f%u\n", 0x81000000 + swapped * 16, swapped);
		}
		struct kallsyms *k = parse(text->str);

		g_assert_cmpuint(k->table.cnt, ==, FUNCTIONS);
		for (unsigned i = 0; i < FUNCTIONS; i++) {
			g_autofree char *name = g_strdup_printf("f%u", i);
			is(k, 0xffffffff81000000 + i * 16 + 3, name, "[kernel]", 3);
		}
		kallsyms_free(k);
	}
}

static void test_hidden(void)
{
	struct kallsyms *k = parse("0000000000000000 T _stext\n0000000000000000 t helper\n");

	g_assert_true(k->hidden);
	is(k, 0, NULL, NULL, 0);
	is(k, 0xffffffff81000000, NULL, NULL, 0);
	kallsyms_free(k);
}

static void test_damaged(void)
{
	static const char *const texts[] = { "", "\n", "\n\n\n", "ffffffff81000000", "ffffffff81000000 T", "ffffffff81000000 T ",
		"ffffffff81000000 T \n", "zz T name\n", "ffffffff81000000  T name\n", "ffffffff81000000 T [name]\n",
		"ffffffff81000000 T \t[m]\n", "T name\n" };
	struct kallsyms *k;

	for (size_t i = 0; i < G_N_ELEMENTS(texts); i++) {
		k = parse(texts[i]);
		g_assert_cmpuint(k->table.cnt, ==, 0);
		kallsyms_free(k);
	}
	k = parse("garbage\nffffffff81000000 T good\nffffffff81000010 T last_without_newline\t[m");
	is(k, 0xffffffff81000001, "good", "[kernel]", 1);
	is(k, 0xffffffff81000011, "last_without_newline", "[m", 1);
	kallsyms_free(k);
}

static void test_live(void)
{
	g_autoptr(GError) error = NULL;
	struct kallsyms *k = kallsyms_read("/proc/kallsyms", &error);
	gint64 start_us = g_get_monotonic_time();

	if (!k) {
		g_test_skip(error->message);
		return;
	}
	if (k->hidden) {
		g_test_skip("the kernel hides its addresses from us");
	} else {
		g_assert_cmpuint(k->table.cnt, >, 1000);
		for (size_t i = 0; i < k->table.cnt; i++) {
			const struct symtab_entry *e = &k->table.entries[i];

			is(k, e->addr, symtab_name(&k->table, e), strchr(symtab_name(&k->table, e), 0)[1] == '[' ?
			   strchr(symtab_name(&k->table, e), 0) + 1 : "[kernel]", 0);
		}
	}
	g_test_message("%zu functions checked in %" G_GINT64_FORMAT " us", k->table.cnt,
		       g_get_monotonic_time() - start_us);
	kallsyms_free(k);
}

static void test_missing(void)
{
	g_autoptr(GError) error = NULL;

	g_assert_null(kallsyms_read("/nonexistent/kallsyms", &error));
	g_assert_nonnull(error);
	g_assert_nonnull(strstr(error->message, "/nonexistent/kallsyms"));
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/kallsyms/names", test_names);
	g_test_add_func("/kallsyms/locks", test_locks);
	g_test_add_func("/kallsyms/sched_text", test_sched_text);
	g_test_add_func("/kallsyms/order", test_order);
	g_test_add_func("/kallsyms/hidden", test_hidden);
	g_test_add_func("/kallsyms/damaged", test_damaged);
	g_test_add_func("/kallsyms/live", test_live);
	g_test_add_func("/kallsyms/missing", test_missing);
	return g_test_run();
}
