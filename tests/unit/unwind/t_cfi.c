/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Every operation of a frame program, by hand: the rule it leads to, place by place. */
#include <glib.h>
#include <string.h>

#include "base/cursor.h"
#include "elf_image.h"
#include "unwind/table.h"

struct program_case {
	const char *name;
	const char *bytes;
	size_t cnt;
	const char *rows;	/* "OFFSET RULE; ..." of all rows up to the end of the FDE, 0x100 */
};

#define CASE(name, bytes, rows) { name, bytes, sizeof(bytes) - 1, rows }

static const struct program_case cases[] = {
	CASE("none", "", "0 sp+8"),
	CASE("nop", "\x00\x00", "0 sp+8"),
	/* push %rbp; mov %rsp,%rbp; ... leave; ret */
	CASE("frame_pointer", "\x41\x0e\x10\x86\x02\x43\x0d\x06\x60\x0c\x07\x08",
	     "0 sp+8; 1 sp+16 bp=cfa-16; 4 bp+16 bp=cfa-16; 24 sp+8 bp=cfa-16"),
	CASE("advance_loc1", "\x02\x80\x0e\x10", "0 sp+8; 80 sp+16"),
	CASE("advance_loc2", "\x03\x90\x00\x0e\x10", "0 sp+8; 90 sp+16"),
	CASE("advance_loc4", "\x04\xa0\x00\x00\x00\x0e\x10", "0 sp+8; a0 sp+16"),
	CASE("advance_zero", "\x40\x0e\x10\x40\x0e\x18", "0 sp+24"),
	CASE("advance_past_end", "\x04\x00\x02\x00\x00\x0e\x10", "0 sp+8"),
	CASE("advance_to_end", "\x04\x00\x01\x00\x00\x0e\x10", "0 sp+8"),
	CASE("def_cfa", "\x41\x0c\x06\x20", "0 sp+8; 1 bp+32"),
	CASE("def_cfa_sf", "\x41\x12\x06\x7e", "0 sp+8; 1 bp+16"),
	CASE("def_cfa_offset_sf", "\x41\x13\x7c", "0 sp+8; 1 sp+32"),
	CASE("def_cfa_register", "\x41\x0d\x0a", "0 sp+8; 1 r10+8"),
	CASE("frame_of_200k", "\x41\x0e\xc0\x9a\x0c", "0 sp+8; 1 sp+200000"),
	CASE("frame_of_300k", "\x41\x0e\xe0\xa7\x12\x41\x0e\x08", "0 sp+8; 1 complex; 2 sp+8"),
	CASE("frame_uneven", "\x41\x0e\x0c", "0 sp+8; 1 complex"),
	CASE("frame_negative", "\x41\x13\x01", "0 sp+8; 1 sp-8"),
	CASE("offset_other", "\x41\x83\x02\x8c\x03", "0 sp+8"),
	CASE("offset_extended", "\x41\x05\x06\x04", "0 sp+8; 1 sp+8 bp=cfa-32"),
	CASE("offset_extended_sf", "\x41\x11\x06\x04", "0 sp+8; 1 sp+8 bp=cfa-32"),
	CASE("offset_far", "\x41\x86\x80\x04\x41\x86\x81\x04", "0 sp+8; 1 sp+8 bp=cfa-4096; 2 sp+8 bp lost"),
	CASE("negative_offset", "\x41\x2f\x06\x02", "0 sp+8; 1 sp+8 bp=cfa+16"),
	CASE("restore", "\x41\x86\x02\x41\xc6", "0 sp+8; 1 sp+8 bp=cfa-16; 2 sp+8"),
	CASE("restore_extended", "\x41\x86\x02\x41\x06\x06", "0 sp+8; 1 sp+8 bp=cfa-16; 2 sp+8"),
	CASE("restore_ra", "\x41\x07\x10\x41\xd0", "0 sp+8; 1 end; 2 sp+8"),
	CASE("undefined_ra", "\x07\x10", "0 end"),
	CASE("undefined_bp", "\x41\x07\x06", "0 sp+8; 1 sp+8 bp lost"),
	CASE("same_value_bp", "\x86\x02\x41\x08\x06", "0 sp+8 bp=cfa-16; 1 sp+8"),
	CASE("same_value_ra", "\x41\x08\x10", "0 sp+8; 1 complex"),
	CASE("register_ra", "\x41\x0e\x00\x09\x10\x05", "0 sp+8; 1 sp+0 ra=rdi"),
	CASE("register_ra_by_bp", "\x41\x0d\x06\x09\x10\x05", "0 sp+8; 1 complex"),
	CASE("register_bp", "\x41\x09\x06\x03", "0 sp+8; 1 sp+8 bp lost"),
	CASE("register_sp", "\x41\x09\x07\x03", "0 sp+8; 1 complex"),
	CASE("offset_sp", "\x41\x87\x03", "0 sp+8; 1 complex"),
	CASE("offset_ra_elsewhere", "\x41\x90\x02", "0 sp+8; 1 complex"),
	CASE("val_offset_bp", "\x41\x14\x06\x02", "0 sp+8; 1 sp+8 bp lost"),
	CASE("val_offset_sf_sp", "\x41\x15\x07\x02", "0 sp+8; 1 complex"),
	CASE("val_expression_bp", "\x41\x16\x06\x02\x77\x08", "0 sp+8; 1 sp+8 bp lost"),
	CASE("remember_restore", "\x41\x0e\x10\x86\x02\x0a\x41\x0e\x08\xc6\x41\x0b",
	     "0 sp+8; 1 sp+16 bp=cfa-16; 2 sp+8; 3 sp+16 bp=cfa-16"),
	CASE("remember_nested", "\x0a\x41\x0e\x10\x0a\x41\x0e\x18\x41\x0b\x41\x0b",
	     "0 sp+8; 1 sp+16; 2 sp+24; 3 sp+16; 4 sp+8"),
	CASE("restore_unremembered", "\x41\x0e\x10\x41\x0b\x41\x0e\x18", "0 sp+8; 1 sp+16; 2 complex"),
	CASE("args_size", "\x41\x2e\x20\x41\x0e\x10", "0 sp+8; 2 sp+16"),
	CASE("unknown_op", "\x41\x0e\x10\x41\x3f\x41\x0e\x18", "0 sp+8; 1 sp+16; 2 complex"),
	CASE("unknown_op_first", "\x3f", "0 complex"),
	CASE("cut_operand", "\x41\x0e\x10\x41\x04\x01", "0 sp+8; 1 sp+16; 2 complex"),
	CASE("cut_expression", "\x41\x0f\x20\x77\x08", "0 sp+8; 1 complex"),
	CASE("leb_overflow", "\x41\x0e\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", "0 sp+8; 1 complex"),
	CASE("set_loc_far", "\x41\x0e\x10\x01\x00\x00\x00\x80\x0e\x18", "0 sp+8; 1 sp+16"),
	/* Expressions of the CFA. */
	CASE("plt", "\x0e\x10\x46\x0e\x18\x4a\x0f\x0b\x77\x08\x80\x00\x3f\x1a\x3b\x2a\x33\x24\x22",
	     "0 sp+16; 6 sp+24; 10 plt 8,11"),
	CASE("plt_ibt", "\x0f\x0b\x77\x08\x80\x00\x3f\x1a\x39\x2a\x33\x24\x22", "0 plt 8,9"),
	CASE("not_plt", "\x0f\x0b\x77\x08\x80\x00\x3f\x1a\x39\x2a\x34\x24\x22", "0 complex"),
	CASE("expr_breg", "\x0f\x02\x77\x20", "0 sp+32"),
	CASE("expr_deref_bp", "\x0f\x03\x76\x78\x06", "0 [bp-8]+0"),
	CASE("expr_deref_sp_plus", "\x0f\x06\x77\x98\x01\x06\x23\x08", "0 [sp+152]+8"),
	CASE("expr_deref_uneven", "\x0f\x03\x76\x79\x06", "0 complex"),
	CASE("expr_deref_r10", "\x0f\x03\x7a\x78\x06", "0 complex"),
	CASE("expr_deref_twice", "\x0f\x04\x77\x08\x06\x06", "0 complex"),
	CASE("expr_plus_big", "\x0f\x06\x77\x08\x06\x23\x80\x01", "0 complex"),
	CASE("expr_empty", "\x0f\x00", "0 complex"),
	/* gcc's realigned stack: lea 8(%rsp),%r10; and; push -8(%r10); push %rbp; mov %rsp,%rbp; push %r10 */
	CASE("realigned", "\x45\x0c\x0a\x00\x4d\x10\x06\x02\x76\x00\x44\x0f\x03\x76\x78\x06",
	     "0 sp+8; 5 r10+0; 12 r10+0 bp=bp+0; 16 [bp-8]+0 bp=bp+0"),
	CASE("bp_by_sp", "\x10\x06\x02\x77\x08", "0 sp+8 bp lost"),
	/* glibc's __restore_rt. */
	CASE("signal", "\x0f\x04\x77\xa0\x01\x06\x10\x06\x03\x77\xf8\x00\x10\x10\x03\x77\xa8\x01", "0 signal+0"),
	CASE("signal_moved", "\x0f\x04\x77\xa8\x01\x06\x10\x06\x03\x77\x80\x01\x10\x10\x03\x77\xb0\x01", "0 signal+8"),
	CASE("signal_other_layout", "\x0f\x04\x77\xa8\x01\x06\x10\x06\x03\x77\xf8\x00\x10\x10\x03\x77\xb0\x01",
	     "0 complex"),
};

/* The rows below `bytes`, in hexadecimal and words. */
static char *rows_text(const struct unwind_table *t, uint32_t bytes)
{
	GString *s = g_string_new(NULL);

	for (uint32_t i = 0; i < t->row_cnt && t->rows[i].pc < bytes; i++) {
		g_autofree char *rule = rule_text(t->rows[i].rule);

		g_string_append_printf(s, "%s%x %s", i ? "; " : "", t->rows[i].pc, rule);
	}
	return g_string_free(s, FALSE);
}

static struct unwind_table *table_of(GByteArray *frame)
{
	g_autoptr(GByteArray) image = image_of(IMAGE_SECTION, frame, NULL);
	g_autoptr(GError) error = NULL;
	struct unwind_table *t = unwind_table_build_memory(image->data, image->len, &error);

	g_assert_no_error(error);
	return t;
}

static void check_rows(GByteArray *frame, const char *rows)
{
	struct unwind_table *t = table_of(frame);
	g_autofree char *got = rows_text(t, 0x100);

	g_assert_cmpstr(got, ==, rows);
	g_assert_cmpuint(unwind_table_find(t, IMAGE_TEXT + 0x100), ==, 0);
	unwind_table_free(t);
}

static void test_program(const void *data)
{
	const struct program_case *c = data;
	g_autoptr(GByteArray) frame = g_byte_array_new();
	uint32_t cie = put_cie(frame);

	put_fde(frame, cie, 0, 0x100, c->bytes, c->cnt);
	check_rows(frame, c->rows);
}

static void test_code_align(void)
{
	g_autoptr(GByteArray) frame = g_byte_array_new();
	uint32_t cie = put_cie_of(frame, "zR", "\x1b", 1, 4, "\x0c\x07\x08\x90\x01", 5);

	put_fde(frame, cie, 0, 0x100, "\x43\x0e\x10\x02\x10\x0e\x18", 7);
	check_rows(frame, "0 sp+8; c sp+16; 4c sp+24");
}

/* The address is relative to the place where it stands: byte 1 of the program, or 2 behind an advance by 0x30. */
static void check_set_loc(unsigned skip, uint32_t to, const char *rows)
{
	g_autoptr(GByteArray) frame = g_byte_array_new();
	uint32_t cie = put_cie(frame), at = frame->len + 17 + skip + 1;
	uint32_t delta = IMAGE_TEXT + to - (IMAGE_FRAME + at);
	const uint8_t program[8] = { 0x70, 0x01, (uint8_t)delta, (uint8_t)(delta >> 8), (uint8_t)(delta >> 16),
				     (uint8_t)(delta >> 24), 0x0e, 0x10 };

	put_fde(frame, cie, 0, 0x100, (const char *)program + 1 - skip, sizeof(program) - 1 + skip);
	check_rows(frame, rows);
}

static void test_set_loc(void)
{
	check_set_loc(0, 0x20, "0 sp+8; 20 sp+16");
	check_set_loc(1, 0x40, "0 sp+8; 40 sp+16");
	check_set_loc(1, 0x30, "0 sp+8; 30 sp+16");
	check_set_loc(1, 0x2f, "0 sp+8; 30 complex");
}

/* Personality, language data and signal letters before and after the pointer encoding. */
static void test_augmentations(void)
{
	static const struct {
		const char *letters, *data;
		size_t bytes;
		bool ok;
	} augmentations[] = {
		{ "zR", "\x1b", 1, true },
		{ "zPLR", "\x9b\1\2\3\4\x1b\x1b", 7, true },
		{ "zRS", "\x1b", 1, true },
		{ "zRSB", "\x1b", 1, true },
		{ "zPR", "\xff\x1b", 2, true },
		{ "zQR", "\x1b\x1b", 2, false },
		{ "zPR", "\x57\x1b", 2, false },
		{ "zR", "", 0, false },
		{ "zR", "\x9b", 1, false },	/* indirect */
		{ "zR", "\x2b", 1, false },	/* relative to the text */
		{ "zR", "\x3b", 1, false },	/* relative to data: which? */
		{ "zR", "\x50", 1, false },	/* aligned */
		{ "zR", "\xff", 1, false },	/* omitted */
		{ "R", "", 0, false },
		{ "eh", "", 0, false },
	};

	for (size_t i = 0; i < G_N_ELEMENTS(augmentations); i++) {
		g_autoptr(GByteArray) frame = g_byte_array_new();
		uint32_t good = put_cie(frame), cie;
		struct unwind_table *t;

		cie = put_cie_of(frame, augmentations[i].letters, augmentations[i].data, augmentations[i].bytes, 1,
				 "\x0c\x07\x08\x90\x01", 5);
		put_fde(frame, good, 0x200, 0x10, "", 0);
		put_fde(frame, cie, 0, 0x100, "\x41\x0e\x10", 3);
		t = table_of(frame);
		g_test_message("%s", augmentations[i].letters);
		g_assert_cmpuint(unwind_table_find(t, IMAGE_TEXT + 1) != 0, ==, augmentations[i].ok);
		g_assert_cmpuint(t->stats.fde_bad_cnt != 0, ==, !augmentations[i].ok);
		unwind_table_free(t);
	}
}

/* What a CIE begins with holds in each of its FDEs, and one it cannot say makes all of them too complex. */
static void test_initial(void)
{
	g_autoptr(GByteArray) frame = g_byte_array_new();
	uint32_t cie = put_cie_of(frame, "zR", "\x1b", 1, 1, "\x0c\x07\x10\x90\x01\x86\x02", 7);
	uint32_t bad = put_cie_of(frame, "zR", "\x1b", 1, 1, "\x0c\x07\x08\x90\x01\x41", 6);
	struct unwind_table *t;
	g_autofree char *got = NULL;

	put_fde(frame, cie, 0, 0x10, "\x41\x08\x06\x41\xc6", 5);
	put_fde(frame, bad, 0x10, 0x10, "", 0);
	t = table_of(frame);
	got = rows_text(t, 0x100);
	g_assert_cmpstr(got, ==, "0 sp+16 bp=cfa-16; 1 sp+16; 2 sp+16 bp=cfa-16; 10 complex; 20 gap");
	unwind_table_free(t);
}

static void test_remember_depth(void)
{
	g_autoptr(GByteArray) frame = g_byte_array_new();
	uint32_t cie = put_cie(frame);
	char program[100];

	memset(program, 0x0a, sizeof(program));
	put_fde(frame, cie, 0, 0x100, program, sizeof(program));
	check_rows(frame, "0 complex");
}

#define ULEB(bytes, value, is_bad)                                      \
	do {                                                            \
		struct cursor c = cursor_of(bytes, sizeof(bytes) - 1);  \
		g_assert_cmpuint(cursor_uleb(&c), ==, value);           \
		g_assert_cmpint(c.bad, ==, is_bad);                     \
	} while (0)
#define SLEB(bytes, value, is_bad)                                      \
	do {                                                            \
		struct cursor c = cursor_of(bytes, sizeof(bytes) - 1);  \
		g_assert_cmpint(cursor_sleb(&c), ==, value);            \
		g_assert_cmpint(c.bad, ==, is_bad);                     \
	} while (0)

static void test_leb(void)
{
	ULEB("\x00", 0, false);
	ULEB("\x7f", 127, false);
	ULEB("\xe5\x8e\x26", 624485, false);
	ULEB("\x80\x80\x00", 0, false);
	ULEB("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", UINT64_MAX, false);
	ULEB("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02", 0, true);
	ULEB("\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x00", 0, true);
	ULEB("\x80", 0, true);
	ULEB("", 0, true);
	SLEB("\x3f", 63, false);
	SLEB("\x40", -64, false);
	SLEB("\x78", -8, false);
	SLEB("\xff\x00", 127, false);
	SLEB("\x80\x7f", -128, false);
	SLEB("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x00", INT64_MAX, false);
	SLEB("\x80\x80\x80\x80\x80\x80\x80\x80\x80\x7f", INT64_MIN, false);
	SLEB("\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01", 0, true);
	SLEB("\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x00", 0, true);
	SLEB("\xc0", 0, true);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autofree char *name = g_strconcat("/unwind/cfi/", cases[i].name, NULL);

		g_test_add_data_func(name, &cases[i], test_program);
	}
	g_test_add_func("/unwind/cfi/code_align", test_code_align);
	g_test_add_func("/unwind/cfi/set_loc", test_set_loc);
	g_test_add_func("/unwind/cfi/augmentations", test_augmentations);
	g_test_add_func("/unwind/cfi/initial", test_initial);
	g_test_add_func("/unwind/cfi/remember_depth", test_remember_depth);
	g_test_add_func("/unwind/cfi/leb", test_leb);
	return g_test_run();
}
