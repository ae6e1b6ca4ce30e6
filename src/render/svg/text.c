/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "render/svg/svg.h"

#include <inttypes.h>
#include <math.h>

#include "base/text.h"

/* A hostile name may be as long as the whole recording. */
#define TEXT_MAX_CHARS 4096

/* text_safe() of s, truncated.  The caller frees it. */
static char *safe_name(const char *s)
{
	GString *safe = g_string_new(NULL);

	text_safe(safe, s);
	if (safe->len > TEXT_MAX_CHARS && g_utf8_strlen(safe->str, (gssize)safe->len) > TEXT_MAX_CHARS) {
		g_string_truncate(safe, (gsize)(g_utf8_offset_to_pointer(safe->str, TEXT_MAX_CHARS) - safe->str));
		g_string_append(safe, "…");
	}
	return g_string_free(safe, FALSE);
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
	case '>': g_string_append(out, "&gt;"); break;	/* so that "]]>" never occurs in text */
	case '"': g_string_append(out, "&quot;"); break;
	case '\'': g_string_append(out, "&#39;"); break;
	default: g_string_append_unichar(out, c);
	}
}

static void append_safe(GString *out, const char *safe)
{
	for (; *safe; safe = g_utf8_next_char(safe))
		append_char(out, g_utf8_get_char(safe));
}

void svg_escape(GString *out, const char *s)
{
	g_autofree char *safe = safe_name(s);

	append_safe(out, safe);
}

void svg_clean(GString *out, const char *s)
{
	g_autofree char *safe = safe_name(s);

	g_string_append(out, safe);
}

static unsigned safe_cells(const char *safe)
{
	unsigned cells = 0;

	for (; *safe; safe = g_utf8_next_char(safe))
		cells += char_cells(g_utf8_get_char(safe));
	return cells;
}

unsigned svg_cells(const char *s)
{
	g_autofree char *safe = safe_name(s);

	return safe_cells(safe);
}

void svg_escape_cut(GString *out, const char *s, unsigned cells)
{
	g_autofree char *safe = safe_name(s);
	unsigned used = 0;

	if (safe_cells(safe) <= cells) {
		append_safe(out, safe);
		return;
	}
	for (const char *p = safe; *p && used + char_cells(g_utf8_get_char(p)) + 1 <= cells; p = g_utf8_next_char(p)) {
		append_char(out, g_utf8_get_char(p));
		used += char_cells(g_utf8_get_char(p));
	}
	g_string_append(out, "…");
}

/* value with `decimals` places, without trailing zeros if `trim`; printf would use the locale. */
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

	/* In words: "<" would need escaping. */
	if (percent > 0 && percent < 0.001) {
		g_string_append(out, "under 0.001%");
		return;
	}
	append_fixed(out, percent, percent < 0.0995 ? 3 : 1, true);
	g_string_append_c(out, '%');
}
