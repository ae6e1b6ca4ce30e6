/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef RUNTIMES_NODE_NAMES_H
#define RUNTIMES_NODE_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symbolize/runtime/language.h"

/*
 * V8's object layout, which each build publishes to debuggers as numbers behind exported symbols ("v8dbg_..."): for
 * Node.js on x86-64 without pointer compression. The program is not trusted: numbers are bounded.
 */

struct v8_object_types {
	uint16_t function, script, scope;	/* instance types of SharedFunctionInfo, Script, ScopeInfo */
	uint16_t one_byte, representation;	/* masks of a String's instance type, and values under the second: */
	uint16_t sequential, cons, external, sliced, thin;
};

/* Offsets from the begin of an object. */
struct v8 {
	uint32_t pid;
	struct v8_object_types type;
	uint16_t map, map_type;
	uint16_t function_shared;	/* in a JSFunction */
	uint16_t shared_name, shared_script, shared_number;
	uint16_t script_name, script_source;
	uint16_t string_length, one_byte_chars, two_byte_chars;
	uint16_t cons_first, cons_second, sliced_parent, sliced_offset, thin_actual, external_resource;
	uint16_t scope_locals, scope_first;	/* in a ScopeInfo: words with the number of locals, and their names */
	bool has_inlined;	/* inline.c knows this version's layout */
};

/* An object is its address plus one; a small integer ("Smi") has its value in the upper half. */
static inline bool v8_is_object(uint64_t word)
{
	return (word & 7) == 1;
}

static inline bool v8_is_number(uint64_t word)
{
	return !(uint32_t)word;
}

bool v8_read_word(const struct v8 *v, uint64_t object, uint64_t at, uint64_t *ret);
/* Its instance type. -1: not an object. */
int v8_type_of(const struct v8 *v, uint64_t object);

/* Reads the layout. False: no V8, an unsupported one, or unreadable. */
bool v8_open(struct v8 *v, const char *proc_dir, uint32_t pid);

/* Names of JavaScript functions, read from V8's memory while the process lives. */
struct v8_names;

struct v8_names *v8_names_new(void);
void v8_names_free(struct v8_names *n);	/* NULL is fine */

/*
 * The function at SharedFunctionInfo `shared`, if its number in the script matches in the low 16 bits: its name,
 * script, and first line (as first_line and line; 0: unknown). False: it is not there any more.
 */
bool v8_names_function(struct v8_names *n, const struct v8 *v, uint64_t shared, uint32_t number,
		       struct language_frame *ret);
/* Likewise, whatever its number. */
bool v8_names_any_function(struct v8_names *n, const struct v8 *v, uint64_t shared, struct language_frame *ret);

/*
 * Functions inlined by V8's compilers (V8 11.3: Node 20). For each call that may return into invalidated code, V8
 * records the interpreter frames that would replace it ("deoptimization data"), and so all inlined functions.
 */

#define V8_INLINED_MAX 32

/* Offsets in objects, indexes in lists, and instance types, which v8_open() must find unchanged. */
enum v8_inline_layout {
	V8_CODE_DEOPTS = 16,
	V8_STREAM_HEAD_BYTES = 16,	/* its map and its Code; instructions follow */
	V8_ARRAY_LENGTH = 8,
	V8_ARRAY_DATA = 16,
	V8_DEOPTS_BYTES = 0,
	V8_DEOPTS_LITERALS = 2,
	V8_DEOPTS_FUNCTION = 6,
	V8_DEOPTS_FIRST = 11,	/* from here on, by place: bytecode offset, position in the byte stream, code offset */
	V8_DEOPTS_PLACE = 3,
	V8_TYPE_ARRAY = 175,
	V8_TYPE_BYTES = 190,
	V8_TYPE_WEAK_ARRAY = 240,
	V8_TYPE_CODE = 245,
	V8_TYPE_STREAM = 252,
};

/*
 * The functions at a return address in code of the function `shared`: their SharedFunctionInfos, innermost first,
 * `shared` last; returns how many. 0: unknown, or the code was replaced.
 */
unsigned v8_inlined(const struct v8 *v, uint64_t shared, uint64_t ip, uint64_t functions[V8_INLINED_MAX]);

/* Part of it: frames at a place of the byte stream, outermost first, by their function's index in the literals. */
unsigned v8_unpack_frames(const uint8_t *bytes, size_t cnt, size_t at, uint32_t literals[V8_INLINED_MAX]);

#endif
