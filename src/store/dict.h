/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef STORE_DICT_H
#define STORE_DICT_H

#include "base/cursor.h"
#include "profile/profile_schema.h"

/*
 * The dictionary of one file: strings, frames, stacks, objects, wakers, thread identities and wait keys that its
 * windows share.  Each is stored once and referred to by number.  It is stored in pieces, one for each window that
 * added something.
 */

#define DICT_ROWS_MAX (UINT32_C(16) << 20)	/* per table */
#define DICT_MAX_BYTES (UINT64_C(512) << 20)	/* per file, uncompressed */

/* In the order in which they are written. */
enum dict_table {
	DICT_STRINGS,
	DICT_FRAMES,
	DICT_NODES,
	DICT_OBJECTS,
	DICT_WAKERS,
	DICT_THREADS,
	DICT_KEYS,
	DICT_MODULES,
	DICT_TABLES
};

/*
 * Columns are numbers of rows in the same dictionary.  Numbers of strings are incremented by 1; 0 is NULL.  dict.c
 * describes each column.
 */
struct dict_frame {
	uint32_t name, module, file;
	uint32_t line;
	uint64_t offset;
	uint8_t bits;		/* why << 2 | is_inline << 1 | kind */
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
	uint8_t bits;		/* kind << 1 | is_private */
};
struct dict_waker {
	uint32_t pid, tid, comm, irq, user, kernel;
	uint64_t start_ns;
};
/* These two structs have no padding: they are compared bytewise. */
struct dict_thread {
	uint32_t pid, tid, comm, process, service;
	uint32_t is_kernel;
	uint64_t start_ns;
};
/* Key of waits; state 'C' marks on-CPU samples. */
struct dict_key {
	uint32_t thread, user, kernel, object;	/* object: incremented by 1, as in struct wait */
	uint16_t state, flags;
};
struct dict_module {
	uint32_t module, hex;
};

/* The decoded tables, for readers and writers. */
struct dict {
	GPtrArray *strings;	/* const char *, not owned */
	GArray *rows[DICT_TABLES];	/* of each table but the strings */
	uint64_t bytes;		/* uncompressed size of all pieces */
	GPtrArray *held;	/* buffers of pieces that were read; strings point into them */
};

struct dict *dict_new(void);
void dict_free(struct dict *d);	/* NULL is fine */

#define DICT_GET(d, table, type, i) (&g_array_index((d)->rows[table], type, i))
static inline guint dict_cnt(const struct dict *d, enum dict_table table)
{
	return table == DICT_STRINGS ? d->strings->len : d->rows[table]->len;
}

/* A column of the dictionary, and the matching column of the model's row. */
struct dict_column {
	enum dict_table of;	/* table that it refers to; DICT_TABLES: a plain number */
	bool plus_1;		/* stored incremented by 1; 0: none */
	bool is_near;		/* usually the next new row: encoded by blob_put_near() */
	bool is_back;		/* encoded as the distance back from its own row */
	struct column own;
	struct column model;	/* its bytes are 0 if the model has no such column */
};
const struct dict_column *dict_columns(enum dict_table table, unsigned *ret_cnt);

/* How much of a dictionary has been written, or what a window may refer to. */
struct dict_size {
	guint cnt[DICT_TABLES + 1];	/* the last entry is always 0 */
};
struct dict_size dict_size_of(const struct dict *d);

/* A stack whose end became worse since it was written. */
struct dict_end {
	uint32_t node;
	uint8_t end;
};
/* Appends the rows that were added since `since`. */
void dict_encode(const struct dict *d, const struct dict_size *since, const GArray *ends, GByteArray *into);
/*
 * Adds a piece.  Always takes ownership of `bytes` (from g_malloc()), which must have room for one more byte.  False:
 * invalid.
 */
bool dict_decode(struct dict *d, uint8_t *bytes, size_t len_bytes);

/* Maps numbers of a dictionary to ids of a profile.  Rows are added to the profile on first use. */
struct dict_map;

/* Borrows both.  The dictionary must not grow while the map is in use. */
struct dict_map *dict_map_new(const struct dict *d, struct profile *to);
void dict_map_free(struct dict_map *m);	/* NULL is fine */
const struct dict *dict_map_dict(const struct dict_map *m);
uint32_t dict_map_frame(struct dict_map *m, uint32_t frame);
uint32_t dict_map_node(struct dict_map *m, uint32_t node);
uint32_t dict_map_object(struct dict_map *m, uint32_t object);	/* argument and result are incremented by 1 */
uint32_t dict_map_waker(struct dict_map *m, uint32_t waker);
/* Reads a string's number from the bytes and returns the string.  NULL also if the number is invalid. */
const char *dict_map_next_string(struct dict_map *m, struct cursor *c);
/* Sets identity and names only. */
struct thread dict_map_thread(struct dict_map *m, uint32_t thread);
/* Copies build ids of modules. */
void dict_map_modules(struct dict_map *m);

/* A dictionary under construction, which finds equal rows. */
struct dict_writer;

/* Continues `from` and takes ownership of it.  NULL on error: `from` has duplicates, so it is not ours. */
struct dict_writer *dict_writer_new(struct dict *from, GError **error);
void dict_writer_free(struct dict_writer *w);	/* NULL is fine */
const struct dict *dict_writer_dict(const struct dict_writer *w);

/* Sets the profile that the following calls refer to.  It must not change until dict_writer_end(). */
void dict_writer_begin(struct dict_writer *w, const struct profile *p);
uint32_t dict_writer_node(struct dict_writer *w, uint32_t node);
uint32_t dict_writer_waker(struct dict_writer *w, uint32_t waker);
uint32_t dict_writer_object(struct dict_writer *w, uint32_t object);	/* argument and result are incremented by 1 */
uint32_t dict_writer_string(struct dict_writer *w, const char *s);	/* incremented by 1; 0: NULL */
uint32_t dict_writer_thread(struct dict_writer *w, const struct thread *t);
/* `thread` is a number of the dictionary, the others are ids of the profile. */
uint32_t dict_writer_key(struct dict_writer *w, uint32_t thread, uint32_t user, uint32_t kernel, uint32_t object,
			 uint8_t state, uint8_t flags);
/* The new rows as a piece, NULL if there are none.  Free with g_byte_array_unref(). */
GByteArray *dict_writer_end(struct dict_writer *w);

#endif
