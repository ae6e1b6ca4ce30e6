/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef BASE_GO_TABLE_H
#define BASE_GO_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cursor.h"
#include "base/elf_file.h"

/*
 * The function table (.gopclntab) that Go's runtime needs to walk its own stacks, so `strip` keeps it: names, frame
 * sizes, files and lines. Formats of Go 1.18 and 1.19, and of 1.20 and later; 64-bit, little-endian. Its contents are
 * not trusted.
 */

#define GO_FUNC_TOPFRAME 1	/* the outermost function of its stack */
#define GO_FUNC_SPWRITE 2	/* it switches stacks: no table says where its caller's frame is */

struct go_table {
	const uint8_t *bytes;	/* the section's bytes: valid until the file is closed */
	size_t size;
	uint64_t vaddr;		/* of the section, before relocation */
	uint64_t text;		/* runtime.text, the base of function entries */
	uint32_t func_cnt;
	uint32_t quantum;	/* unit of addresses in a function's tables */
	bool has_start_line;	/* Go 1.20 and later */
	/* offsets in `bytes`, each below `size` */
	size_t names, units, files, values, funcs;
};

struct go_func {
	uint64_t start, end;	/* virtual addresses, start < end */
	const char *name;	/* in the section, ends with a 0 byte */
	uint8_t flags;		/* GO_FUNC_* */
	uint32_t sp_values, file_values, line_values;	/* offsets for go_values(); 0: none */
	uint32_t unit;
	uint32_t inline_values;	/* values from 0 on: the address is in an inlined function */
	uint32_t inline_tree;	/* of inlined functions: its offset from `go:func.*`; UINT32_MAX: none */
};

/* False if the file has no such table, or one of an unknown format. */
bool go_table_open(struct go_table *t, const struct elf_file *file);
/* False if it is damaged, or out of order. */
bool go_table_func(const struct go_table *t, uint32_t index, struct go_func *ret);
/* The function that contains vaddr. */
bool go_table_find(const struct go_table *t, uint64_t vaddr, struct go_func *ret);

/*
 * Is the function's first byte used as a return address? The runtime writes it to stacks, or signal handlers return to
 * it.
 */
bool go_table_is_returned_to(const struct go_func *f);

/* A function's table of values by address. Bounded by the function's end. */
struct go_values {
	struct cursor at;
	uint32_t quantum;
	uint64_t from, to, end;	/* `value` applies to [from, to) */
	int32_t value;
	bool has_begun;
};

void go_values(const struct go_table *t, const struct go_func *f, uint32_t offset, struct go_values *ret);
/* The next value; false at the end. */
bool go_values_next(struct go_values *v);

/* The value at an address in f; false: none. */
bool go_table_value(const struct go_table *t, const struct go_func *f, uint32_t offset, uint64_t vaddr, int32_t *ret);
/* A function's name by its offset; NULL: no name begins there. */
const char *go_table_name(const struct go_table *t, uint32_t offset);
bool go_table_named(const struct go_table *t, const char *name, struct go_func *ret);

/* File (NULL: not known) and line (0: not known) of the code at an address in f, whether inlined or f's own. */
const char *go_table_code_line(const struct go_table *t, const struct go_func *f, uint64_t vaddr, uint32_t *ret_line);

/*
 * File (in the section; NULL: not known) and line (0: not known) of an address in f. In code inlined into f they would
 * be those of another function, which is not known, so both are unknown.
 */
const char *go_table_line(const struct go_table *t, const struct go_func *f, uint64_t vaddr, uint32_t *ret_line);

#endif
