/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef BASE_HASH_H
#define BASE_HASH_H

#include <glib.h>
#include <stdint.h>

/*
 * For GHashTable, of a pointer to uint64_t, beside g_int64_equal().  g_int64_hash() looks at
 * the low half alone, and ours often hold two numbers in one.
 */
static inline guint hash_u64(gconstpointer key)
{
	return (guint)(*(const uint64_t *)key * 0x9e3779b97f4a7c15ULL >> 32);
}

#endif
