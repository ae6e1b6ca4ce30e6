/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "symbolize/runtime/language.h"

#include "base/cursor.h"

#define UNIT_BYTES 2	/* per instruction unit */

static uint32_t valid_line(int64_t line)
{
	return line > 0 && line <= INT32_MAX ? (uint32_t)line : 0;
}

/* Python 3.9, Objects/lnotab_notes.txt: pairs of code bytes and line increments. */
static uint32_t line_by_pairs(struct cursor *c, int64_t line, uint64_t offset)
{
	uint64_t at = 0;

	while (cursor_left(c) >= 2) {
		at += cursor_u8(c);
		if (at > offset)
			break;
		line += (int8_t)cursor_u8(c);
	}
	return valid_line(line);
}

/* Python 3.10: pairs of line increment and code bytes; -128: no line. */
static uint32_t line_by_ranges(struct cursor *c, int64_t line, uint64_t offset)
{
	uint64_t end = 0;

	while (cursor_left(c) >= 2) {
		int8_t difference;

		end += cursor_u8(c);
		difference = (int8_t)cursor_u8(c);
		if (difference != -128)
			line += difference;
		if (end > offset)
			return difference == -128 ? 0 : valid_line(line);
	}
	return 0;
}

/* 6 bits per byte, lowest first; bit 6 marks continuation. */
static uint32_t read_varint(struct cursor *c)
{
	uint8_t byte = cursor_u8(c);
	uint32_t value = byte & 63;

	for (unsigned shift = 6; byte & 64 && shift < 30; shift += 6) {
		byte = cursor_u8(c);
		value |= (uint32_t)(byte & 63) << shift;
	}
	return value;
}

static int32_t read_signed(struct cursor *c)
{
	uint32_t value = read_varint(c);

	return value & 1 ? -(int32_t)(value >> 1) : (int32_t)(value >> 1);
}

/* Python 3.11, Objects/locations.md: each entry begins with a byte whose highest bit is set. */
static uint32_t line_by_locations(struct cursor *c, int64_t line, uint64_t offset)
{
	uint64_t end = 0;

	while (cursor_left(c)) {
		uint8_t first = cursor_u8(c), kind = first >> 3 & 15;

		if (!(first & 128))
			return 0;
		end += ((first & 7) + 1) * UNIT_BYTES;
		if (kind == 14 || kind == 13)
			line += read_signed(c);
		else if (kind >= 10 && kind <= 12)
			line += kind - 10;
		if (end > offset)
			return kind == 15 ? 0 : valid_line(line);
		/* skip the columns */
		while (cursor_left(c) && !(*c->at & 128))
			cursor_u8(c);
	}
	return 0;
}

uint32_t python_line(enum python_lines kind, const uint8_t *table, size_t bytes, uint32_t first_line, uint64_t offset)
{
	struct cursor c = cursor_of(table, bytes);

	switch (kind) {
	case PYTHON_LINES_PAIRS: return line_by_pairs(&c, first_line, offset);
	case PYTHON_LINES_RANGES: return line_by_ranges(&c, first_line, offset);
	case PYTHON_LINES_LOCATIONS: return line_by_locations(&c, first_line, offset);
	}
	return 0;
}
