/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef SYMBOLIZE_SYMTAB_H
#define SYMBOLIZE_SYMTAB_H

#include <glib.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * A compact table of functions: 16 bytes each, sorted, names as offsets into one buffer.
 * ELF files and /proc/kallsyms both become one.
 */
struct symtab_entry {
	uint64_t addr;
	uint32_t size;	/* saturates at UINT32_MAX */
	uint32_t name;	/* offset into names */
};

struct symtab {
	struct symtab_entry *entries;	/* by address, addresses distinct */
	size_t cnt;
	char *names;	/* always ends with a 0 byte */
	size_t names_bytes;
};

/* Lower is better where several names share an address; then the first by name. */
enum symtab_rank {
	SYMTAB_GLOBAL = 0,
	SYMTAB_WEAK = 32,
	SYMTAB_LOCAL = 64,
	SYMTAB_LABEL = 128,	/* no function: names only what no sized function covers */
	SYMTAB_BOUND = 255,	/* names nothing, but ends an unsized function before it */
};

/* "read" says more to people than its aliases "__read" and "__libc_read"; 0 to 3. */
static inline unsigned symtab_underscores(const char *name)
{
	unsigned n = 0;

	while (n < 3 && name[n] == '_')
		n++;
	return n;
}

/* A candidate, as read from a file. */
struct symtab_raw {
	uint64_t addr;
	uint64_t end;	/* sized: first address behind it; unsized: the furthest it may reach */
	uint32_t name;
	uint8_t rank;
	bool sized;
};

/*
 * Makes the table of the candidates, whose order is lost.  Takes over `names`, which must
 * have a 0 byte at names[names_bytes - 1]; name offsets must lie below names_bytes.
 */
void symtab_build(struct symtab *ret, GArray *raw, char *names, size_t names_bytes);
void symtab_clear(struct symtab *t);
struct symtab symtab_copy(const struct symtab *t);

/* The function that covers addr, the innermost where they overlap, or NULL. */
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
