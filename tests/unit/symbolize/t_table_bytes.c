/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Tables on their way between processes: they arrive as they were, and whatever else arrives is refused or safe to ask. */
#include "symbolize/elf/table.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/opener/parser.h"
#include "unwind/table.h"

#define DAMAGES 3000

static int own_program(void)
{
	return open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
}

static void symbols(void)
{
	int fd = own_program();
	struct elf_table *t = elf_table_read(fd, NULL);
	g_autoptr(GByteArray) a = g_byte_array_new();

	g_assert_nonnull(t);
	g_assert_cmpuint(t->symbols.cnt, >, 50);
	elf_table_write(t, a);
	struct elf_table *other = elf_table_from_bytes(a->data, a->len);

	g_assert_nonnull(other);
	g_assert_cmpuint(other->symbols.cnt, ==, t->symbols.cnt);
	g_assert_cmpuint(other->plt.cnt, ==, t->plt.cnt);
	g_assert_cmpuint(elf_table_memory_bytes(other), <, elf_table_memory_bytes(t));
	for (size_t i = 0; i < t->symbols.cnt; i++) {
		uint64_t start = 0, other_start = 0, at = t->symbols.entries[i].addr;

		g_assert_cmpstr(elf_table_find(t, at, &start), ==, elf_table_find(other, at, &other_start));
		g_assert_cmpuint(start, ==, other_start);
	}
	g_assert_cmpuint(t->segment_cnt, ==, other->segment_cnt);
	g_assert_cmpmem(t->segments, t->segment_cnt * sizeof(*t->segments), other->segments, other->segment_cnt * sizeof(*t->segments));
	g_assert_cmpmem(t->build_id, t->build_id_bytes, other->build_id, other->build_id_bytes);
	g_assert_cmpint(t->has_full_symbols, ==, other->has_full_symbols);
	elf_table_free(t);
	elf_table_free(other);
	close(fd);
}

static const struct symtab_entry *variable_at(const struct data_file *f, uint64_t addr)
{
	return symtab_find(&f->variables, addr);
}

int data_file_of_this_test[7] = { 1 };	/* what is to be found */

static void variables(void)
{
	int fd = own_program();
	struct data_file f, other;
	g_autoptr(GByteArray) a = g_byte_array_new(), same = g_byte_array_new();
	const char *found = NULL;

	g_assert_true(data_file_read(fd, &f));
	data_file_write(&f, a);
	g_assert_true(data_file_from_bytes(a->data, a->len, &other));
	g_assert_cmpuint(f.variables.cnt, ==, other.variables.cnt);
	g_assert_cmpint(f.has_all, ==, other.has_all);
	for (size_t i = 0; i < f.variables.cnt; i++) {
		const struct symtab_entry *mine = &f.variables.entries[i], *its = variable_at(&other, mine->addr);

		g_assert_nonnull(its);
		g_assert_cmpstr(symtab_name(&other.variables, its), ==, symtab_name(&f.variables, variable_at(&f, mine->addr)));
		if (strcmp(symtab_name(&f.variables, mine), "data_file_of_this_test") == 0)
			found = symtab_name(&f.variables, mine);
	}
	g_assert_nonnull(found);
	g_assert_cmpmem(f.segments, f.segment_cnt * sizeof(*f.segments), other.segments, other.segment_cnt * sizeof(*f.segments));
	g_assert_true(data_file_parse(fd, NULL, 0, same));
	g_assert_cmpmem(a->data, a->len, same->data, same->len);
	data_file_clear(&f);
	data_file_clear(&other);
	close(fd);
}

static void unwinding(void)
{
	int fd = own_program();
	struct unwind_table *t = unwind_table_build(fd, NULL), *other;
	g_autoptr(GByteArray) a = g_byte_array_new();

	g_assert_nonnull(t);
	unwind_table_write(t, a);
	other = unwind_table_from_bytes(a->data, a->len);
	g_assert_nonnull(other);
	g_assert_cmpmem(t->rows, t->row_cnt * sizeof(*t->rows), other->rows, other->row_cnt * sizeof(*t->rows));
	g_assert_cmpmem(t->index, (t->page_cnt + 1) * sizeof(*t->index), other->index, (other->page_cnt + 1) * sizeof(*t->index));
	g_assert_cmpuint(t->base, ==, other->base);
	g_assert_cmpuint(t->stats.fde_cnt, ==, other->stats.fde_cnt);
	g_assert_cmpuint(t->stats.text_bytes, ==, other->stats.text_bytes);
	unwind_table_free(t);
	unwind_table_free(other);
	close(fd);
}

/* A few bytes changed, mostly of the numbers in front; or cut. */
static gsize damage(guint8 *bytes, gsize len)
{
	for (int i = g_test_rand_int_range(1, 4); i > 0; i--) {
		gsize at = (gsize)g_test_rand_int_range(0, g_test_rand_bit() ? 160 : (gint)len);

		bytes[at] = (guint8)g_test_rand_int_range(0, 256);
	}
	return g_test_rand_int_range(0, 4) ? len : (gsize)g_test_rand_int_range(0, (gint)len);
}

/* Reads what is damaged, as far as it can be; true: it was taken.  whole: how long it was. */
typedef bool (*take_fn)(const guint8 *bytes, gsize len, gsize whole);

/* Some are refused, and those that are not are read without harm. */
static void take_damaged(parser_fn parse, take_fn take)
{
	int fd = own_program();
	g_autoptr(GByteArray) a = g_byte_array_new();
	unsigned taken = 0;

	g_assert_true(parse(fd, NULL, 0, a));
	for (unsigned i = 0; i < DAMAGES; i++) {
		g_autofree guint8 *bytes = g_memdup2(a->data, a->len);

		taken += take(bytes, damage(bytes, a->len), a->len);
	}
	g_assert_cmpuint(taken, <, DAMAGES);
	close(fd);
}

static bool take_symbols(const guint8 *bytes, gsize len, gsize whole)
{
	struct elf_table *t = elf_table_from_bytes(bytes, len);
	bool is_taken = t;
	uint64_t start, vaddr;

	for (uint64_t at = 0; t && at < 1 << 20; at += 1 << 12) {
		const char *name = elf_table_find(t, at, &start);

		g_assert_true(!name || strlen(name) < whole);
		elf_table_vaddr(t, at, &vaddr);
	}
	elf_table_free(t);
	return is_taken;
}

static void damaged_symbols(void)
{
	take_damaged(elf_table_parse, take_symbols);
}

static bool take_variables(const guint8 *bytes, gsize len, gsize whole)
{
	struct data_file f;
	bool is_taken = data_file_from_bytes(bytes, len, &f);

	for (uint64_t at = 0; at < 1 << 20; at += 1 << 12) {
		const struct symtab_entry *e = variable_at(&f, at);

		g_assert_true(!e || strlen(symtab_name(&f.variables, e)) < whole);
	}
	data_file_clear(&f);
	return is_taken;
}

static void damaged_variables(void)
{
	take_damaged(data_file_parse, take_variables);
}

static bool take_unwinding(const guint8 *bytes, gsize len, gsize whole)
{
	struct unwind_table *t = unwind_table_from_bytes(bytes, len);
	bool is_taken = t;

	for (uint64_t at = 0; t && at < 1 << 20; at += 1 << 10)
		unwind_table_find(t, t->base + at);
	unwind_table_free(t);
	return is_taken;
}

static void damaged_unwinding(void)
{
	take_damaged(unwind_table_parse, take_unwinding);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/table-bytes/symbols", symbols);
	g_test_add_func("/table-bytes/variables", variables);
	g_test_add_func("/table-bytes/damaged-variables", damaged_variables);
	g_test_add_func("/table-bytes/unwinding", unwinding);
	g_test_add_func("/table-bytes/damaged-symbols", damaged_symbols);
	g_test_add_func("/table-bytes/damaged-unwinding", damaged_unwinding);
	return g_test_run();
}
