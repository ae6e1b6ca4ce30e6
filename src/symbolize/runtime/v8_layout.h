/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef SYMBOLIZE_V8_LAYOUT_H
#define SYMBOLIZE_V8_LAYOUT_H

#include <stdbool.h>
#include <stdint.h>

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
	bool has_inlined;	/* what v8_inline.h reads is laid out as there */
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

#endif
