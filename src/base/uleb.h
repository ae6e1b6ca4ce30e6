/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef BASE_ULEB_H
#define BASE_ULEB_H

#include <glib.h>
#include <stdint.h>

/* Unsigned LEB128, as cursor_uleb() reads it. */
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
