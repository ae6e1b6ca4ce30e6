/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef BASE_HASH_H
#define BASE_HASH_H

#include <glib.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/each.h"

#define HASH_MIX 0x9e3779b97f4a7c15ULL	/* 2^64 over the golden ratio: Knuth, "The Art of Computer Programming", 6.4 */

/*
 * For a key of several parts: hash_end(hash_more(hash_more(a, b), c)), with hash_pointer() for interned strings.
 * Recordings come from anyone, and simple sums of parts could be made equal for thousands of keys.
 */
static inline uint64_t hash_more(uint64_t hash, uint64_t part)
{
	hash *= HASH_MIX;
	return hash ^ hash >> 32 ^ part;
}

static inline uint64_t hash_pointer(const void *p)
{
	return (uint64_t)(uintptr_t)p;
}

static inline guint hash_end(uint64_t hash)
{
	return (guint)(hash * HASH_MIX >> 32);
}

/*
 * For GHashTable with keys that point to uint64_t, with g_int64_equal(). g_int64_hash() uses only the low half, and
 * our keys often hold two numbers.
 */
static inline guint hash_u64(gconstpointer key)
{
	return hash_end(*(const uint64_t *)key);
}

/* For numbers that are their own keys (GSIZE_TO_POINTER()), so that no key is allocated. */
static inline guint hash_number(gconstpointer key)
{
	return hash_end(hash_pointer(key));
}

/* The row of that key, in a table that frees its rows by g_free(); a new one is zeroed. */
static inline gpointer hash_row(GHashTable *rows, gconstpointer key, size_t bytes)
{
	gpointer row = g_hash_table_lookup(rows, key);

	if (!row)
		g_hash_table_insert(rows, (gpointer)key, row = g_malloc0(bytes));
	return row;
}

/* Adds a pair to a set made by g_hash_table_new(hash_number, NULL). True: it is new. */
static inline bool hash_new_pair(GHashTable *seen, uint32_t a, uint32_t b)
{
	return g_hash_table_add(seen, GSIZE_TO_POINTER((gsize)a << 32 | b));
}

/* The bytes must have no padding. */
static inline guint hash_bytes(const void *bytes, size_t cnt)
{
	uint64_t hash = 0, part;

	for (size_t i = 0; i < cnt; i += sizeof(part)) {
		part = 0;
		memcpy(&part, (const char *)bytes + i, MIN(sizeof(part), cnt - i));
		hash = hash_more(hash, part);
	}
	return hash_end(hash);
}

#define HASH_PART(m) h = hash_more(h, (uint64_t)k->m);
#define HASH_SAME(m)         \
	if (a->m != b->m)    \
		return FALSE;

/* Defines NAME_hash() and NAME_equal() for GHashTable, over up to eight members: numbers and interned strings. */
#define HASH_KEY(name, type, ...)                                               \
	static guint name##_hash(gconstpointer key)                             \
	{                                                                       \
		const type *k = key;                                            \
		uint64_t h = 0;                                                 \
                                                                                \
		EACH(HASH_PART, __VA_ARGS__)                                    \
		return hash_end(h);                                             \
	}                                                                       \
	static gboolean name##_equal(gconstpointer va, gconstpointer vb)        \
	{                                                                       \
		const type *a = va, *b = vb;                                    \
                                                                                \
		EACH(HASH_SAME, __VA_ARGS__)                                    \
		return TRUE;                                                    \
	}

/* The same over all bytes of a type without padding. */
#define HASH_BYTES(name, type)                                                                                          \
	static guint name##_hash(gconstpointer key) { return hash_bytes(key, sizeof(type)); }                           \
	static gboolean name##_equal(gconstpointer a, gconstpointer b) { return memcmp(a, b, sizeof(type)) == 0; }

#endif
