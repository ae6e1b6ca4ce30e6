/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "render/svg/text.h"

#include <inttypes.h>
#include <math.h>

/* A hostile name may be as long as its recording. */
#define TEXT_MAX_CHARS 4096

static gunichar harmless(gunichar c)
{
	if (c < 0x20)
		return 0x2400 + c;
	if (c == 0x7f)
		return 0x2421;
	if ((c >= 0x80 && c < 0xa0) || (c >= 0xd800 && c <= 0xdfff) || (c & 0xfffe) == 0xfffe || c > 0x10ffff)
		return 0xfffd;
	/* Marks that reorder or hide the text around them, and line separators. */
	if ((c >= 0x200b && c <= 0x200f) || (c >= 0x2028 && c <= 0x202e) || (c >= 0x2060 && c <= 0x206f) ||
	    c == 0x061c || c == 0xfeff)
		return 0xfffd;
	return c;
}

/* The next character of *s made harmless, *s moved on; 0 at the end. */
static gunichar next_char(const char **s)
{
	if (!**s)
		return 0;
	gunichar c = g_utf8_get_char_validated(*s, -1);

	if (c == (gunichar)-1 || c == (gunichar)-2) {
		(*s)++;
		return 0xfffd;
	}
	*s = g_utf8_next_char(*s);
	return harmless(c);
}

static unsigned char_cells(gunichar c)
{
	return g_unichar_iswide(c) ? 2 : 1;
}

static void append_char(GString *out, gunichar c)
{
	switch (c) {
	case '&': g_string_append(out, "&amp;"); break;
	case '<': g_string_append(out, "&lt;"); break;
	case '>': g_string_append(out, "&gt;"); break;	/* so that "]]>" never stands in text */
	case '"': g_string_append(out, "&quot;"); break;
	case '\'': g_string_append(out, "&#39;"); break;
	default: g_string_append_unichar(out, c);
	}
}

void svg_escape(GString *out, const char *s)
{
	gunichar c;

	for (unsigned i = 0; (c = next_char(&s)); i++) {
		if (i == TEXT_MAX_CHARS) {
			g_string_append(out, "…");
			return;
		}
		append_char(out, c);
	}
}

void svg_clean(GString *out, const char *s)
{
	gunichar c;

	for (unsigned i = 0; (c = next_char(&s)); i++) {
		if (i == TEXT_MAX_CHARS) {
			g_string_append(out, "…");
			return;
		}
		g_string_append_unichar(out, c);
	}
}

unsigned svg_cells(const char *s)
{
	unsigned cells = 0;
	gunichar c;

	while (cells < TEXT_MAX_CHARS && (c = next_char(&s)))
		cells += char_cells(c);
	return cells;
}

void svg_escape_cut(GString *out, const char *s, unsigned cells)
{
	unsigned used = 0;
	gunichar c;

	if (svg_cells(s) <= cells) {
		svg_escape(out, s);
		return;
	}
	while ((c = next_char(&s)) && used + char_cells(c) + 1 <= cells) {
		append_char(out, c);
		used += char_cells(c);
	}
	g_string_append(out, "…");
}

/* value to `decimals` places without trailing zeros where `trim`; printf would ask the locale. */
static void append_fixed(GString *out, double value, unsigned decimals, bool trim)
{
	static const double scale[] = { 1, 10, 100, 1000 };
	char buf[32], sign = value < 0;
	uint64_t n = (uint64_t)llround(fabs(value) * scale[decimals]);
	int len = g_snprintf(buf, sizeof(buf), "%0*" PRIu64, (int)decimals + 1, n);
	int whole = len - (int)decimals;

	if (trim)
		while (len > whole && buf[len - 1] == '0')
			len--;
	if (sign && n)
		g_string_append_c(out, '-');
	g_string_append_len(out, buf, whole);
	if (len > whole) {
		g_string_append_c(out, '.');
		g_string_append_len(out, buf + whole, len - whole);
	}
}

void svg_px(GString *out, double px)
{
	append_fixed(out, px, 2, true);
}

void svg_time(GString *out, uint64_t ns)
{
	static const struct { uint64_t ns; const char *unit; } units[] = {
		{ 1000000000, "s" }, { 1000000, "ms" }, { 1000, "µs" },
	};

	if (ns >= 120 * UINT64_C(1000000000)) {
		uint64_t s = ns / 1000000000;
		if (s >= 7200)
			g_string_append_printf(out, "%" PRIu64 " h %02" PRIu64 " min", s / 3600, s % 3600 / 60);
		else
			g_string_append_printf(out, "%" PRIu64 " min %02" PRIu64 " s", s / 60, s % 60);
		return;
	}
	for (unsigned i = 0; i < G_N_ELEMENTS(units); i++) {
		if (ns < units[i].ns)
			continue;
		double v = (double)ns / (double)units[i].ns;
		append_fixed(out, v, v < 9.995 ? 2 : v < 99.95 ? 1 : 0, false);
		g_string_append_printf(out, " %s", units[i].unit);
		return;
	}
	g_string_append_printf(out, "%" PRIu64 " ns", ns);
}

void svg_count(GString *out, uint64_t n)
{
	char buf[32];
	int len = g_snprintf(buf, sizeof(buf), "%" PRIu64, n);

	for (int i = 0; i < len; i++) {
		if (i && (len - i) % 3 == 0)
			g_string_append_c(out, ',');
		g_string_append_c(out, buf[i]);
	}
}

void svg_amount(GString *out, enum weight weight, uint64_t amount)
{
	if (weight != WEIGHT_COUNT) {
		svg_time(out, amount);
		return;
	}
	svg_count(out, amount);
	g_string_append(out, amount == 1 ? " wait" : " waits");
}

void svg_percent(GString *out, uint64_t part, uint64_t whole)
{
	double percent = whole ? 100.0 * (double)part / (double)whole : 0;

	/* In words: a "<" would have to be escaped wherever this is put. */
	if (percent > 0 && percent < 0.001) {
		g_string_append(out, "under 0.001%");
		return;
	}
	append_fixed(out, percent, percent < 0.0995 ? 3 : 1, true);
	g_string_append_c(out, '%');
}
