/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef BASE_CURSOR_H
#define BASE_CURSOR_H

#include <glib.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/*
 * Reads little-endian values from untrusted bytes. A read past the end, or a LEB128 that does not fit 64 bits, gives 0
 * and sets `bad`, which stays set: check it once at the end.
 */
struct cursor {
	const uint8_t *at, *end;
	bool bad;
};

/* An empty array may have a NULL pointer, to which nothing may be added. */
static inline struct cursor cursor_of(const void *bytes, size_t len)
{
	static const uint8_t none;
	const uint8_t *at = bytes ? bytes : &none;

	return (struct cursor){ .at = at, .end = at + (bytes ? len : 0) };
}

static inline size_t cursor_left(const struct cursor *c)
{
	return (size_t)(c->end - c->at);
}

static inline const uint8_t *cursor_take(struct cursor *c, uint64_t bytes)
{
	const uint8_t *at = c->at;

	if (bytes > cursor_left(c)) {
		c->bad = true;
		c->at = c->end;
		return NULL;
	}
	c->at += bytes;
	return at;
}

static inline uint8_t cursor_u8(struct cursor *c)
{
	const uint8_t *at = cursor_take(c, 1);

	return at ? *at : 0;
}

#define CURSOR_READ(bits)                                                         \
	static inline uint##bits##_t cursor_u##bits(struct cursor *c)             \
	{                                                                         \
		const uint8_t *at = cursor_take(c, bits / 8);                     \
		uint##bits##_t value = 0;                                         \
                                                                                  \
		if (at)                                                           \
			memcpy(&value, at, sizeof(value));                        \
		return GUINT##bits##_FROM_LE(value);                              \
	}
CURSOR_READ(16)
CURSOR_READ(32)
CURSOR_READ(64)
#undef CURSOR_READ

static inline uint64_t cursor_uleb(struct cursor *c)
{
	uint64_t value = 0;

	for (unsigned shift = 0; !c->bad; shift += 7) {
		uint8_t byte = cursor_u8(c);
		uint64_t part = byte & 0x7f;

		if (shift > 63 ? part != 0 : part << shift >> shift != part)
			break;
		if (shift <= 63)
			value |= part << shift;
		if (!(byte & 0x80))
			return c->bad ? 0 : value;
		if (shift > 70)	/* excessive zero padding */
			break;
	}
	c->bad = true;
	return 0;
}

static inline int64_t cursor_sleb(struct cursor *c)
{
	uint64_t value = 0;

	for (unsigned shift = 0; shift <= 63 && !c->bad; shift += 7) {
		uint8_t byte = cursor_u8(c);

		if (shift == 63 && byte != 0 && byte != 0x7f)
			break;
		value |= (uint64_t)(byte & 0x7f) << shift;
		if (byte & 0x80)
			continue;
		if (shift < 57 && byte & 0x40)
			value |= ~0ull << (shift + 7);
		return c->bad ? 0 : (int64_t)value;
	}
	c->bad = true;
	return 0;
}

/* Unsigned LEB128, the inverse of cursor_uleb(). */
static inline void uleb_put(GByteArray *into, uint64_t value)
{
	uint8_t bytes[10];
	guint cnt = 0;

	do {
		bytes[cnt++] = (uint8_t)((value & 0x7f) | (value > 0x7f ? 0x80 : 0));
		value >>= 7;
	} while (value);
	g_byte_array_append(into, bytes, cnt);
}

#endif
