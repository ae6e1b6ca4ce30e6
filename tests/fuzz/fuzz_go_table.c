/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <elf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../unit/unwind/go_image.h"
#include "runtimes/go/answers.h"
#include "symbolize/elf/functions.h"
#include "symbolize/elf/table.h"
#include "unwind/table.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_rows(const struct unwind_table *t)
{
	for (uint32_t i = 0; i < t->row_cnt; i++)
		if (i ? t->rows[i].pc <= t->rows[i - 1].pc : t->rows[i].pc)
			abort();
	if (t->rows[t->row_cnt - 1].rule)
		abort();
}

static void check_code(struct go_code *code)
{
	if (!code)
		return;
	if (!code->place_cnt || code->place_cnt > GO_PLACES_MAX || code->step < GO_STEP_END)
		abort();
	for (uint32_t i = 0; i < code->place_cnt; i++)
		if (strlen(code->places[i].name) + (code->places[i].file ? strlen(code->places[i].file) : 0) > SIZE_MAX / 2)
			abort();
	g_free(code);
}

/* What is asked for goroutines; and the answer as if a stranger gave it. */
static void ask_program(int fd, const uint8_t *data, size_t size)
{
	struct go_file file;

	if (go_file_read(fd, &file)) {
		go_is_inline_data(fd, GO_TEXT);
		for (unsigned i = 0; i < 8; i++)
			check_code(go_code_read(fd, GO_TEXT + i * i * 60, GO_TEXT));
	}
	go_file_clear(&file);
	check_code(go_code_from_bytes(data, size));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	GStringChunk *strings = g_string_chunk_new(256);
	uint8_t text[GO_TEXT_BYTES] = { 0 };
	GByteArray *image;
	struct symbol_place places[8] = { 0 };
	int fd = memfd_create("fuzz", MFD_CLOEXEC);
	struct unwind_table *rows;
	struct elf_table *t;

	for (size_t i = 0; size && i < sizeof(text); i++)
		text[i] = data[(i * 7) % size];
	image = go_image(size % 2 ? EM_X86_64 : EM_AARCH64, data, size, text);
	if (fd < 0 || write(fd, image->data, image->len) != (ssize_t)image->len)
		abort();
	ask_program(fd, data, size);
	t = elf_table_read(fd, NULL);
	for (size_t i = 0; i < G_N_ELEMENTS(places); i++)
		places[i].offset = GO_TEXT + i * i * 60;
	go_lines_find(fd, places, G_N_ELEMENTS(places), strings);
	for (size_t i = 0; i < G_N_ELEMENTS(places); i++) {
		uint64_t start;

		if (t)
			elf_table_find(t, places[i].offset, &start);
		if (places[i].frame_cnt && !places[i].frames[0].line)
			abort();
		g_free(places[i].frames);
	}
	rows = unwind_table_build(fd, NULL);
	if (rows)
		check_rows(rows);
	unwind_table_free(rows);
	elf_table_free(t);
	g_string_chunk_free(strings);
	g_byte_array_unref(image);
	close(fd);
	return 0;
}
