/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef STORE_DICT_H
#define STORE_DICT_H

#include "base/cursor.h"
#include "profile/profile.h"

/*
 * What windows of one file have in common: strings, frames, stacks, objects, wakers, threads by identity, and the keys
 * of waits.  Each is kept once and known by its number.  The file has them in pieces, one for each window that brought
 * something new.
 */

#define DICT_ROWS_MAX (UINT32_C(16) << 20)	/* of each kind */
#define DICT_MAX_BYTES (UINT64_C(512) << 20)	/* of one file, unpacked */

/* Numbers of what is in the same dictionary; of strings with 1 added, 0: NULL. */
struct dict_frame {
	uint32_t name, module, file;
	uint64_t offset;
	uint32_t line;
	uint8_t kind, why;
	bool is_inline;
};
struct dict_node {
	uint32_t parent, frame;
	uint16_t depth;
	uint8_t end;
};
struct dict_object {
	uint32_t operation, name, place;
	uint32_t pid, holder_tid;
	uint64_t addr;
	uint8_t kind;
	bool is_private;
};
struct dict_waker {
	uint32_t pid, tid, comm, irq, user, kernel;
	uint64_t start_ns;
};
struct dict_thread {
	uint32_t pid, tid, comm, process, service;
	uint64_t start_ns;
	bool is_kernel;
};
/* Of waits; state 'C': of samples on CPU. */
struct dict_key {
	uint32_t thread, user, kernel, object;	/* object: with 1 added, as waits have it */
	uint8_t state, flags;
};
struct dict_module {
	uint32_t module, hex;
};

/* As rows, whoever reads or writes it. */
struct dict {
	GPtrArray *strings;	/* const char *, whose bytes others hold */
	GArray *frames, *nodes, *objects, *wakers, *threads, *keys, *modules;
	uint64_t bytes;		/* unpacked, of all pieces */
	GPtrArray *held;	/* the pieces' bytes, of one that was read */
};

struct dict *dict_new(void);
void dict_free(struct dict *d);	/* NULL is fine */

#define DICT_GET(d, table, type, i) (&g_array_index((d)->table, type, i))

/* How far a dictionary is written, or what a window may refer to. */
struct dict_size {
	guint strings, frames, nodes, objects, wakers, threads, keys, modules;
};
struct dict_size dict_size_of(const struct dict *d);
bool dict_has_more(const struct dict *d, const struct dict_size *than);

/* Stacks whose end became worse since they were written. */
struct dict_end {
	uint32_t node;
	uint8_t end;
};
/* Appends what came since `since`, as bytes. */
void dict_encode(const struct dict *d, const struct dict_size *since, const GArray *ends, GByteArray *into);
/*
 * Adds a piece; takes the bytes (g_malloc()ed) in any case, which must have a byte of room behind them.  False: it is
 * none.
 */
bool dict_decode(struct dict *d, uint8_t *bytes, size_t len_bytes);

#endif
