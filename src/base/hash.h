/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef BASE_HASH_H
#define BASE_HASH_H

#include <glib.h>
#include <stdint.h>

#define HASH_MIX 0x9e3779b97f4a7c15ULL	/* 2^64 over the golden ratio: Knuth, "The Art of Computer Programming", 6.4 */

/*
 * Of a key of several parts: hash_end(hash_more(hash_more(a, b), c)), strings that are interned by hash_pointer().
 * Keys come from recordings of anybody, and sums of parts would be the same for thousands of them.
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
 * For GHashTable, of a pointer to uint64_t, beside g_int64_equal().  g_int64_hash() looks at
 * the low half alone, and ours often hold two numbers in one.
 */
static inline guint hash_u64(gconstpointer key)
{
	return hash_end(*(const uint64_t *)key);
}

#endif
