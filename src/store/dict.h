/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef STORE_DICT_H
#define STORE_DICT_H

#include "base/cursor.h"
#include "profile/profile_schema.h"

/*
 * What windows of one file have in common: strings, frames, stacks, objects, wakers, threads by identity, and the keys
 * of waits.  Each is kept once and known by its number.  The file has them in pieces, one for each window that brought
 * something new.
 */

#define DICT_ROWS_MAX (UINT32_C(16) << 20)	/* of each kind */
#define DICT_MAX_BYTES (UINT64_C(512) << 20)	/* of one file, unpacked */

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

/* Numbers of what is in the same dictionary; of strings with 1 added, 0: NULL.  dict.c says what each column is. */
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
/* These two have no padding: they are compared byte by byte. */
struct dict_thread {
	uint32_t pid, tid, comm, process, service;
	uint32_t is_kernel;
	uint64_t start_ns;
};
/* Of waits; state 'C': of samples on CPU. */
struct dict_key {
	uint32_t thread, user, kernel, object;	/* object: with 1 added, as waits have it */
	uint16_t state, flags;
};
struct dict_module {
	uint32_t module, hex;
};

/* As rows, whoever reads or writes it. */
struct dict {
	GPtrArray *strings;	/* const char *, whose bytes others hold */
	GArray *rows[DICT_TABLES];	/* of each table but the strings */
	uint64_t bytes;		/* unpacked, of all pieces */
	GPtrArray *held;	/* the pieces' bytes, of one that was read */
};

struct dict *dict_new(void);
void dict_free(struct dict *d);	/* NULL is fine */

#define DICT_GET(d, table, type, i) (&g_array_index((d)->rows[table], type, i))
static inline guint dict_cnt(const struct dict *d, enum dict_table table)
{
	return table == DICT_STRINGS ? d->strings->len : d->rows[table]->len;
}

/* A column, and where the same stands in the model's row. */
struct dict_column {
	enum dict_table of;	/* whose rows it numbers; DICT_TABLES: it is a number */
	bool plus_1;		/* 0: none */
	bool is_near;		/* mostly the next new one */
	bool is_back;		/* how far before its own row */
	struct column own;
	struct column model;	/* no bytes: it has none */
};
const struct dict_column *dict_columns(enum dict_table table, unsigned *ret_cnt);

/* How far a dictionary is written, or what a window may refer to. */
struct dict_size {
	guint cnt[DICT_TABLES + 1];	/* the last one: 0 */
};
struct dict_size dict_size_of(const struct dict *d);

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

/* From numbers of a dictionary that was read to ids of a profile; what is asked for is made there. */
struct dict_map;

/* Borrows both; the dictionary must not grow meanwhile. */
struct dict_map *dict_map_new(const struct dict *d, struct profile *to);
void dict_map_free(struct dict_map *m);	/* NULL is fine */
const struct dict *dict_map_dict(const struct dict_map *m);
uint32_t dict_map_frame(struct dict_map *m, uint32_t frame);
uint32_t dict_map_node(struct dict_map *m, uint32_t node);
uint32_t dict_map_object(struct dict_map *m, uint32_t object);	/* both with 1 added */
uint32_t dict_map_waker(struct dict_map *m, uint32_t waker);
/* The one whose number comes next in the bytes; NULL where it is bad, too. */
const char *dict_map_next_string(struct dict_map *m, struct cursor *c);
/* Identity and names, all else 0. */
struct thread dict_map_thread(struct dict_map *m, uint32_t thread);
/* The build ids of modules. */
void dict_map_modules(struct dict_map *m);

/* A dictionary that grows: what is in it is found by its content. */
struct dict_writer;

/*
 * Goes on with one that was read, and takes it.  NULL with a sentence: it says something twice, and so is none of
 * ours.
 */
struct dict_writer *dict_writer_new(struct dict *from, GError **error);
void dict_writer_free(struct dict_writer *w);	/* NULL is fine */
const struct dict *dict_writer_dict(const struct dict_writer *w);

/* The profile that numbers are asked for from now on; it must stay as it is until dict_writer_end(). */
void dict_writer_begin(struct dict_writer *w, const struct profile *p);
uint32_t dict_writer_node(struct dict_writer *w, uint32_t node);
uint32_t dict_writer_waker(struct dict_writer *w, uint32_t waker);
uint32_t dict_writer_object(struct dict_writer *w, uint32_t object);	/* both with 1 added */
uint32_t dict_writer_string(struct dict_writer *w, const char *s);	/* with 1 added; 0: NULL */
uint32_t dict_writer_thread(struct dict_writer *w, const struct thread *t);
/* thread: of the dictionary, the rest of the profile. */
uint32_t dict_writer_key(struct dict_writer *w, uint32_t thread, uint32_t user, uint32_t kernel, uint32_t object,
			 uint8_t state, uint8_t flags);
/* What is new, as a piece; NULL: nothing is.  Free with g_byte_array_unref(). */
GByteArray *dict_writer_end(struct dict_writer *w);

#endif
