/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Tables as a whole: gaps, overlaps, the index, the ways to find the section, damage, and bounds. */
#include <elf.h>
#include <fcntl.h>
#include <glib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "elf_image.h"
#include "unwind/table.h"

static struct unwind_table *build(enum image_kind kind, const GByteArray *frame, const GByteArray *more)
{
	g_autoptr(GByteArray) image = image_of(kind, frame, more);

	return unwind_table_build_memory(image->data, image->len, NULL);
}

static char *table_text(const struct unwind_table *t)
{
	GString *s = g_string_new(NULL);

	for (uint32_t i = 0; i < t->row_cnt; i++) {
		g_autofree char *rule = rule_text(t->rows[i].rule);

		g_string_append_printf(s, "%s%x %s", i ? "; " : "", t->rows[i].pc, rule);
	}
	return g_string_free(s, FALSE);
}

/* What abi/unwind_abi.h promises. */
static void check_invariants(const struct unwind_table *t)
{
	const struct unwind_row *last = &t->rows[t->row_cnt - 1];

	g_assert_cmpuint(t->rows[0].pc, ==, 0);
	g_assert_cmpuint(last->rule, ==, 0);
	for (uint32_t i = 1; i < t->row_cnt; i++) {
		g_assert_cmpuint(t->rows[i].pc, >, t->rows[i - 1].pc);
		g_assert_cmpuint(t->rows[i].rule, !=, t->rows[i - 1].rule);
	}
	g_assert_cmpuint((uint64_t)t->page_cnt << UNWIND_PAGE_SHIFT, >=, last->pc);
	for (uint32_t page = 0; page <= t->page_cnt; page++) {
		uint64_t start = (uint64_t)page << UNWIND_PAGE_SHIFT;
		uint32_t row = t->index[page];

		g_assert_cmpuint(row, <, t->row_cnt);
		g_assert_cmpuint(t->rows[row].pc, <=, start);
		if (row + 1 < t->row_cnt)
			g_assert_cmpuint(t->rows[row + 1].pc, >, start);
	}
}

/* Every look-up against a plain search. */
static void check_lookups(const struct unwind_table *t)
{
	uint32_t row = 0;

	for (uint64_t pc = 0; pc < IMAGE_TEXT_BYTES; pc++) {
		while (row + 1 < t->row_cnt && t->rows[row + 1].pc <= pc)
			row++;
		g_assert_cmpuint(unwind_table_find(t, t->base + pc), ==, t->rows[row].rule);
	}
	g_assert_null(unwind_table_row(t, t->base - 1));
	g_assert_null(unwind_table_row(t, t->base + IMAGE_TEXT_BYTES));
	g_assert_null(unwind_table_row(t, 0));
	g_assert_null(unwind_table_row(t, UINT64_MAX));
}

static void check_table(struct unwind_table *t, const char *rows)
{
	g_autofree char *got = NULL;

	g_assert_nonnull(t);
	got = table_text(t);
	g_assert_cmpstr(got, ==, rows);
	check_invariants(t);
	check_lookups(t);
	unwind_table_free(t);
}

static void test_gaps(void)
{
	g_autoptr(GByteArray) frame = g_byte_array_new();
	uint32_t cie = put_cie(frame);

	put_fde(frame, cie, 0x10, 0x11, "\x41\x0e\x10", 3);
	put_fde(frame, cie, 0x30, 0x10, "\x0e\x18", 2);	/* padding of 15 before */
	put_fde(frame, cie, 0x50, 0x10, "\x0e\x18", 2);	/* 16 are a gap */
	put_fde(frame, cie, 0x60, 0x10, "\x0e\x18", 2);	/* the same again: no row */
	check_table(build(IMAGE_SECTION, frame, NULL),
		    "0 gap; 10 sp+8; 11 sp+16; 30 sp+24; 40 gap; 50 sp+24; 70 gap");
}

static void test_stats(void)
{
	g_autoptr(GByteArray) frame = g_byte_array_new();
	uint32_t cie = put_cie(frame);
	struct unwind_table *t;

	put_fde(frame, cie, 0, 0x10, "\x41\x0e\x10", 3);
	put_fde(frame, cie, 0x10, 0x10, "\x0e\x10\x44\x0e\x0c", 5);
	put_fde(frame, cie, 0x100, 0x10, "", 0);
	put_fde(frame, cie, 0x108, 0x10, "", 0);
	put_fde(frame, cie, IMAGE_TEXT_BYTES + 0x1000, 0x10, "", 0);	/* outside the text */
	put_fde(frame, cie, 0x200, 0, "", 0);	/* dropped by the linker */
	t = build(IMAGE_SECTION, frame, NULL);
	g_assert_cmpuint(t->stats.fde_cnt, ==, 4);
	g_assert_cmpuint(t->stats.fde_bad_cnt, ==, 1);
	g_assert_cmpuint(t->stats.fde_overlap_cnt, ==, 1);
	g_assert_cmpuint(t->stats.complex_cnt, ==, 1);
	g_assert_cmpuint(t->stats.complex_bytes, ==, 12);
	g_assert_cmpuint(t->stats.gap_cnt, ==, 2);
	g_assert_cmpuint(t->stats.gap_bytes, ==, 0x100 - 0x20);
	g_assert_cmpuint(t->stats.text_bytes, ==, 0x118);
	g_assert_false(t->stats.is_cut);
	g_assert_cmpuint(t->row_cnt, ==, 6);
	g_assert_cmpuint(t->stats.row_raw_cnt, >, t->row_cnt);
	g_assert_cmpuint(t->base, ==, IMAGE_TEXT);
	unwind_table_free(t);
}

/* The first to start holds to its end; order in the section matters only between equal starts. */
static void test_overlaps(void)
{
	g_autoptr(GByteArray) frame = g_byte_array_new(), turned = g_byte_array_new();
	uint32_t cie = put_cie(frame);

	put_fde(frame, cie, 0, 0x20, "\x0e\x10", 2);
	put_fde(frame, cie, 0x8, 0x8, "\x0e\x18", 2);	/* inside */
	put_fde(frame, cie, 0x10, 0x20, "\x44\x0e\x20\x50\x0e\x28", 6);	/* hangs over */
	put_fde(frame, cie, 0x100, 0x10, "\x0e\x30", 2);
	put_fde(frame, cie, 0x100, 0x20, "\x0e\x38", 2);	/* the same start, later */
	check_table(build(IMAGE_SECTION, frame, NULL),
		    "0 sp+16; 20 sp+32; 24 sp+40; 30 gap; 100 sp+48; 110 sp+56; 120 gap");
	cie = put_cie(turned);
	put_fde(turned, cie, 0x100, 0x10, "\x0e\x30", 2);
	put_fde(turned, cie, 0x100, 0x20, "\x0e\x38", 2);
	put_fde(turned, cie, 0x10, 0x20, "\x44\x0e\x20\x50\x0e\x28", 6);
	put_fde(turned, cie, 0x8, 0x8, "\x0e\x18", 2);
	put_fde(turned, cie, 0, 0x20, "\x0e\x10", 2);
	check_table(build(IMAGE_SECTION, turned, NULL),
		    "0 sp+16; 20 sp+32; 24 sp+40; 30 gap; 100 sp+48; 110 sp+56; 120 gap");
}

static void test_pages(void)
{
	g_autoptr(GByteArray) frame = g_byte_array_new();
	uint32_t cie = put_cie(frame);

	put_fde(frame, cie, 0x800, 0x800, "\x0e\x10", 2);
	put_fde(frame, cie, 0x1000, 0x10, "\x41\x0e\x10\x41\x0e\x18", 6);	/* at a page's first byte */
	put_fde(frame, cie, 0x1010, 0x3000, "\x0e\x20", 2);	/* pages without a row */
	put_fde(frame, cie, 0x5000, 0xb000, "\x02\xff\x0e\x28", 4);	/* to the end of the text */
	check_table(build(IMAGE_SECTION, frame, NULL), "0 gap; 800 sp+16; 1000 sp+8; 1001 sp+16; 1002 sp+24; "
		    "1010 sp+32; 4010 gap; 5000 sp+8; 50ff sp+40; 10000 gap");
}

/* Sizes that lie: cut at the end of the segment. */
static void test_clipped(void)
{
	g_autoptr(GByteArray) frame = g_byte_array_new();
	uint32_t cie = put_cie(frame);

	put_fde(frame, cie, 0xff00, 0x7fffffff, "\x04\xff\xff\xff\x0f\x0e\x10", 7);
	check_table(build(IMAGE_SECTION, frame, NULL), "0 gap; ff00 sp+8; 10000 gap");
}

static void test_segment(void)
{
	g_autoptr(GByteArray) frame = g_byte_array_new();
	uint32_t cie = put_cie(frame);

	put_fde(frame, cie, 0, 0x10, "\x41\x0e\x10", 3);
	put_u32(frame, 0);
	put_fde(frame, cie, 0x10, 0x10, "\x41\x0e\x18", 3);	/* what follows the end is something else */
	check_table(build(IMAGE_SEGMENT, frame, NULL), "0 sp+8; 1 sp+16; 10 gap");
	check_table(build(IMAGE_SECTION, frame, NULL), "0 sp+8; 1 sp+16; 10 sp+8; 11 sp+24; 20 gap");
}

/* .debug_frame: absolute addresses, the CIE by its offset; version 4 here. */
static void put_debug(GByteArray *a, bool is_64, uint32_t start, unsigned cfa)
{
	static const char cie[] = "\x04\0\x08\0\x01\x78\x10\x0c\x07\x08\x90\x01\0\0\0\0";
	uint32_t at = a->len;

	if (is_64) {
		put_u32(a, UINT32_MAX);
		put_u64(a, 8 + 16);
		put_u64(a, UINT64_MAX);
	} else {
		put_u32(a, 4 + 16);
		put_u32(a, UINT32_MAX);
	}
	put_bytes(a, cie, 16);
	put_u32(a, 4 + 16 + 4);
	put_u32(a, at);
	put_u64(a, IMAGE_TEXT + start);
	put_u64(a, 0x10);
	put_u8(a, 0x41);
	put_u8(a, 0x0e);
	put_u8(a, cfa);
	put_u8(a, 0);
}

static void test_debug_frame(void)
{
	g_autoptr(GByteArray) frame = g_byte_array_new(), more = g_byte_array_new();
	uint32_t cie;

	put_debug(frame, false, 0, 0x10);
	put_debug(frame, true, 0x10, 0x18);
	check_table(build(IMAGE_DEBUG, frame, NULL), "0 sp+8; 1 sp+16; 10 sp+8; 11 sp+24; 20 gap");
	/* Beside an .eh_frame it adds what is missing there, and only that. */
	g_byte_array_set_size(frame, 0);
	cie = put_cie(frame);
	put_fde(frame, cie, 0x10, 0x10, "\x41\x0e\x20", 3);
	put_debug(more, false, 0, 0x10);
	put_debug(more, false, 0x10, 0x18);
	check_table(build(IMAGE_SECTION, frame, more), "0 sp+8; 1 sp+16; 10 sp+8; 11 sp+32; 20 gap");
}

/* CIE pointers forwards, which only .debug_frame can have, into another entry, at an FDE, and to nowhere. */
static void test_cie_pointers(void)
{
	g_autoptr(GByteArray) frame = g_byte_array_new(), turned = g_byte_array_new();
	struct unwind_table *t;
	uint32_t cie;

	put_fde(frame, 0x14, 0, 0x10, "\x0e\x10", 2);
	g_assert_cmpuint(frame->len, ==, 0x14);
	cie = put_cie(frame);
	put_fde(frame, cie, 0x10, 0x10, "\x0e\x18", 2);
	put_fde(frame, cie + 4, 0x20, 0x10, "\x0e\x20", 2);
	put_fde(frame, 0, 0x30, 0x10, "\x0e\x28", 2);
	put_fde(frame, 0x40000000, 0x40, 0x10, "\x0e\x30", 2);
	t = build(IMAGE_SECTION, frame, NULL);
	g_assert_cmpuint(t->stats.fde_cnt, ==, 1);
	g_assert_cmpuint(t->stats.fde_bad_cnt, ==, 4);
	check_table(t, "0 gap; 10 sp+24; 20 gap");
	g_byte_array_set_size(frame, 0);
	put_debug(frame, false, 0, 0x10);
	g_byte_array_append(turned, frame->data + 24, frame->len - 24);
	g_byte_array_append(turned, frame->data, 24);
	turned->data[4] = (uint8_t)(turned->len - 24);
	check_table(build(IMAGE_DEBUG, turned, NULL), "0 sp+8; 1 sp+16; 10 gap");
}

static void check_error(const GByteArray *image, const char *words)
{
	g_autoptr(GError) error = NULL;

	g_assert_null(unwind_table_build_memory(image->data, image->len, &error));
	g_assert_nonnull(error);
	g_assert_nonnull(strstr(error->message, words));
}

static void test_errors(void)
{
	g_autoptr(GByteArray) frame = g_byte_array_new();
	g_autoptr(GByteArray) image = NULL;
	uint32_t cie = put_cie(frame);
	Elf64_Ehdr *eh;

	image = image_of(IMAGE_SECTION, frame, NULL);	/* no FDE */
	check_error(image, "no call frame information");
	put_fde(frame, cie, 0, 0x10, "", 0);
	g_byte_array_unref(image);
	image = image_of(IMAGE_SECTION, frame, NULL);
	eh = (Elf64_Ehdr *)(void *)image->data;
	eh->e_machine = EM_RISCV;
	check_error(image, "machine");
	eh->e_machine = EM_X86_64;
	eh->e_ident[EI_DATA] = ELFDATA2MSB;
	check_error(image, "");
	eh->e_ident[EI_DATA] = ELFDATA2LSB;
	eh->e_type = ET_REL;
	check_error(image, "no ELF program");
	eh->e_type = ET_DYN;
	eh->e_phnum = 0;
	check_error(image, "no executable segment");
	g_byte_array_set_size(image, 10);
	check_error(image, "no ELF program");
	g_byte_array_set_size(image, 0);
	check_error(image, "no ELF program");
}

/* Every cut and every flipped byte of a good file: a table that holds its promises, or an error. */
static void test_damage(void)
{
	g_autoptr(GByteArray) frame = g_byte_array_new();
	g_autoptr(GByteArray) image = NULL;
	uint32_t cie = put_cie(frame), built = 0;

	put_fde(frame, cie, 0, 0x100, "\x41\x0e\x10\x86\x02\x43\x0d\x06\x0a\x60\x0c\x07\x08\x41\x0b", 15);
	put_fde(frame, cie, 0x100, 0x100, "\x0f\x0b\x77\x08\x80\x00\x3f\x1a\x3b\x2a\x33\x24\x22", 13);
	for (int kind = IMAGE_SECTION; kind <= IMAGE_SEGMENT; kind++) {
		image = image_of((enum image_kind)kind, frame, NULL);
		for (guint i = 0; i < image->len * 4; i++) {
			static const uint8_t flips[] = { 0xff, 0x01, 0x80 };
			guint at = i / 4, cut = i % 4 == 3 ? at : image->len;
			g_autofree uint8_t *bytes = g_memdup2(image->data, MAX(cut, 1));
			struct unwind_table *t;

			if (i % 4 < 3)
				bytes[at] ^= flips[i % 4];
			t = unwind_table_build_memory(bytes, cut, NULL);
			if (t) {
				check_invariants(t);
				built++;
			}
			unwind_table_free(t);
		}
		g_clear_pointer(&image, g_byte_array_unref);
	}
	g_assert_cmpuint(built, >, 1000);
}

/* A program that asks for more rows than fit: the limit holds, and what is beyond is a gap. */
static void test_many_rows(void)
{
	g_autoptr(GByteArray) frame = g_byte_array_new(), program = g_byte_array_new();
	g_autoptr(GByteArray) image = NULL;
	uint32_t cie = put_cie(frame);
	struct unwind_table *t;
	Elf64_Phdr *ph;

	for (uint32_t i = 0; i < UNWIND_MAX_ROWS + 1000; i++)
		put_bytes(program, i % 2 ? "\x41\x0e\x10" : "\x41\x0e\x08", 3);
	put_fde(frame, cie, 0, UNWIND_MAX_ROWS * 2, (const char *)program->data, program->len);
	image = image_of(IMAGE_SECTION, frame, NULL);
	ph = (Elf64_Phdr *)(void *)(image->data + sizeof(Elf64_Ehdr));
	ph->p_memsz = UNWIND_MAX_ROWS * 2;
	/* The text must not lie over the frames in memory, which nobody checks, nor needs to. */
	t = unwind_table_build_memory(image->data, image->len, NULL);
	g_assert_nonnull(t);
	g_assert_true(t->stats.is_cut);
	g_assert_cmpuint(t->row_cnt, <=, UNWIND_MAX_ROWS);
	g_assert_cmpuint(t->row_cnt, >, UNWIND_MAX_ROWS - 10);
	check_invariants(t);
	g_assert_cmpuint(unwind_table_find(t, IMAGE_TEXT + UNWIND_MAX_ROWS + 500), ==, 0);
	unwind_table_free(t);
}

/* FDEs that all start in one place with long programs, each behind a CIE of its own: linear all the same. */
static void test_time(void)
{
	g_autoptr(GByteArray) frame = g_byte_array_new();
	char program[100];
	gint64 from_us;
	struct unwind_table *t;

	memset(program, 0x0a, 30);
	memset(program + 30, 0x0b, 30);
	memset(program + 60, 0x41, 40);
	for (unsigned i = 0; i < 100000; i++)
		put_fde(frame, put_cie(frame), 0, 0x1000 + i % 7, program, sizeof(program));
	from_us = g_get_monotonic_time();
	t = build(IMAGE_SECTION, frame, NULL);
	g_test_message("%u bytes took %" G_GINT64_FORMAT " us", frame->len, g_get_monotonic_time() - from_us);
	g_assert_cmpint(g_get_monotonic_time() - from_us, <, 5 * G_USEC_PER_SEC);
	g_assert_cmpuint(t->row_cnt, <, 10);
	unwind_table_free(t);
}

static void test_fd(void)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	g_autoptr(GError) error = NULL;
	struct unwind_table *t = unwind_table_build(fd, &error);

	g_assert_no_error(error);
	check_invariants(t);
	unwind_table_free(t);
	g_assert_cmpint(lseek(fd, 0, SEEK_SET), ==, 0);	/* still open */
	close(fd);
	fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	g_assert_null(unwind_table_build(fd, &error));
	g_assert_nonnull(error);
	close(fd);
}

static void test_vdso(void)
{
	const uint8_t *vdso = (const uint8_t *)getauxval(AT_SYSINFO_EHDR);
	struct unwind_table *t;

	if (!vdso) {
		g_test_skip("no vdso");
		return;
	}
	t = unwind_table_build_memory(vdso, 4096, NULL);	/* the least there is, with its program headers */
	if (!t)
		t = unwind_table_build_memory(vdso, 8192, NULL);
	g_assert_nonnull(t);
	check_invariants(t);
	g_assert_cmpuint(t->row_cnt, >, 10);
	g_assert_cmpuint(t->stats.complex_cnt, ==, 0);
	unwind_table_free(t);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/unwind/table/gaps", test_gaps);
	g_test_add_func("/unwind/table/stats", test_stats);
	g_test_add_func("/unwind/table/overlaps", test_overlaps);
	g_test_add_func("/unwind/table/pages", test_pages);
	g_test_add_func("/unwind/table/clipped", test_clipped);
	g_test_add_func("/unwind/table/segment", test_segment);
	g_test_add_func("/unwind/table/debug_frame", test_debug_frame);
	g_test_add_func("/unwind/table/cie_pointers", test_cie_pointers);
	g_test_add_func("/unwind/table/errors", test_errors);
	g_test_add_func("/unwind/table/damage", test_damage);
	g_test_add_func("/unwind/table/many_rows", test_many_rows);
	g_test_add_func("/unwind/table/time", test_time);
	g_test_add_func("/unwind/table/fd", test_fd);
	g_test_add_func("/unwind/table/vdso", test_vdso);
	return g_test_run();
}
