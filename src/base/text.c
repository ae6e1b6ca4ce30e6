/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "base/text.h"

#include <inttypes.h>

void scaled_text(GString *s, double value, const char *unit)
{
	g_string_append_printf(s, "%.*f %s", value < 9.995 ? 2 : value < 99.95 ? 1 : 0, value, unit);
}

void size_text(GString *s, uint64_t bytes)
{
	static const char *const units[] = { "KiB", "MiB", "GiB", "TiB", "PiB", "EiB" };
	double value = (double)bytes / 1024;
	unsigned i = 0;

	if (bytes < 1024) {
		g_string_append_printf(s, "%" PRIu64 " B", bytes);
		return;
	}
	for (; value >= 999.5 && i + 1 < G_N_ELEMENTS(units); i++)
		value /= 1024;
	scaled_text(s, value, units[i]);
}

bool text_is_harmless(gunichar c)
{
	GUnicodeType type = g_unichar_type(c);

	return g_unichar_isprint(c) && type != G_UNICODE_LINE_SEPARATOR && type != G_UNICODE_PARAGRAPH_SEPARATOR;
}

void text_safe(GString *s, const char *name)
{
	for (const char *p = name ? name : ""; *p;) {
		unsigned char byte = (unsigned char)*p;

		if (byte >= 0x20 && byte < 0x7f) {
			const char *from = p;

			while ((unsigned char)*p >= 0x20 && (unsigned char)*p < 0x7f)
				p++;
			g_string_append_len(s, from, p - from);
			continue;
		}
		gunichar c = byte < 0x80 ? byte : g_utf8_get_char_validated(p, -1);
		if (byte < 0x80 || c == (gunichar)-1 || c == (gunichar)-2) {
			g_string_append_printf(s, "\\x%02x", byte);
			p++;
			continue;
		}
		if (text_is_harmless(c))
			g_string_append_len(s, p, g_utf8_skip[byte]);
		else
			g_string_append_printf(s, "\\u%04x", c);
		p += g_utf8_skip[byte];
	}
}

char *text_made_safe(const char *name)
{
	GString *s = g_string_new(NULL);

	text_safe(s, name);
	return g_string_free(s, FALSE);
}
