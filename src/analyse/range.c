/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "analyse/range.h"

#include <math.h>
#include <string.h>

#include "base/parse.h"
#include "base/refuse.h"

#define NS_A_SECOND INT64_C(1000000000)

#define bad(error, ...) refuse(error, PARSE_ERROR, 0, __VA_ARGS__)

/* A clock time; year 0: without a day. */
struct clock_time {
	int year, month, day, hour, minute;
	double second;
	GTimeZone *zone;	/* NULL: local */
};

/* Parses exactly cnt digits and advances *s. */
static bool take_digits(const char **s, unsigned cnt, int *ret)
{
	*ret = 0;
	for (unsigned i = 0; i < cnt; i++, (*s)++) {
		if (!g_ascii_isdigit(**s))
			return false;
		*ret = *ret * 10 + (**s - '0');
	}
	return true;
}

static bool take_day(const char **s, struct clock_time *t)
{
	return take_digits(s, 4, &t->year) && *(*s)++ == '-' && take_digits(s, 2, &t->month) && *(*s)++ == '-' &&
	       take_digits(s, 2, &t->day) && (**s == 'T' || **s == ' ');
}

/* HH:MM, HH:MM:SS, HH:MM:SS.FRACTION */
static bool take_time(const char **s, struct clock_time *t)
{
	int second;
	double part = 0.1;

	if (!take_digits(s, 2, &t->hour) || *(*s)++ != ':' || !take_digits(s, 2, &t->minute) || t->hour > 23 ||
	    t->minute > 59)
		return false;
	if (**s != ':')
		return true;
	(*s)++;
	if (!take_digits(s, 2, &second) || second > 59)
		return false;
	t->second = second;
	if (**s == '.' && !g_ascii_isdigit((*s)[1]))
		return false;
	for (*s += **s == '.'; g_ascii_isdigit(**s); (*s)++, part /= 10)
		t->second += (**s - '0') * part;
	return true;
}

/* Z, or +HH:MM */
static bool take_zone(const char *s, struct clock_time *t)
{
	int sign = *s == '-' ? -1 : 1, hours, minutes;

	if (strcmp(s, "Z") == 0) {
		t->zone = g_time_zone_new_utc();
		return true;
	}
	if (*s++ == '\0' || (s[-1] != '+' && s[-1] != '-') || !take_digits(&s, 2, &hours) || *s++ != ':' ||
	    !take_digits(&s, 2, &minutes) || *s || hours > 14 || minutes > 59)
		return false;
	t->zone = g_time_zone_new_offset(sign * (hours * 3600 + minutes * 60));
	return true;
}

static bool parse_clock(const char *text, struct clock_time *t)
{
	const char *s = text;

	*t = (struct clock_time){ 0 };
	if (strlen(text) > 10 && text[4] == '-' && !(take_day(&s, t) && *s++))
		return false;
	if (!take_time(&s, t))
		return false;
	return !*s || (t->year && take_zone(s, t));
}

/* Nanoseconds of CLOCK_REALTIME; false: there is no such day. */
static bool unix_ns_of(const struct clock_time *t, int year, int month, int day, int64_t *ret_ns)
{
	g_autoptr(GTimeZone) local = g_time_zone_new_local();
	g_autoptr(GDateTime) at = g_date_time_new(t->zone ? t->zone : local, year, month, day, t->hour, t->minute, 0);

	if (!at)
		return false;
	*ret_ns = g_date_time_to_unix(at) * NS_A_SECOND + (int64_t)llround(t->second * 1e9);
	return true;
}

static bool unix_ns_of_day(const struct clock_time *t, GDateTime *day, int64_t *ret_ns)
{
	return unix_ns_of(t, g_date_time_get_year(day), g_date_time_get_month(day), g_date_time_get_day_of_month(day),
			  ret_ns);
}

/*
 * A clock time without a day: on the day of the window's start; if it is not in the window then, on the first later
 * day that it is.
 */
static bool without_day(const struct clock_time *t, const struct profile_info *info, int64_t *ret_ns)
{
	g_autoptr(GDateTime) start = g_date_time_new_from_unix_local((gint64)(info->start_unix_ns / 1000000000));
	const int64_t start_ns = (int64_t)info->start_unix_ns;
	int64_t ns;

	if (!start || !unix_ns_of_day(t, start, &ns))
		return false;
	*ret_ns = ns - start_ns;
	g_autoptr(GDateTime) next = g_date_time_add_days(start, 1);

	if (*ret_ns < 0 && next && unix_ns_of_day(t, next, &ns) && ns - start_ns <= (int64_t)info->duration_ns)
		*ret_ns = ns - start_ns;
	return true;
}

static bool has_zone_or_day(const char *text)
{
	return strchr(text, ':') || strchr(text, 'T');
}

bool range_parse_unix(const char *text, uint64_t *ret_unix_ns)
{
	struct clock_time t;
	int64_t ns = -1;
	bool ok = parse_clock(text, &t) && t.year && unix_ns_of(&t, t.year, t.month, t.day, &ns) && ns >= 0;

	if (t.zone)
		g_time_zone_unref(t.zone);
	*ret_unix_ns = (uint64_t)ns;
	return ok;
}

static bool parse_clock_time(const char *text, const struct profile_info *info, int64_t *ret_ns, GError **error)
{
	struct clock_time t;
	int64_t ns = 0;
	bool ok = parse_clock(text, &t);

	if (ok && t.year)
		ok = unix_ns_of(&t, t.year, t.month, t.day, &ns);
	else if (ok)
		ok = without_day(&t, info, ret_ns);
	if (ok && t.year)
		*ret_ns = ns - (int64_t)info->start_unix_ns;
	if (t.zone)
		g_time_zone_unref(t.zone);
	return ok || bad(error, "'%s' is no clock time such as 14:32, 14:32:18.5 or 2026-11-25T14:32", text);
}

bool range_parse_time(const char *text, const struct profile_info *info, int64_t *ret_ns, GError **error)
{
	bool is_from_end = text[0] == '-';
	uint64_t ns;

	if (has_zone_or_day(text))
		return parse_clock_time(text, info, ret_ns, error);
	if (!parse_duration(text + is_from_end, (uint64_t)NS_A_SECOND, &ns, NULL) || ns > PROFILE_NS_MAX)
		return bad(
			error,
			"'%s' is neither a time within the window, such as 12.5 or 500ms, nor a clock time such as 14:32:18",
			text);
	*ret_ns = is_from_end ? (int64_t)info->duration_ns - (int64_t)ns : (int64_t)ns;
	return true;
}

bool range_check_time(const char *text, GError **error)
{
	const struct profile_info info = { 0 };
	int64_t ns;

	return range_parse_time(text, &info, &ns, error);
}

bool range_parse_moment(const char *text, uint64_t now_unix_ns, uint64_t *ret_unix_ns, GError **error)
{
	const struct profile_info now = { .start_unix_ns = now_unix_ns };
	const struct profile_info yesterday = { .start_unix_ns = now_unix_ns - 24 * 3600 * (uint64_t)NS_A_SECOND };
	bool has_day = strlen(text) > 10 && text[4] == '-';
	int64_t ns;

	if (!has_zone_or_day(text) && text[0] != '-')
		return bad(
			error,
			"'%s' is neither a clock time such as 14:32 or 2026-11-25T14:32 nor a time before now such as -10m",
			text);
	if (!range_parse_time(text, &now, &ns, error))
		return false;
	if (ns > 0 && !has_day && range_parse_time(text, &yesterday, &ns, NULL))
		ns -= 24 * 3600 * NS_A_SECOND;
	if (ns < 0 && (uint64_t)-ns > now_unix_ns)
		return bad(error, "'%s' is before 1970", text);
	*ret_unix_ns = now_unix_ns + (uint64_t)ns;
	return true;
}

bool range_parse(const char *from, const char *to, const struct profile_info *info, uint64_t *ret_from_ns,
		 uint64_t *ret_to_ns, GError **error)
{
	const int64_t window_ns = (int64_t)info->duration_ns;
	int64_t from_ns = 0, to_ns = window_ns;

	if ((from && !range_parse_time(from, info, &from_ns, error)) ||
	    (to && !range_parse_time(to, info, &to_ns, error)))
		return false;
	if (from && from_ns >= window_ns)
		return bad(error, "'%s' is not before the recording's end, %.3f s after its start", from,
			   (double)window_ns / 1e9);
	if (to && to_ns <= 0)
		return bad(error, "'%s' is not after the recording's start", to);
	if (from_ns >= to_ns)
		return bad(error, "the range from '%s' to '%s' is empty", from ? from : "the start",
			   to ? to : "the end");
	*ret_from_ns = (uint64_t)MAX(from_ns, 0);
	*ret_to_ns = (uint64_t)MIN(to_ns, window_ns);
	return true;
}
