/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef SYMBOLIZE_V8_INLINE_H
#define SYMBOLIZE_V8_INLINE_H

#include <stddef.h>

#include "symbolize/runtime/v8_layout.h"

/*
 * Functions that V8's compilers inlined (V8 11.3: Node 20).  For each call that may return into code that no longer
 * holds, V8 notes how the frames of the interpreter would look ("deoptimization data"): so it knows of each function.
 */

#define V8_INLINED_MAX 32

/* Offsets in objects, numbers of a list's entries, and instance types, as v8_open() must find them. */
enum v8_inline_layout {
	V8_CODE_DEOPTS = 16,
	V8_STREAM_HEAD_BYTES = 16,	/* its map and its Code; then come the instructions */
	V8_ARRAY_LENGTH = 8,
	V8_ARRAY_DATA = 16,
	V8_DEOPTS_BYTES = 0,
	V8_DEOPTS_LITERALS = 2,
	V8_DEOPTS_FUNCTION = 6,
	V8_DEOPTS_FIRST = 11,	/* then, for each place: offset in the bytecode, where it is in the bytes, in the code */
	V8_DEOPTS_PLACE = 3,
	V8_TYPE_ARRAY = 175,
	V8_TYPE_BYTES = 190,
	V8_TYPE_WEAK_ARRAY = 240,
	V8_TYPE_CODE = 245,
	V8_TYPE_STREAM = 252,
};

/*
 * The functions that run where the code of the function `shared` has called from, by its return address: their
 * SharedFunctionInfos, innermost first, `shared` last; how many.  0: not known, or other code lies there now.
 */
unsigned v8_inlined(const struct v8 *v, uint64_t shared, uint64_t ip, uint64_t functions[V8_INLINED_MAX]);

/* For that: the frames at a place in the bytes, outermost first, each by the number of its function among literals. */
unsigned v8_unpack_frames(const uint8_t *bytes, size_t cnt, size_t at, uint32_t literals[V8_INLINED_MAX]);

#endif
