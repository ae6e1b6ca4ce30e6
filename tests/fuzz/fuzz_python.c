/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "symbolize/runtime/language.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Our own memory, with a code object made of the bytes, whose texts and lines are more of the bytes. */
static void try_code(const uint8_t *data, size_t size, uint32_t minor)
{
	static uint64_t memory[1024];
	const struct python_layout *l = python_layout_of(3 << 8 | minor);
	struct language_place place = { .version = 3 << 8 | minor, .pid = (uint32_t)getpid(), .space = 1,
				      .code = (uint64_t)(uintptr_t)memory, .code_type = 1 };
	struct python_code *p = python_code_new();
	uint8_t *bytes = (uint8_t *)memory;
	struct language_frame frame;
	const uint16_t pointers[] = { l->file, l->name, l->qualname, l->lines };

	memset(memory, 0, sizeof(memory));
	memcpy(bytes, data, MIN(size, sizeof(memory) - 1024));
	for (size_t i = 0; i < G_N_ELEMENTS(pointers); i++)
		if (pointers[i])
			memory[pointers[i] / 8] = (uint64_t)(uintptr_t)(bytes + 256 + i * 64);
	memory[PYTHON_TYPE_AT / 8] = 1;
	for (uint64_t at = 0; at < 64; at += 7) {
		place.instr = l->walk.instr_bytes == 8 ? place.code + l->code + at : at;
		if (python_code_name(p, &place, &frame) && (!g_utf8_validate(frame.name, -1, NULL) ||
							     !g_utf8_validate(frame.file, -1, NULL)))
			abort();
	}
	python_code_free(p);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	for (uint64_t offset = 0; offset < 512; offset += 31)
		for (int kind = PYTHON_LINES_PAIRS; kind <= PYTHON_LINES_LOCATIONS; kind++)
			if (python_line((enum python_lines)kind, data, size, 1, offset) > INT32_MAX)
				abort();
	for (uint32_t minor = 8; minor <= 13; minor++)
		try_code(data, size, minor);
	return 0;
}
