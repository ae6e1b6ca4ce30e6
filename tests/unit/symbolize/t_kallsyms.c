/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <glib.h>
#include <string.h>

#include "symbolize/names/kernel.h"

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

/* ---- symbols that the kernel is asked for */

struct kernel {
	unsigned asked;
	bool is_silent, is_freed;
};

static bool answer(void *ctx, uint64_t addr, char *ret, size_t room)
{
	static const struct {
		uint64_t addr;
		const char *text;
	} all[] = { { 0xffffffff81000203, "schedule+0x3/0xa0" },
		    { 0xffffffffc0000010, "ext4_sync_file+0x10/0x300 [ext4]" },
		    { 0xffffffffc0100007, "bpf_prog_117f02a358e0a4ec_visit+0x7/0x52" },
		    { 0xffffffff82000000, "cgroup_mutex+0x0/0x20" },
		    { 0xffffffff82000008, "cgroup_mutex+0x8/0x20" },
		    { 0xffffffff82000040, "nr_threads+0x0/0x4" },
		    { 0xffffffff81000300, "no_end+0x3" },
		    { 0xffffffff81000301, "+0x1/0x2" } };
	struct kernel *k = ctx;

	k->asked++;
	g_strlcpy(ret, "0xffffffffffffffff", room);
	for (size_t i = 0; i < G_N_ELEMENTS(all); i++)
		if (all[i].addr == addr)
			g_strlcpy(ret, all[i].text, room);
	return !k->is_silent;
}

static uint64_t answer_address(void *ctx, const char *name)
{
	((struct kernel *)ctx)->asked++;
	return !strcmp(name, "__sched_text_start") ? 0x1000 : !strcmp(name, "__sched_text_end") ? 0x2000 : 0;
}

static void end_kernel(void *ctx)
{
	((struct kernel *)ctx)->is_freed = true;
}

static void asked_is(struct kernel_symbols *s, uint64_t addr, const char *name, const char *module, uint64_t offset)
{
	struct symbol got = { .why = FRAME_NO_SYMBOLS };

	g_assert_cmpint(kernel_symbols_find(s, addr, true, &got), ==, name != NULL);
	g_assert_cmpstr(got.name, ==, name);
	g_assert_cmpstr(got.module, ==, module);
	g_assert_cmphex(got.symbol_offset, ==, offset);
	g_assert_cmpint(got.why == FRAME_NAMED, ==, name != NULL);
}

static void test_asked(void)
{
	struct kernel kernel = { 0 };
	const struct symbolizer_kernel by = { answer, answer_address, end_kernel, &kernel };
	struct kernel_symbols *s = kernel_symbols_new("/nonexistent/kallsyms");
	uint64_t start, end;

	kernel_symbols_ask(s, &by);
	asked_is(s, 0xffffffff81000203, "schedule", "[kernel]", 3);
	asked_is(s, 0xffffffffc0000010, "ext4_sync_file", "[ext4]", 0x10);
	asked_is(s, 0xffffffffc0100007, "bpf_prog_117f02a358e0a4ec_visit", "[bpf]", 7);
	asked_is(s, 0xffffffff81000300, NULL, NULL, 0);
	asked_is(s, 0xffffffff81000301, NULL, NULL, 0);
	asked_is(s, 0xffffffff81000400, NULL, NULL, 0);
	g_assert_cmpstr(kernel_symbols_lock(s, 0xffffffff82000000), ==, "cgroup_mutex");
	g_assert_null(kernel_symbols_lock(s, 0xffffffff82000008));
	g_assert_null(kernel_symbols_lock(s, 0xffffffff82000040));
	/* known by now, and no kernel's address at all */
	kernel.asked = 0;
	asked_is(s, 0xffffffff81000203, "schedule", "[kernel]", 3);
	asked_is(s, 0x7f0000001000, NULL, NULL, 0);
	g_assert_cmpuint(kernel.asked, ==, 0);
	g_assert_true(kernel_symbols_sched_text(s, &start, &end) && start == 0x1000 && end == 0x2000);
	/* who does not answer any more is not asked again: the file is read, which is not there */
	kernel.is_silent = true;
	asked_is(s, 0xffffffff81000500, NULL, NULL, 0);
	g_assert_true(kernel.is_freed);
	kernel.asked = 0;
	asked_is(s, 0xffffffff81000203, NULL, NULL, 0);
	g_assert_cmpuint(kernel.asked, ==, 0);
	kernel_symbols_free(s);
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
	g_test_add_func("/kallsyms/asked", test_asked);
	return g_test_run();
}
