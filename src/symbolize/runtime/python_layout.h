/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef SYMBOLIZE_PYTHON_LAYOUT_H
#define SYMBOLIZE_PYTHON_LAYOUT_H

#include <stdint.h>

#include "abi/language_abi.h"

/* How a code object tells which lines its instructions are of. */
enum python_lines {
	PYTHON_LINES_PAIRS,	/* co_lnotab, to 3.9 */
	PYTHON_LINES_RANGES,	/* co_linetable of 3.10 */
	PYTHON_LINES_LOCATIONS,	/* the same from 3.11 on */
};

/*
 * Where one version of CPython keeps what (64 bits).  Offsets as the compiler of python.org's sources lays them out.
 */
struct python_layout {
	struct offcpu_language walk;	/* without keys_at, key_at and code_type */
	uint32_t key_at;		/* _PyRuntime: the key of thread-specific data, on x86-64 */
	uint32_t gil;			/* _PyRuntime: the lock of all interpreters; 0: each has its own */
	/* PyCodeObject */
	uint16_t first_line, file, name, qualname, lines, code;	/* qualname 0: there is none */
	uint8_t code_is_object;		/* `code` points to a bytes object; else the code itself lies there */
	uint8_t instr_scale;		/* of an index */
	uint8_t line_kind;		/* enum python_lines */
	/* PyASCIIObject, PyCompactUnicodeObject */
	uint8_t ascii_bytes, compact_bytes;
	uint8_t more_in_head;		/* bytes that each object begins with, beyond those of a build with a GIL */
};

/* In a version: a build without a GIL. */
#define PYTHON_FREE_THREADED 0x80

/* NULL: not known. */
const struct python_layout *python_layout_of(uint32_t version);

/* In any version, but for more_in_head. */
#define PYTHON_TYPE_AT 8	/* object: its type */
#define PYTHON_SIZE_AT 16	/* bytes object: its length, and */
#define PYTHON_BYTES_AT 32	/* its bytes */
#define PYTHON_TEXT_SIZE_AT 16	/* str: its length, and */
#define PYTHON_TEXT_STATE_AT 32	/* its kind: 2 bits of `interned`, 3 of the bytes a character, compact, ascii */

#endif
