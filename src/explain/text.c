/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "explain/text.h"

#include <inttypes.h>
#include <string.h>

#include "profile/profile.h"

#define BAR_WIDTH 40
#define VALUE_WIDTH 16

struct unit {
	const char *name;
	double ns;
};

static void append_minutes(GString *s, uint64_t ns)
{
	uint64_t seconds = ns / 1000000000 + (ns % 1000000000 >= 500000000), minutes = (seconds + 30) / 60;

	if (seconds < 3600)
		g_string_append_printf(s, "%" PRIu64 " min %" PRIu64 " s", seconds / 60, seconds % 60);
	else
		g_string_append_printf(s, "%" PRIu64 " h %" PRIu64 " min", minutes / 60, minutes % 60);
}

void text_duration(GString *s, uint64_t ns)
{
	static const struct unit units[] = { { "us", 1e3 }, { "ms", 1e6 }, { "s", 1e9 } };
	static const double below[] = { 999.5, 999.5 };
	unsigned i = 0;

	if (ns == 0) {
		g_string_append_c(s, '0');
		return;
	}
	if (ns < 1000) {
		g_string_append_printf(s, "%" PRIu64 " ns", ns);
		return;
	}
	if (ns >= UINT64_C(119500000000)) {
		append_minutes(s, ns);
		return;
	}
	while (i < G_N_ELEMENTS(below) && (double)ns / units[i].ns >= below[i])
		i++;
	scaled_text(s, (double)ns / units[i].ns, units[i].name);
}

void text_duration_signed(GString *s, int64_t ns)
{
	if (ns < 0)
		g_string_append_c(s, '-');
	text_duration(s, ns < 0 ? 0 - (uint64_t)ns : (uint64_t)ns);
}

void text_relative_error(GString *s, double se, uint64_t of)
{
	double pct = of ? 100 * se / (double)of : 0;

	if (pct >= 100)
		g_string_append(s, " \302\261>100%");	/* next to nothing is known */
	else if (pct >= 1)
		g_string_append_printf(s, " \302\261%.*f%%", pct >= 9.95 ? 0 : 1, pct);
}

void text_thousands(GString *s, uint64_t n)
{
	char digits[24];
	int len = g_snprintf(digits, sizeof(digits), "%" PRIu64, n);

	for (int i = 0; i < len; i++) {
		if (i && (len - i) % 3 == 0)
			g_string_append_c(s, ',');
		g_string_append_c(s, digits[i]);
	}
}

const char *text_number(char *room, void (*append)(GString *s, uint64_t n), uint64_t n)
{
	g_autoptr(GString) s = g_string_new(NULL);

	append(s, n);
	g_strlcpy(room, s->str, TEXT_ROOM);
	return room;
}

static unsigned char_width(gunichar c)
{
	return g_unichar_iszerowidth(c) ? 0 : g_unichar_iswide(c) ? 2 : 1;
}

unsigned text_width(const char *safe)
{
	unsigned width = 0;

	for (const char *p = safe; *p; p = g_utf8_next_char(p))
		width += char_width(g_utf8_get_char(p));
	return width;
}

unsigned text_safe_cut(GString *s, const char *name, unsigned width)
{
	g_autoptr(GString) safe = g_string_new(NULL);
	unsigned used = 0;

	text_safe(safe, name);
	unsigned whole = text_width(safe->str);
	if (width == 0 || whole <= width) {
		g_string_append_len(s, safe->str, (gssize)safe->len);
		return whole;
	}
	unsigned room = width > 2 ? width - 2 : width;
	const char *p = safe->str;
	for (; *p && used + char_width(g_utf8_get_char(p)) <= room; p = g_utf8_next_char(p))
		used += char_width(g_utf8_get_char(p));
	g_string_append_len(s, safe->str, p - safe->str);
	if (width > 2) {
		g_string_append(s, "..");
		used += 2;
	}
	return used;
}

void text_who(GString *s, const char *name, uint32_t id, unsigned width)
{
	text_safe_cut(s, name, width);
	g_string_append_printf(s, "/%" PRIu32, id);
}

static void append_blanks(GString *s, unsigned from, unsigned to)
{
	for (; from < to; from++)
		g_string_append_c(s, ' ');
}

void text_right(GString *s, const char *cell, unsigned width)
{
	append_blanks(s, text_width(cell), width);
	g_string_append(s, cell);
}

void text_left(GString *s, const char *cell, unsigned width)
{
	g_string_append(s, cell);
	append_blanks(s, text_width(cell), width);
}

void text_duration_cell(GString *s, uint64_t ns, unsigned width)
{
	g_autoptr(GString) cell = g_string_new(NULL);

	text_duration(cell, ns);
	if (text_width(cell->str) >= width) {	/* "14m 55s" */
		g_string_replace(cell, " min", "m", 0);
		g_string_replace(cell, " h", "h", 0);
		g_string_replace(cell, " s", "s", 0);
	}
	if (text_width(cell->str) >= width)	/* keep a blank after the previous cell */
		g_string_append_c(s, ' ');
	text_right(s, cell->str, width);
}

void text_safe_cell(GString *s, const char *name, unsigned width)
{
	g_autoptr(GString) cell = g_string_new(NULL);

	text_safe_cut(cell, name, width);
	text_left(s, cell->str, width);
}

double text_percent(uint64_t part, uint64_t whole)
{
	return whole ? 100.0 * (double)part / (double)whole : 0;
}

static void quantize_line(GString *s, const char *indent, int slot, uint64_t count, uint64_t sum)
{
	unsigned bar = (unsigned)((double)count * BAR_WIDTH / (double)sum + 0.5);
	char bars[BAR_WIDTH + 1];

	memset(bars, '@', bar);
	bars[bar] = '\0';
	g_string_append(s, indent);
	text_duration_cell(s, slot < 0 ? 0 : UINT64_C(1) << slot, VALUE_WIDTH);
	g_string_append_printf(s, " |%-*s %" PRIu64 "\n", BAR_WIDTH, bars, count);
}

void text_quantize(GString *s, const uint64_t *hist, const char *indent)
{
	int first = -1, last = -1;
	uint64_t sum = 0;

	for (int i = 0; i < PROFILE_HIST_SLOTS; i++) {
		if (!hist[i])
			continue;
		first = first < 0 ? i : first;
		last = i;
		sum += hist[i];
	}
	if (first < 0)
		return;
	g_string_append_printf(s, "%s%*s  ------------- Distribution ------------- count\n", indent, VALUE_WIDTH, "value");
	for (int i = first - 1; i <= last + 1; i++)
		quantize_line(s, indent, i, i >= 0 && i < PROFILE_HIST_SLOTS ? hist[i] : 0, sum);
}

#define LOST_PERCENT 0.1	/* more is reported */

double text_lost_percent(const struct profile *p)
{
	uint64_t observed = 0, lost = 0;

	for (uint32_t i = 0; i < p->threads->len; i++) {
		observed += thread_observed_ns(profile_thread(p, i));
		lost += profile_thread(p, i)->lost_ns;
	}
	double percent = text_percent(lost, observed);

	return percent > LOST_PERCENT ? percent : 0;
}

void text_clock_as(GString *s, uint64_t unix_ns, const char *format)
{
	g_autoptr(GDateTime) when = g_date_time_new_from_unix_local((gint64)(unix_ns / 1000000000));
	g_autofree char *text = when ? g_date_time_format(when, format) : NULL;

	g_string_append(s, text ? text : "?");
}

bool text_same_day(uint64_t a_unix_ns, uint64_t b_unix_ns)
{
	g_autoptr(GDateTime) a = g_date_time_new_from_unix_local((gint64)(a_unix_ns / 1000000000));
	g_autoptr(GDateTime) b = g_date_time_new_from_unix_local((gint64)(b_unix_ns / 1000000000));

	return a && b && g_date_time_get_day_of_year(a) == g_date_time_get_day_of_year(b) &&
	       g_date_time_get_year(a) == g_date_time_get_year(b);
}

void text_clock_ms(GString *s, uint64_t unix_ns, const struct profile_info *info)
{
	const uint64_t end_ns = MAX(info->history.to_unix_ns, info->start_unix_ns);

	text_clock_as(s, unix_ns,
			text_same_day(unix_ns, info->start_unix_ns) && text_same_day(unix_ns, end_ns) ? "%H:%M:%S"
											    : "%Y-%m-%d %H:%M:%S");
	g_string_append_printf(s, ".%03u", (unsigned)(unix_ns / 1000000 % 1000));
}
