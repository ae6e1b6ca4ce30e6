/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef SYMBOLIZE_SYMTAB_H
#define SYMBOLIZE_SYMTAB_H

#include <glib.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * A compact table of functions: 16 bytes each, sorted, with names as offsets into one buffer. Used for ELF files and
 * /proc/kallsyms.
 */
struct symtab_entry {
	uint64_t addr;
	uint32_t size;	/* saturates at UINT32_MAX */
	uint32_t name;	/* offset into names */
};

struct symtab {
	struct symtab_entry *entries;	/* by address, without duplicates */
	size_t cnt;
	char *names;	/* always ends with a NUL */
	size_t names_bytes;
};

/* Lower is better if several names have the same address; then alphabetically first. */
enum symtab_rank {
	SYMTAB_GLOBAL = 0,
	SYMTAB_WEAK = 32,
	SYMTAB_LOCAL = 64,
	SYMTAB_LABEL = 128,	/* not a function: names only code outside of sized functions */
	SYMTAB_BOUND = 255,	/* names nothing, but ends a preceding unsized function */
};

/* "read" is better than its aliases "__read" and "__libc_read"; 0 to 3. */
static inline unsigned symtab_underscores(const char *name)
{
	unsigned n = 0;

	while (n < 3 && name[n] == '_')
		n++;
	return n;
}

/* A candidate read from a file. */
struct symtab_raw {
	uint64_t addr;
	uint64_t end;	/* sized: its end; unsized: the maximum end */
	uint32_t name;
	uint8_t rank;
	bool sized;
};

/*
 * Builds the table from the candidates, which get reordered. Takes ownership of `names`, which must have a NUL at
 * names[names_bytes - 1]; name offsets must be below names_bytes.
 */
void symtab_build(struct symtab *ret, GArray *raw, char *names, size_t names_bytes);
void symtab_clear(struct symtab *t);
struct symtab symtab_copy(const struct symtab *t);

/* The function that contains addr, the innermost if they overlap, or NULL. */
const struct symtab_entry *symtab_find(const struct symtab *t, uint64_t addr);
static inline const char *symtab_name(const struct symtab *t, const struct symtab_entry *e)
{
	return t->names + e->name;
}
static inline size_t symtab_memory_bytes(const struct symtab *t)
{
	return t->cnt * sizeof(*t->entries) + t->names_bytes;
}

#endif
