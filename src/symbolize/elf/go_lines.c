/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "symbolize/elf/go_lines.h"

#include "base/go_table.h"

static void find_one(const struct go_table *t, struct symbol_place *place, GStringChunk *strings)
{
	struct symbol_frame frame = { 0 };
	const char *file;
	struct go_func f;

	if (place->frame_cnt || !go_table_find(t, place->offset, &f))
		return;
	file = go_table_line(t, &f, place->offset, &frame.line);
	if (!frame.line)
		return;
	frame.name = g_string_chunk_insert_const(strings, f.name);
	frame.file = file ? g_string_chunk_insert_const(strings, file) : NULL;
	place->frames = g_memdup2(&frame, sizeof(frame));
	place->frame_cnt = 1;
}

void go_lines_find(int fd, struct symbol_place *places, size_t cnt, GStringChunk *strings)
{
	struct go_table table;
	struct elf_file file;

	if (elf_file_open(&file, fd, NULL) && go_table_open(&table, &file))
		for (size_t i = 0; i < cnt; i++)
			find_one(&table, &places[i], strings);
	elf_file_close(&file);
}
