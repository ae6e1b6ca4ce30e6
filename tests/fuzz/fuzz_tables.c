/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * What a parser without rights answers: it may be a stranger's by then.  The first byte tells which answer the others
 * are.  What is taken can be asked anything, and written and taken once more.
 */
#include <stdlib.h>
#include <string.h>

#include "runtimes/go/answers.h"
#include "symbolize/elf/table.h"
#include "unwind/table.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_elf(const uint8_t *bytes, size_t size)
{
	g_autoptr(GByteArray) written = g_byte_array_new();
	struct elf_table *t = elf_table_from_bytes(bytes, size), *again;

	if (!t)
		return;
	for (uint64_t at = 0; at < 1 << 16; at += 509) {
		const char *name;
		uint64_t start = 0;

		name = elf_table_find(t, at, &start);
		if (name && (start > at || strlen(name) > size))
			abort();
		elf_table_vaddr(t, at, &start);
	}
	elf_table_write(t, written);
	again = elf_table_from_bytes(written->data, written->len);
	if (!again)
		abort();
	elf_table_free(again);
	elf_table_free(t);
}

static void check_variables(const uint8_t *bytes, size_t size)
{
	g_autoptr(GByteArray) written = g_byte_array_new();
	struct data_file f = { 0}, again = { 0 };

	if (!data_file_from_bytes(bytes, size, &f))
		return;
	data_file_write(&f, written);
	if (!data_file_from_bytes(written->data, written->len, &again))
		abort();
	data_file_clear(&again);
	data_file_clear(&f);
}

static void check_unwind(const uint8_t *bytes, size_t size)
{
	g_autoptr(GByteArray) written = g_byte_array_new();
	struct unwind_table *t = unwind_table_from_bytes(bytes, size), *again;

	if (!t)
		return;
	for (uint64_t at = 0; at < 1 << 16; at += 509) {
		const struct unwind_row *row = unwind_table_row(t, t->base + at);

		if (row && (row < t->rows || row >= t->rows + t->row_cnt || row->pc > at))
			abort();
	}
	unwind_table_write(t, written);
	again = unwind_table_from_bytes(written->data, written->len);
	if (!again)
		abort();
	unwind_table_free(again);
	unwind_table_free(t);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct go_code *code;

	switch (size ? data[0] % 4 : 4) {
	case 0: check_elf(data + 1, size - 1); break;
	case 1: check_variables(data + 1, size - 1); break;
	case 2: check_unwind(data + 1, size - 1); break;
	case 3:
		code = go_code_from_bytes(data + 1, size - 1);
		for (uint32_t i = 0; code && i < code->place_cnt; i++)
			if (strlen(code->places[i].name) > size ||
			    (code->places[i].file && strlen(code->places[i].file) > size))
				abort();
		g_free(code);
	}
	return 0;
}
