/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef PUSH_ROWBINARY_H
#define PUSH_ROWBINARY_H

#include "base/cursor.h"
#include "base/wire.h"

/*
 * ClickHouse's RowBinary: a row's values one after another, little-endian; texts and arrays are preceded by their
 * length. Written here, read by cursors.
 */

static inline void rb_u8(GString *out, uint8_t value)
{
	g_string_append_c(out, (char)value);
}
static inline void rb_u16(GString *out, uint16_t value)
{
	value = GUINT16_TO_LE(value);
	g_string_append_len(out, (const char *)&value, sizeof(value));
}
static inline void rb_u32(GString *out, uint32_t value)
{
	value = GUINT32_TO_LE(value);
	g_string_append_len(out, (const char *)&value, sizeof(value));
}
static inline void rb_u64(GString *out, uint64_t value)
{
	value = GUINT64_TO_LE(value);
	g_string_append_len(out, (const char *)&value, sizeof(value));
}
/* Several values in turn. */
static inline void rb_each(GString *out, const uint64_t *values, size_t cnt, bool is_64)
{
	for (size_t i = 0; i < cnt; i++)
		if (is_64)
			rb_u64(out, values[i]);
		else
			rb_u32(out, (uint32_t)values[i]);
}
#define RB_EACH(out, is_64, ...) \
	rb_each(out, (const uint64_t[]){ __VA_ARGS__ }, sizeof((const uint64_t[]){ __VA_ARGS__ }) / 8, is_64)
#define RB_U32(out, ...) RB_EACH(out, false, __VA_ARGS__)
#define RB_U64(out, ...) RB_EACH(out, true, __VA_ARGS__)
/* NULL is written as "". */
static inline void rb_text(GString *out, const char *text)
{
	gsize len_bytes = text ? strlen(text) : 0;

	wire_varint(out, len_bytes);
	if (text)
		g_string_append_len(out, text, (gssize)len_bytes);
}
/* Several texts in turn. */
static inline void rb_texts(GString *out, const char *const *texts, size_t cnt)
{
	for (size_t i = 0; i < cnt; i++)
		rb_text(out, texts[i]);
}
#define RB_TEXT(out, ...)                                                                                              \
	rb_texts(out, (const char *const[]){ __VA_ARGS__ },                                                            \
		 sizeof((const char *const[]){ __VA_ARGS__ }) / sizeof(char *))
/* The length of an array, before its elements. */
static inline void rb_cnt(GString *out, uint64_t cnt)
{
	wire_varint(out, cnt);
}

#endif
