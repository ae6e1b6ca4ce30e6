/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef SYMBOLIZE_V8_NAMES_H
#define SYMBOLIZE_V8_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symbolize/runtime/language.h"

/*
 * Where V8 keeps what, as each build tells debuggers by numbers behind exported symbols ("v8dbg_..."): of Node.js on
 * x86-64, whose objects have addresses of 8 bytes.  The program is not trusted: numbers are bounded.
 */

struct v8_object_types {
	uint16_t function, script, scope;	/* SharedFunctionInfo, Script, ScopeInfo */
	uint16_t one_byte, representation;	/* masks of a String's type, and by the second: */
	uint16_t sequential, cons, external, sliced, thin;
};

/* Offsets from an object's begin. */
struct v8 {
	uint32_t pid;
	struct v8_object_types type;
	uint16_t map, map_type;
	uint16_t function_shared;	/* JSFunction */
	uint16_t shared_name, shared_script, shared_number;
	uint16_t script_name, script_source;
	uint16_t string_length, one_byte_chars, two_byte_chars;
	uint16_t cons_first, cons_second, sliced_parent, sliced_offset, thin_actual, external_resource;
	uint16_t scope_locals, scope_first;	/* of ScopeInfo's words: how many locals it has; their names */
	bool has_inlined;	/* what v8_inline.c reads is laid out as there */
};

/* An object is its address, and one more; a small number ("Smi") has its value in the upper half. */
static inline bool v8_is_object(uint64_t word)
{
	return (word & 7) == 1;
}

static inline bool v8_is_number(uint64_t word)
{
	return !(uint32_t)word;
}

bool v8_read_word(const struct v8 *v, uint64_t object, uint64_t at, uint64_t *ret);
/* Its instance type; -1: no object lies there. */
int v8_type_of(const struct v8 *v, uint64_t object);

/* Reads them; false: the process has no V8, or one of another kind, or it cannot be read. */
bool v8_open(struct v8 *v, const char *proc_dir, uint32_t pid);

/* Names of JavaScript's functions, read from V8's memory while the process lives, as they are just now. */
struct v8_names;

struct v8_names *v8_names_new(void);
void v8_names_free(struct v8_names *n);	/* NULL is fine */

/*
 * The function whose SharedFunctionInfo lies at `shared` and has this number in its script, of which 16 bits count:
 * its name, its script, and the line in which it begins, as first_line and as line; 0: not known.  False: it is there
 * no more.
 */
bool v8_names_function(struct v8_names *n, const struct v8 *v, uint64_t shared, uint32_t number,
		       struct language_frame *ret);
/* The same of a SharedFunctionInfo itself, whatever its number. */
bool v8_names_any_function(struct v8_names *n, const struct v8 *v, uint64_t shared, struct language_frame *ret);

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
