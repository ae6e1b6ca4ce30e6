/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef STORE_BLOB_H
#define STORE_BLOB_H

#include <glib.h>
#include <stdbool.h>

#include "base/cursor.h"
#include "base/refuse.h"

/*
 * Integers encoded as bytes, and blobs compressed with zstd (docs/history.md).  Tables are written column by column:
 * neighbouring values are alike and compress well.
 */

#define STORE_BLOB_MAX_BYTES (UINT32_C(64) << 20)	/* of one uncompressed blob */

static inline void blob_put(GByteArray *into, uint64_t value)
{
	uleb_put(into, value);
}

/* A difference modulo 2^64.  Small differences of either sign take few bytes. */
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
 * For numbers that are usually the highest so far plus 1, or slightly less.  Stores the distance from *next, which
 * becomes the highest plus 1.  So a new number takes one byte.
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

static inline unsigned blob_bits(uint64_t value)
{
	return value ? 64 - (unsigned)__builtin_clzll(value) : 0;
}

/* For any number below 2^63.  A number that was rounded to at most `most` significant bits takes a byte or two. */
static inline void blob_put_short(GByteArray *into, uint64_t value, unsigned most)
{
	unsigned bits = blob_bits(value), drop = bits > most ? bits - most : 0;
	bool is_short = !(value & ((UINT64_C(1) << drop) - 1));

	blob_put(into, is_short ? ((uint64_t)drop << most | value >> drop) << 1 : value << 1 | 1);
}

static inline uint64_t blob_get_short(struct cursor *c, unsigned most)
{
	uint64_t coded = cursor_uleb(c), value = coded >> 1, drop = value >> most;

	if (coded & 1)
		return value;
	c->bad = c->bad || drop > 63 - most;
	return c->bad ? 0 : (value & ((1u << most) - 1)) << drop;
}

/*
 * For any number below 2^63.  A number that blob_round() has rounded takes a byte or two: a multiple of 1 << shift if
 * it is at least four times that, else at most three significant bits.
 */
#define BLOB_ROUGH_BITS 3
#define BLOB_ROUGH_ESCAPE 1	/* the unrounded value follows */
static inline unsigned blob_rough_drop(uint64_t value, unsigned shift)
{
	unsigned bits = blob_bits(value), drop = bits > BLOB_ROUGH_BITS ? bits - BLOB_ROUGH_BITS : 0;

	return MIN(drop, shift);
}

/* Rounds to the nearest value that blob_put_rough() encodes in a byte or two. */
static inline uint64_t blob_round(uint64_t value, unsigned shift)
{
	unsigned drop = blob_rough_drop(value, shift);

	return drop ? ((value >> (drop - 1)) + 1) >> 1 << drop : value;
}

static inline void blob_put_rough(GByteArray *into, uint64_t value, unsigned shift)
{
	unsigned bits = blob_bits(value), drop = blob_rough_drop(value, shift);

	if (!shift) {
		blob_put(into, value);
	} else if (value & ((UINT64_C(1) << drop) - 1)) {
		blob_put(into, BLOB_ROUGH_ESCAPE);
		blob_put(into, value);
	} else if (!value || bits >= shift + BLOB_ROUGH_BITS) {
		blob_put(into, value >> shift << 1);
	} else {
		uint64_t top = bits > BLOB_ROUGH_BITS ? value >> drop : value << (BLOB_ROUGH_BITS - bits);

		blob_put(into, ((uint64_t)(shift + BLOB_ROUGH_BITS - bits) << 2 | (top & 3)) << 1 | 1);
	}
}

static inline uint64_t blob_get_rough(struct cursor *c, unsigned shift)
{
	uint64_t coded = cursor_uleb(c), value = coded >> 1, below = value >> 2, top = (value & 3) | 4;

	if (!shift)
		return coded;
	if (coded == BLOB_ROUGH_ESCAPE)
		return cursor_uleb(c);
	if (!(coded & 1) && value <= UINT64_MAX >> shift)
		return value << shift;
	if (!(coded & 1) || !below || below >= shift + BLOB_ROUGH_BITS) {
		c->bad = true;
		return 0;
	}
	unsigned bits = shift + BLOB_ROUGH_BITS - (unsigned)below;

	return bits > BLOB_ROUGH_BITS ? top << (bits - BLOB_ROUGH_BITS) : top >> (BLOB_ROUGH_BITS - bits);
}

/* Sets c->bad if the number is above max. */
static inline uint64_t blob_get(struct cursor *c, uint64_t max)
{
	uint64_t value = cursor_uleb(c);

	if (value <= max)
		return value;
	c->bad = true;
	return 0;
}

/* Sets c->bad if the number is not below cnt. */
static inline uint32_t blob_get_id(struct cursor *c, uint64_t cnt)
{
	uint64_t value = cursor_uleb(c);

	if (value < cnt)
		return (uint32_t)value;
	c->bad = true;
	return 0;
}

/* The number of rows that follow.  Each row takes at least one byte. */
static inline uint32_t blob_get_cnt(struct cursor *c, uint32_t max)
{
	uint64_t value = cursor_uleb(c);

	if (value <= max && value <= cursor_left(c))
		return (uint32_t)value;
	c->bad = true;
	return 0;
}

/* Compresses; free with g_free().  NULL if out of memory. */
void *blob_pack(const GByteArray *plain, int level, size_t *ret_bytes);
/* Exactly plain_bytes bytes, else NULL: the blob is invalid.  Free with g_free(). */
uint8_t *blob_unpack(const void *packed, size_t packed_bytes, size_t plain_bytes);

#define STORE_ERROR store_error_quark()
GQuark store_error_quark(void);
enum store_error {
	STORE_ERROR_FILE,	/* it cannot be opened, read or written */
	STORE_ERROR_DAMAGED,	/* a file of the history is truncated, corrupted, forged, or not a history file */
	STORE_ERROR_EMPTY,	/* the range has no windows */
	STORE_ERROR_TOO_MUCH,
	STORE_ERROR_BUSY,	/* another process is writing */
};

/* Sets *error and returns false. */
#define store_fail(error, code, ...) refuse(error, STORE_ERROR, code, __VA_ARGS__)

#endif
