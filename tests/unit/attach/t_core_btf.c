/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* The cut of the kernel's types against all of them, both as libbpf reads them. */
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <glib.h>
#include <linux/btf.h>

#include "attach/kernel_btf.h"

static char *object_path;

/*
 * A kernel's types, of which "outer" is asked for: 1 int, 2 other { int }, 3 a pointer to it, 4 inner { int },
 * 5 inner[3], 6 outer { inner; inner[3]; other *; int : 3 }, 7 const inner, 8 outer { const inner }, an enum
 * "colour", a function and its type.
 */
static struct btf *kernel(void)
{
	struct btf *btf = btf__new_empty();
	int i = btf__add_int(btf, "int", 4, BTF_INT_SIGNED);

	btf__add_struct(btf, "other", 4);
	btf__add_field(btf, "x", i, 0, 0);
	int pointer = btf__add_ptr(btf, 2);
	int inner = btf__add_struct(btf, "inner", 4);
	btf__add_field(btf, "x", i, 0, 0);
	int array = btf__add_array(btf, i, inner, 3);
	btf__add_struct(btf, "outer", 32);
	btf__add_field(btf, "one", inner, 0, 0);
	btf__add_field(btf, "three", array, 32, 0);
	btf__add_field(btf, "other", pointer, 128, 0);
	btf__add_field(btf, "bits", i, 192, 3);
	int constant = btf__add_const(btf, inner);
	btf__add_struct(btf, "outer", 4);
	btf__add_field(btf, "one", constant, 0, 0);
	btf__add_enum(btf, "colour", 4);
	btf__add_enum_value(btf, "RED", 7);
	int prototype = btf__add_func_proto(btf, i);
	g_assert_cmpint(btf__add_func(btf, "outer", BTF_FUNC_GLOBAL, prototype), >, 0);
	return btf;
}

static GHashTable *names_of(const char *first, const char *second)
{
	GHashTable *names = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);

	g_hash_table_add(names, g_strdup(first));
	g_hash_table_add(names, g_strdup(second));
	return names;
}

static GByteArray *cut_bytes(const void *bytes, guint32 len_bytes, GHashTable *names)
{
	struct kernel_btf all;
	GByteArray *cut;

	if (kernel_btf_from(bytes, len_bytes, &all))
		return NULL;
	cut = core_btf_cut(&all, names);
	kernel_btf_close(&all);
	return cut;
}

/* A type by value, as text: what it is, and its members with their places. */
static void tell(GString *s, const struct btf *btf, __u32 id, __u32 bit)
{
	const struct btf_type *t = btf__type_by_id(btf, id);

	g_string_append_printf(s, "%u@%u:%s", btf_kind(t), bit, btf__name_by_offset(btf, t->name_off));
	switch (btf_kind(t)) {
	case BTF_KIND_STRUCT: case BTF_KIND_UNION:
		g_string_append_printf(s, "/%u{", t->size);
		for (__u32 i = 0; i < btf_vlen(t); i++) {
			g_string_append_printf(s, " %s:%u=", btf__name_by_offset(btf, btf_members(t)[i].name_off),
					       btf_member_bitfield_size(t, i));
			tell(s, btf, btf_members(t)[i].type, bit + btf_member_bit_offset(t, i));
		}
		g_string_append_c(s, '}');
		break;
	case BTF_KIND_ARRAY:
		g_string_append_printf(s, "[%u]", btf_array(t)->nelems);
		tell(s, btf, btf_array(t)->type, bit);
		break;
	case BTF_KIND_TYPEDEF: case BTF_KIND_VOLATILE: case BTF_KIND_CONST: case BTF_KIND_RESTRICT: case BTF_KIND_TYPE_TAG:
		tell(s, btf, t->type, bit);
		break;
	case BTF_KIND_ENUM:
		for (__u32 i = 0; i < btf_vlen(t); i++)
			g_string_append_printf(s, " %s=%d", btf__name_by_offset(btf, btf_enum(t)[i].name_off), btf_enum(t)[i].val);
		break;
	case BTF_KIND_INT: case BTF_KIND_FLOAT: case BTF_KIND_ENUM64:
		g_string_append_printf(s, "/%u", t->size);
		break;
	default:
		break;
	}
}

/* {what a type of that name is like: how many are so} */
static GHashTable *all_of(const struct btf *btf, const char *name)
{
	GHashTable *found = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);

	for (__u32 id = 1; id < btf__type_cnt(btf); id++) {
		const struct btf_type *t = btf__type_by_id(btf, id);

		if ((btf_is_composite(t) || btf_is_any_enum(t) || btf_is_typedef(t)) &&
		    g_str_equal(btf__name_by_offset(btf, t->name_off), name)) {
			GString *s = g_string_new(NULL);

			tell(s, btf, id, 0);
			g_hash_table_replace(found, s->str, GUINT_TO_POINTER(GPOINTER_TO_UINT(g_hash_table_lookup(found, s->str)) + 1));
			g_string_free(s, FALSE);
		}
	}
	return found;
}

static guint compare(const struct btf *all, const struct btf *cut, const char *name)
{
	g_autoptr(GHashTable) theirs = all_of(all, name), ours = all_of(cut, name);
	GHashTableIter iter;
	gpointer text, cnt;

	g_assert_cmpuint(g_hash_table_size(ours), ==, g_hash_table_size(theirs));
	g_hash_table_iter_init(&iter, theirs);
	while (g_hash_table_iter_next(&iter, &text, &cnt))
		if (g_hash_table_lookup(ours, text) != cnt)
			g_error("cut otherwise: %s", (const char *)text);
	return g_hash_table_size(theirs);
}

static void test_cut(void)
{
	struct btf *all = kernel();
	__u32 bytes;
	const void *data = btf__raw_data(all, &bytes);
	g_autoptr(GHashTable) names = names_of("outer", "colour");
	g_autoptr(GByteArray) cut = cut_bytes(data, bytes, names);
	struct btf *small = btf__new(cut->data, cut->len);

	g_assert_cmpint(libbpf_get_error(small), ==, 0);
	g_assert_cmpuint(compare(all, small, "outer"), ==, 2);
	g_assert_cmpuint(compare(all, small, "colour"), ==, 1);
	g_assert_cmpint(btf__find_by_name(small, "other"), ==, -ENOENT);	/* behind a pointer */
	g_assert_cmpint(btf__find_by_name_kind(small, "outer", BTF_KIND_FUNC), ==, -ENOENT);
	/* what a pointer points to is nothing */
	for (__u32 id = 1; id < btf__type_cnt(small); id++)
		if (btf_is_ptr(btf__type_by_id(small, id)))
			g_assert_cmpuint(btf__type_by_id(small, id)->type, ==, 0);
	btf__free(small);
	btf__free(all);
}

/* With any byte changed: a cut, or none. */
static void test_damaged(void)
{
	struct btf *all = kernel();
	__u32 bytes;
	const void *data = btf__raw_data(all, &bytes);
	g_autoptr(GHashTable) names = names_of("outer", "colour");
	guint cut_cnt = 0;

	for (guint at = 0; at < bytes; at++)
		for (guint bit = 0; bit < 8; bit++) {
			g_autofree uint8_t *copy = g_memdup2(data, bytes);

			copy[at] ^= (uint8_t)(1 << bit);
			g_autoptr(GByteArray) cut = cut_bytes(copy, bytes, names);
			cut_cnt += cut != NULL;
		}
	g_assert_cmpuint(cut_cnt, >, 0);
	btf__free(all);
}

static void test_names(void)
{
	g_autofree char *elf = NULL;
	gsize bytes;

	g_assert_true(g_file_get_contents(object_path, &elf, &bytes, NULL));
	g_autoptr(GHashTable) names = core_btf_names(elf, bytes);

	g_assert_true(g_hash_table_contains(names, "task_struct"));
	g_assert_true(g_hash_table_contains(names, "mm_struct"));
	g_assert_true(g_hash_table_contains(names, "bpf_func_id"));
	g_assert_false(g_hash_table_contains(names, "mm_struct___seqcount"));
	g_assert_null(core_btf_names(elf, bytes / 2));
	g_assert_null(core_btf_names("no object", 9));
}

/* The programs' own names in the running kernel. */
static void test_running_kernel(void)
{
	struct kernel_btf kernel_types;
	g_autofree char *elf = NULL;
	gsize bytes;
	guint found = 0;

	if (kernel_btf_open("/sys/kernel/btf/vmlinux", &kernel_types)) {
		g_test_skip("the kernel shows no type information that we know");
		return;
	}
	g_assert_true(g_file_get_contents(object_path, &elf, &bytes, NULL));
	g_autoptr(GHashTable) names = core_btf_names(elf, bytes);
	g_autoptr(GByteArray) cut = core_btf_cut(&kernel_types, names);
	struct btf *all = btf__parse_raw("/sys/kernel/btf/vmlinux"), *small = btf__new(cut->data, cut->len);
	GHashTableIter iter;
	gpointer name;

	g_assert_cmpint(libbpf_get_error(all), ==, 0);
	g_assert_cmpint(libbpf_get_error(small), ==, 0);
	g_hash_table_iter_init(&iter, names);
	while (g_hash_table_iter_next(&iter, &name, NULL))
		found += compare(all, small, name);
	g_assert_cmpuint(found, >=, 15);
	g_test_message("%u types in %u bytes, of %u in %zu", btf__type_cnt(small), cut->len, btf__type_cnt(all), kernel_types.memory_bytes);
	g_assert_cmpint(kernel_btf_id(&kernel_types, "task_struct", BTF_KIND_STRUCT), ==,
			btf__find_by_name_kind(all, "task_struct", BTF_KIND_STRUCT));
	btf__free(small);
	btf__free(all);
	kernel_btf_close(&kernel_types);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	object_path = argv[1];
	g_test_add_func("/core-btf/cut", test_cut);
	g_test_add_func("/core-btf/damaged", test_damaged);
	g_test_add_func("/core-btf/names", test_names);
	g_test_add_func("/core-btf/running-kernel", test_running_kernel);
	return g_test_run();
}
