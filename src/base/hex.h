/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef BASE_HEX_H
#define BASE_HEX_H

#include <glib.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes as hexadecimal digits in lower case, 2 * cnt of them and a 0 byte. */
static inline void hex_text(char *ret, const uint8_t *bytes, size_t cnt)
{
	ret[0] = '\0';
	for (size_t i = 0; i < cnt; i++)
		g_snprintf(ret + 2 * i, 3, "%02x", bytes[i]);
}

/* As many bytes as there are pairs of digits, at most `room`; how many. */
static inline size_t hex_bytes(uint8_t *ret, size_t room, const char *text)
{
	size_t cnt = 0;

	for (; cnt < room && g_ascii_isxdigit(text[0]) && g_ascii_isxdigit(text[1]); text += 2)
		ret[cnt++] = (uint8_t)(g_ascii_xdigit_value(text[0]) << 4 | g_ascii_xdigit_value(text[1]));
	return cnt;
}

#endif
