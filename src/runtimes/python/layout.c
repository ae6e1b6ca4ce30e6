/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "symbolize/runtime/language.h"

#define VERSION(minor) (3 << 8 | (minor))

static const struct python_layout layouts[] = {
	{ .walk = { .version = VERSION(8), .interp_at = 16, .thread_at = 176,
		    .frame_at = 24, .code_at = 32, .previous_at = 24, .instr_at = 104, .instr_bytes = 4,
		    .entry = OFFCPU_ENTRY_EACH },
	  .key_at = 1392, .gil = 1152,
	  .first_line = 40, .file = 104, .name = 112, .lines = 120, .code = 48, .code_is_object = 1,
	  .instr_scale = 1, .line_kind = PYTHON_LINES_PAIRS, .ascii_bytes = 48, .compact_bytes = 72 },
	{ .walk = { .version = VERSION(9), .interp_at = 16, .thread_at = 176,
		    .frame_at = 24, .code_at = 32, .previous_at = 24, .instr_at = 104, .instr_bytes = 4,
		    .entry = OFFCPU_ENTRY_EACH },
	  .key_at = 584, .gil = 352,
	  .first_line = 40, .file = 104, .name = 112, .lines = 120, .code = 48, .code_is_object = 1,
	  .instr_scale = 1, .line_kind = PYTHON_LINES_PAIRS, .ascii_bytes = 48, .compact_bytes = 72 },
	{ .walk = { .version = VERSION(10), .interp_at = 16, .thread_at = 176,
		    .frame_at = 24, .code_at = 32, .previous_at = 24, .instr_at = 96, .instr_bytes = 4,
		    .entry = OFFCPU_ENTRY_EACH },
	  .key_at = 584, .gil = 352,
	  .first_line = 40, .file = 104, .name = 112, .lines = 120, .code = 48, .code_is_object = 1,
	  .instr_scale = 2, .line_kind = PYTHON_LINES_RANGES, .ascii_bytes = 48, .compact_bytes = 72 },
	{ .walk = { .version = VERSION(11), .interp_at = 16, .thread_at = 152,
		    .has_cframe = 1, .cframe_at = 56, .frame_at = 8, .code_at = 32, .previous_at = 48, .instr_at = 56,
		    .instr_bytes = 8, .entry = OFFCPU_ENTRY_FLAG, .entry_at = 68 },
	  .key_at = 592, .gil = 360,
	  .first_line = 72, .file = 112, .name = 120, .qualname = 128, .lines = 136, .code = 184,
	  .instr_scale = 1, .line_kind = PYTHON_LINES_LOCATIONS, .ascii_bytes = 48, .compact_bytes = 72 },
	{ .walk = { .version = VERSION(12), .interp_at = 16, .thread_at = 136, .gil_at = 384,
		    .has_cframe = 1, .cframe_at = 56, .frame_at = 0, .code_at = 0, .previous_at = 8, .instr_at = 56,
		    .instr_bytes = 8, .entry = OFFCPU_ENTRY_OWNER, .entry_at = 70, .entry_value = 3 },
	  .key_at = 1544, .first_line = 68, .file = 112, .name = 120, .qualname = 128, .lines = 136, .code = 192,
	  .instr_scale = 1, .line_kind = PYTHON_LINES_LOCATIONS, .ascii_bytes = 40, .compact_bytes = 56 },
	{ .walk = { .version = VERSION(13), .interp_at = 16, .thread_at = 152, .gil_at = 16,
		    .frame_at = 72, .code_at = 0, .previous_at = 8, .instr_at = 56, .instr_bytes = 8,
		    .entry = OFFCPU_ENTRY_OWNER, .entry_at = 70, .entry_value = 3 },
	  .key_at = 2160, .first_line = 68, .file = 112, .name = 120, .qualname = 128, .lines = 136, .code = 200,
	  .instr_scale = 1, .line_kind = PYTHON_LINES_LOCATIONS, .ascii_bytes = 40, .compact_bytes = 56 },
	{ .walk = { .version = VERSION(13 | PYTHON_FREE_THREADED), .interp_at = 16, .thread_at = 152, .gil_at = 16,
		    .frame_at = 72, .code_at = 0, .previous_at = 8, .instr_at = 56, .instr_bytes = 8,
		    .entry = OFFCPU_ENTRY_OWNER, .entry_at = 70, .entry_value = 3 },
	  .key_at = 2160, .first_line = 84, .file = 128, .name = 136, .qualname = 144, .lines = 152, .code = 216,
	  .instr_scale = 1, .line_kind = PYTHON_LINES_LOCATIONS, .ascii_bytes = 56, .compact_bytes = 72,
	  .more_in_head = 16 },
	/* must agree with its _Py_DebugOffsets */
	{ .walk = { .version = VERSION(14), .interp_at = 16, .thread_at = 152, .gil_at = 16,
		    .frame_at = 72, .code_at = 0, .previous_at = 8, .instr_at = 56, .instr_bytes = 8,
		    .entry = OFFCPU_ENTRY_OWNER, .entry_at = 74, .entry_value = 3 },
	  .key_at = 2336, .first_line = 68, .file = 112, .name = 120, .qualname = 128, .lines = 136, .code = 208,
	  .instr_scale = 1, .line_kind = PYTHON_LINES_LOCATIONS, .ascii_bytes = 40, .compact_bytes = 56 },
	/* likewise; thread-local variable instead of a key */
	{ .walk = { .version = VERSION(15), .interp_at = 16, .thread_at = 176, .gil_at = 16,
		    .frame_at = 72, .code_at = 0, .previous_at = 8, .instr_at = 56, .instr_bytes = 8,
		    .entry = OFFCPU_ENTRY_OWNER, .entry_at = 74, .entry_value = 3, .key_at = OFFCPU_KEY_NONE },
	  .first_line = 68, .file = 112, .name = 120, .qualname = 128, .lines = 136, .code = 208,
	  .instr_scale = 1, .line_kind = PYTHON_LINES_LOCATIONS, .ascii_bytes = 40, .compact_bytes = 56 },
};

const struct python_layout *python_layout_of(uint32_t version)
{
	for (size_t i = 0; i < sizeof(layouts) / sizeof(layouts[0]); i++)
		if (layouts[i].walk.version == version)
			return &layouts[i];
	return NULL;
}
