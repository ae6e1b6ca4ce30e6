/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Go's function table: rows, names and lines of both formats, from the tables that the fuzzer begins with. */
#include <elf.h>
#include <sys/mman.h>
#include <unistd.h>

#include "elf_image.h"
#include "go_image.h"
#include "symbolize/elf/functions.h"
#include "symbolize/elf/table.h"
#include "unwind/table.h"

static int image_of_machine(uint16_t machine, const char *name)
{
	g_autofree char *path = g_build_filename(GO_TABLES, name, NULL), *bytes = NULL;
	/* main.f has made its frame of 24 bytes: mov %rbp,16(%rsp) */
	static const uint8_t text[GO_TEXT_BYTES] = { [5] = 0x48, 0x89, 0x6c, 0x24, 0x10 };
	int fd = memfd_create("go", MFD_CLOEXEC);
	GByteArray *image;
	gsize size;

	g_assert_true(g_file_get_contents(path, &bytes, &size, NULL));
	image = go_image(machine, (const uint8_t *)bytes, size, text);
	g_assert_cmpint(write(fd, image->data, image->len), ==, image->len);
	g_byte_array_unref(image);
	return fd;
}

static int image_fd(const char *name)
{
	return image_of_machine(EM_X86_64, name);
}

struct row {
	uint32_t pc;
	const char *rule;
};

static void check_rows(int fd, const struct row *expected, size_t cnt)
{
	g_autoptr(GString) seen = g_string_new(NULL), wanted = g_string_new(NULL);
	struct unwind_table *t = unwind_table_build(fd, NULL);

	g_assert_nonnull(t);
	g_assert_cmphex(t->base, ==, GO_TEXT);
	for (uint32_t i = 0; i < t->row_cnt; i++) {
		g_autofree char *rule = rule_text(t->rows[i].rule);

		g_string_append_printf(seen, "%#x %s\n", t->rows[i].pc, rule);
	}
	for (size_t i = 0; i < cnt; i++)
		g_string_append_printf(wanted, "%#x %s\n", expected[i].pc, expected[i].rule);
	g_assert_cmpstr(seen->str, ==, wanted->str);
	unwind_table_free(t);
	close(fd);
}

static void test_rows(gconstpointer name)
{
	static const struct row expected[] = {
		{ 0x0, "sp+8" }, { 0x5, "sp+32" }, { 0xa, "sp+32 bp=cfa-16" }, { 0x25, "sp+8" }, { 0x40, "end" },
		{ 0x60, "bp+16 bp=bp+0" }, { 0x7f, "sp+8" }, { 0x9f, "signal+0" }, { 0x100, "end" }, { 0x200, "gap" },
	};

	check_rows(image_fd(name), expected, G_N_ELEMENTS(expected));
}

/* Without a frame the return address is in x30 (no word of it), with one of 24 bytes x29 lies at cfa - 32 and x30 behind it. */
static void test_rows_arm64(gconstpointer name)
{
	static const struct row expected[] = {
		{ 0x0, "sp+0" }, { 0x5, "sp+24 bp=cfa-32" }, { 0x25, "sp+0" }, { 0x40, "end" },
		{ 0x60, "complex" }, { 0x7f, "sp+0" }, { 0x9f, "signal+0" }, { 0x100, "end" }, { 0x200, "gap" },
	};

	check_rows(image_of_machine(EM_AARCH64, name), expected, G_N_ELEMENTS(expected));
}

static void test_names(gconstpointer name)
{
	static const struct { uint32_t pc; const char *name; } expected[] = {
		{ 0x0, "main.f" }, { 0x3f, "main.f" }, { 0x40, "runtime.mcall" }, { 0x7e, "runtime.systemstack" },
		{ 0x7f, "runtime.systemstack_switch" }, { 0x9f, "runtime.sigreturn__sigaction" },
		{ 0x1ff, "runtime.goexit" }, { 0x200, NULL },
	};
	int fd = image_fd(name);
	struct elf_table *t = elf_table_read(fd, NULL);

	g_assert_nonnull(t);
	g_assert_true(t->has_go_table);
	for (size_t i = 0; i < G_N_ELEMENTS(expected); i++) {
		uint64_t start;

		g_assert_cmpstr(elf_table_find(t, GO_TEXT + expected[i].pc, &start), ==, expected[i].name);
	}
	elf_table_free(t);
	close(fd);
}

static void test_lines(gconstpointer name)
{
	struct symbol_place places[] = { { .offset = GO_TEXT }, { .offset = GO_TEXT + 0x3f }, { .offset = GO_TEXT + 0x200 } };
	GStringChunk *strings = g_string_chunk_new(64);
	int fd = image_fd(name);

	go_lines_find(fd, places, G_N_ELEMENTS(places), strings);
	g_assert_cmpuint(places[0].frame_cnt, ==, 1);
	g_assert_cmpstr(places[0].frames[0].name, ==, "main.f");
	g_assert_cmpstr(places[0].frames[0].file, ==, "main.go");
	g_assert_cmpuint(places[0].frames[0].line, ==, 10);
	g_assert_cmpuint(places[1].frames[0].line, ==, 12);
	g_assert_cmpuint(places[2].frame_cnt, ==, 0);
	for (size_t i = 0; i < G_N_ELEMENTS(places); i++)
		g_free(places[i].frames);
	g_string_chunk_free(strings);
	close(fd);
}

/* A function out of order is left out, the others are there; an absurd count is no table. */
static void test_damaged(void)
{
	int fd = image_fd("order");
	struct unwind_table *t = unwind_table_build(fd, NULL);

	g_assert_nonnull(t);
	g_assert_cmpuint(unwind_rule_cfa(unwind_table_find(t, GO_TEXT + 0x1f0)), ==, UNWIND_CFA_END);
	unwind_table_free(t);
	close(fd);
	fd = image_fd("count");
	g_assert_null(unwind_table_build(fd, NULL));
	close(fd);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_data_func("/go/rows-1.19", "go-1.19", test_rows);
	g_test_add_data_func("/go/rows-1.20", "go-1.20", test_rows);
	g_test_add_data_func("/go/rows-arm64-1.19", "go-1.19", test_rows_arm64);
	g_test_add_data_func("/go/rows-arm64-1.20", "go-1.20", test_rows_arm64);
	g_test_add_data_func("/go/names-1.19", "go-1.19", test_names);
	g_test_add_data_func("/go/names-1.20", "go-1.20", test_names);
	g_test_add_data_func("/go/lines-1.19", "go-1.19", test_lines);
	g_test_add_data_func("/go/lines-1.20", "go-1.20", test_lines);
	g_test_add_func("/go/damaged", test_damaged);
	return g_test_run();
}
