/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */

#include <string.h>

#include "analyse/range.h"
#include "base/parse.h"
#include "base/refuse.h"

#define NS_A_SECOND UINT64_C(1000000000)
#define DAY_DIGITS 10	/* length of 2026-11-25 */

static bool bad_time(const char *text, GError **error)
{
	return refuse(error, PARSE_ERROR, 0,
		      "'%s' is no time such as 14:32, 'yesterday 14:32', 'tue 14:32', -2h (before now), 2026-11-25T14:32 or @1764081138",
		      text);
}

static bool parse_ago(const char *text, uint64_t now_ns, uint64_t *ret_ns)
{
	static const struct {
		const char *unit;
		uint64_t seconds;
	} units[] = { { "s", 1 }, { "m", 60 }, { "min", 60 }, { "h", 3600 }, { "d", 86400 }, { "w", 7 * 86400 } };
	char *end;
	double number = g_ascii_strtod(text, &end);

	if (end == text || !g_ascii_isdigit(*text) || !(number >= 0))
		return false;
	while (*end == ' ')
		end++;
	for (size_t i = 0; i < G_N_ELEMENTS(units); i++) {
		double ns = number * (double)units[i].seconds * 1e9;

		if (strcmp(end, units[i].unit) != 0 || ns > (double)now_ns)
			continue;
		*ret_ns = now_ns - (uint64_t)ns;
		return true;
	}
	return false;
}

static bool parse_seconds(const char *text, uint64_t *ret_ns)
{
	char *end;
	double seconds = g_ascii_strtod(text, &end);

	if (end == text || *end || !g_ascii_isdigit(*text) || !(seconds < 4e9))
		return false;
	*ret_ns = (uint64_t)(seconds * 1e9);
	return true;
}

/* Parses the name of a day: days before today; -1: none.  Advances *text. */
static int days_back(const char **text, GDateTime *today)
{
	static const char *const days[] = {
		"monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"
	};
	size_t len = strcspn(*text, " ");
	int back = -1;

	if (len == 5 && g_ascii_strncasecmp(*text, "today", len) == 0)
		back = 0;
	if (len == 9 && g_ascii_strncasecmp(*text, "yesterday", len) == 0)
		back = 1;
	for (int i = 0; i < 7 && back < 0; i++) {
		if (g_ascii_strncasecmp(*text, days[i], len) != 0 || (len != 3 && len != strlen(days[i])))
			continue;
		back = g_date_time_get_day_of_week(today) - 1 - i;
		back += back <= 0 ? 7 : 0;
	}
	if (back >= 0)
		*text += len;
	return back;
}

/* A clock time on that day, in its local time zone. */
static bool on_day(const char *time, GDateTime *day, uint64_t *ret_ns)
{
	g_autofree char *date = g_date_time_format(day, "%Y-%m-%d");
	g_autofree char *text = g_strdup_printf("%sT%s", date, *time ? time : "00:00");

	return strspn(time, "0123456789:.") == strlen(time) && range_parse_unix(text, ret_ns);
}

static bool parse_words(const char *text, GDateTime *now, uint64_t now_ns, uint64_t *ret_ns)
{
	const char *rest = text;
	int back = days_back(&rest, now);
	g_autoptr(GDateTime) day = g_date_time_add_days(now, back < 0 ? 0 : -back);

	while (*rest == ' ')
		rest++;
	if (!day || (back < 0 && !*rest) || !on_day(rest, day, ret_ns))
		return false;
	if (back >= 0 || *ret_ns <= now_ns)
		return true;
	/* it is not that late yet today */
	g_autoptr(GDateTime) before = g_date_time_add_days(now, -1);

	return before && on_day(rest, before, ret_ns);
}

bool moment_parse(const char *text, uint64_t now_unix_ns, uint64_t *ret_unix_ns, GError **error)
{
	g_autoptr(GDateTime) now = g_date_time_new_from_unix_local((gint64)(now_unix_ns / NS_A_SECOND));
	bool is_date = strlen(text) >= DAY_DIGITS && text[4] == '-' && text[7] == '-';
	g_autofree char *ago = g_str_has_suffix(text, " ago") ? g_strndup(text, strlen(text) - 4) : NULL;
	g_autofree char *date = is_date && !text[DAY_DIGITS] ? g_strconcat(text, "T00:00", NULL) : g_strdup(text);
	bool ok;

	*ret_unix_ns = now_unix_ns;
	if (!now)
		return bad_time(text, error);
	if (strcmp(text, "now") == 0)
		ok = true;
	else if (text[0] == '-' || ago || g_str_has_prefix(text, "now-"))
		ok = parse_ago(ago ? ago : strchr(text, '-') + 1, now_unix_ns, ret_unix_ns);
	else if (text[0] == '@')
		ok = parse_seconds(text + 1, ret_unix_ns);
	else if (is_date)
		ok = range_parse_unix(date, ret_unix_ns);
	else
		ok = parse_words(text, now, now_unix_ns, ret_unix_ns);
	return ok || bad_time(text, error);
}

bool moment_parse_end(const char *text, const char *from, uint64_t from_unix_ns, uint64_t now_unix_ns,
		      uint64_t *ret_unix_ns, GError **error)
{
	bool is_clock = strspn(text, "0123456789:.") == strlen(text);
	bool says_day = g_ascii_isalpha(*from) ? strchr(from, ' ') != NULL
					       : strlen(from) > DAY_DIGITS && from[4] == '-';
	g_autoptr(GDateTime) day = g_date_time_new_from_unix_local((gint64)(from_unix_ns / NS_A_SECOND));
	uint64_t ns;

	if (!moment_parse(text, now_unix_ns, ret_unix_ns, error))
		return false;
	if (!is_clock || !day || (!says_day && *ret_unix_ns > from_unix_ns))
		return true;
	g_autoptr(GDateTime) next = g_date_time_add_days(day, 1);

	if ((on_day(text, day, &ns) && ns > from_unix_ns) || (next && on_day(text, next, &ns)))
		*ret_unix_ns = MIN(ns, now_unix_ns);
	return true;
}

bool moment_range(const char *from, const char *to, const char *dashes, uint64_t usual_ns, uint64_t now_unix_ns,
		  uint64_t *ret_from_unix_ns, uint64_t *ret_to_unix_ns, GError **error)
{
	*ret_to_unix_ns = now_unix_ns;
	if (from && !moment_parse(from, now_unix_ns, ret_from_unix_ns, error)) {
		g_prefix_error(error, "%sfrom: ", dashes);
		return false;
	}
	if (to && !(from ? moment_parse_end(to, from, *ret_from_unix_ns, now_unix_ns, ret_to_unix_ns, error)
			 : moment_parse(to, now_unix_ns, ret_to_unix_ns, error))) {
		g_prefix_error(error, "%sto: ", dashes);
		return false;
	}
	if (!from)
		*ret_from_unix_ns = *ret_to_unix_ns - MIN(*ret_to_unix_ns, usual_ns);
	if (*ret_from_unix_ns < *ret_to_unix_ns)
		return true;
	return refuse(error, PARSE_ERROR, 0, "the range from '%s' to '%s' is empty", from ? from : "an hour before", to ? to : "now");
}
