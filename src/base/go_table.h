/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef BASE_GO_TABLE_H
#define BASE_GO_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cursor.h"
#include "base/elf_file.h"

/*
 * The function table that Go's runtime needs to walk its own stacks (.gopclntab), so `strip` leaves it in the
 * file: names, frame sizes, files and lines.  Formats of Go 1.18 and 1.19, and of 1.20 and later; 64-bit,
 * little-endian.  Its contents are not trusted.
 */

#define GO_FUNC_TOPFRAME 1	/* the outermost function of its stack */
#define GO_FUNC_SPWRITE 2	/* it changes stacks: no table tells where its caller's frame is */

struct go_table {
	const uint8_t *bytes;	/* the section, in what the file holds: valid until that is closed */
	size_t size;
	uint64_t vaddr;		/* where the section lies in memory, before relocation */
	uint64_t text;		/* runtime.text, which entries are relative to */
	uint32_t func_cnt;
	uint32_t quantum;	/* the unit of addresses in the tables of a function */
	bool has_start_line;	/* as from Go 1.20 on */
	/* offsets in `bytes`, each below `size` */
	size_t names, units, files, values, funcs;
};

struct go_func {
	uint64_t start, end;	/* virtual addresses, start < end */
	const char *name;	/* in the section, ends with a 0 byte */
	uint8_t flags;		/* GO_FUNC_* */
	uint32_t sp_values, file_values, line_values;	/* for go_values(); 0: none */
	uint32_t unit;
	uint32_t inline_values;	/* from 0 on: the address is in an inlined function */
	uint32_t inline_tree;	/* of these functions: where, from `go:func.*` on; UINT32_MAX: none */
};

/* False where the file has no such table, or one of a format that is not known. */
bool go_table_open(struct go_table *t, const struct elf_file *file);
/* False for one that is damaged, or out of order. */
bool go_table_func(const struct go_table *t, uint32_t index, struct go_func *ret);
/* The function that covers vaddr. */
bool go_table_find(const struct go_table *t, uint64_t vaddr, struct go_func *ret);

/*
 * A function whose first byte is a return address: the runtime writes it onto stacks, or handlers of signals return
 * to it.
 */
bool go_table_is_returned_to(const struct go_func *f);

/* A table of a function: what holds where.  Bounded by the function's end. */
struct go_values {
	struct cursor at;
	uint32_t quantum;
	uint64_t from, to, end;	/* `value` holds in [from, to) */
	int32_t value;
	bool has_begun;
};

void go_values(const struct go_table *t, const struct go_func *f, uint32_t offset, struct go_values *ret);
/* The next value; false at the end. */
bool go_values_next(struct go_values *v);

/* The value at an address of f; false: there is none. */
bool go_table_value(const struct go_table *t, const struct go_func *f, uint32_t offset, uint64_t vaddr, int32_t *ret);
/* A function's name by its offset among the names; NULL: no name begins there. */
const char *go_table_name(const struct go_table *t, uint32_t offset);
/* The function of this name. */
bool go_table_named(const struct go_table *t, const char *name, struct go_func *ret);

/*
 * The file (NULL: not known) and line (0: not known) of the code at an address in f, be it inlined or f's own.
 */
const char *go_table_code_line(const struct go_table *t, const struct go_func *f, uint64_t vaddr, uint32_t *ret_line);

/*
 * The file (in the section; NULL: not known) and line (0: not known) of an address in f.  In code inlined into f they
 * are those of the other function, which is not known, so there is neither.
 */
const char *go_table_line(const struct go_table *t, const struct go_func *f, uint64_t vaddr, uint32_t *ret_line);

#endif
