/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "base/go_table.h"
#include "symbolize/elf/functions.h"
#include "symbolize/elf/reader.h"

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

#define NAMES_MAX_BYTES ((size_t)256 << 20)

/*
 * If .symtab has another name for the same address, the plainer one is used: runtime.futex, not runtime.futex.abi0.
 * So stripped and unstripped programs have the same names.
 */
bool elf_go_names(const struct elf_file *file, GArray *raw, char **names, size_t *names_bytes)
{
	size_t from = *names_bytes, end, bytes;
	struct go_table table;
	struct go_func f;

	if (!go_table_open(&table, file))
		return false;
	/* other data follows, such as the table of compilation units */
	end = table.units > table.names ? table.units : table.size;
	bytes = MIN(end - table.names, NAMES_MAX_BYTES);
	*names_bytes += bytes + 1;
	*names = g_realloc(*names, *names_bytes);
	memcpy(*names + from, table.bytes + table.names, bytes);
	(*names)[*names_bytes - 1] = 0;
	for (uint32_t i = 0; i < table.func_cnt; i++) {
		struct symtab_raw candidate;
		size_t offset;

		if (!go_table_func(&table, i, &f) || !f.name[0])
			continue;
		offset = (size_t)(f.name - (const char *)table.bytes) - table.names;
		if (offset >= bytes)
			continue;
		candidate = (struct symtab_raw){ .addr = f.start - go_table_is_returned_to(&f),
						 .end = f.end,
						 .name = (uint32_t)(from + offset),
						 .rank = SYMTAB_GLOBAL,
						 .sized = true };
		g_array_append_val(raw, candidate);
	}
	return true;
}
