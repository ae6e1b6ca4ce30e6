/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef STORE_BLOB_H
#define STORE_BLOB_H

#include "base/cursor.h"

/*
 * Numbers as bytes, and bytes packed by zstd (docs/history.md).  Rows of a table are written column by column, so that like stands beside
 * like.
 */

#define STORE_BLOB_MAX_BYTES (UINT32_C(64) << 20)	/* of one blob, unpacked */

static inline void blob_put(GByteArray *into, uint64_t value)
{
	uint8_t bytes[10];
	guint cnt = 0;

	do {
		bytes[cnt++] = (uint8_t)((value & 0x7f) | (value > 0x7f ? 0x80 : 0));
		value >>= 7;
	} while (value);
	g_byte_array_append(into, bytes, cnt);
}

/* A difference modulo 2^64: small ones of either sign are few bytes. */
static inline void blob_put_diff(GByteArray *into, uint64_t value, uint64_t expected)
{
	const uint64_t diff = value - expected;

	blob_put(into, diff << 1 ^ (0 - (diff >> 63)));
}

static inline uint64_t blob_get_diff(struct cursor *c, uint64_t expected)
{
	uint64_t coded = cursor_uleb(c);

	return expected + (coded >> 1 ^ (0 - (coded & 1)));
}

/*
 * A number that is mostly the next one after the highest so far, or not far before it: how far it is from that, which *next becomes.  So
 * what is new takes a byte.
 */
static inline void blob_put_near(GByteArray *into, uint64_t value, uint64_t *next)
{
	blob_put_diff(into, *next, value);
	*next = value >= *next ? value + 1 : *next;
}

static inline uint64_t blob_get_near(struct cursor *c, uint64_t cnt, uint64_t *next)
{
	uint64_t coded = cursor_uleb(c), value = *next - (coded >> 1 ^ (0 - (coded & 1)));

	if (value >= cnt) {
		c->bad = true;
		return 0;
	}
	*next = value >= *next ? value + 1 : *next;
	return value;
}

/* Not above max, or it is bad. */
static inline uint64_t blob_get(struct cursor *c, uint64_t max)
{
	uint64_t value = cursor_uleb(c);

	if (value <= max)
		return value;
	c->bad = true;
	return 0;
}

/* Below cnt; with cnt 0 none is. */
static inline uint32_t blob_get_id(struct cursor *c, uint64_t cnt)
{
	uint64_t value = cursor_uleb(c);

	if (value < cnt)
		return (uint32_t)value;
	c->bad = true;
	return 0;
}

/* How many rows follow, of which each takes a byte or more. */
static inline uint32_t blob_get_cnt(struct cursor *c, uint32_t max)
{
	uint64_t value = cursor_uleb(c);

	if (value <= max && value <= cursor_left(c))
		return (uint32_t)value;
	c->bad = true;
	return 0;
}

/* Packed; free with g_free().  NULL: there is no memory for it. */
void *blob_pack(const GByteArray *plain, int level, size_t *ret_bytes);
/* So many bytes, or NULL: it is something else.  Free with g_free(). */
uint8_t *blob_unpack(const void *packed, size_t packed_bytes, size_t plain_bytes);

#endif
