/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "push/advice.h"

#include <string.h>

/* Of ClickHouse's error codes: what tells of tables. */
enum { NO_SUCH_COLUMN = 16, UNKNOWN_IDENTIFIER = 47, UNKNOWN_TABLE = 60, UNKNOWN_DATABASE = 81 };

static const char *on_tables(const char *words)
{
	if (!g_str_has_prefix(words, "Code: "))
		return NULL;
	switch (strtoul(words + strlen("Code: "), NULL, 10)) {
	case UNKNOWN_TABLE:
	case UNKNOWN_DATABASE: return "share/offcpu/clickhouse/schema.sql makes its tables";
	case NO_SUCH_COLUMN:
	case UNKNOWN_IDENTIFIER:
		return "its tables are of another version of offcpu: this one's share/offcpu/clickhouse/schema.sql is wanted";
	default: return NULL;
	}
}

bool advice_is_page(const void *text, gsize len_bytes)
{
	const char *s = text;
	gsize at = 0;

	while (at < len_bytes && g_ascii_isspace(s[at]))
		at++;
	return at < len_bytes && s[at] == '<';
}

char *advice_on(const struct engine *e, const struct http_answer *a, const char *words, bool has_credentials)
{
	const char *tables = e->series ? NULL : on_tables(words);

	if (tables)
		return g_strdup(tables);
	if (a->status >= 300 && a->status < 400)
		return g_strdup("it redirects, which is not followed: the address that it redirects to is wanted");
	switch (a->status) {
	case 401:
	case 403:
		return g_strdup(
			has_credentials
				? "the user, password or token of --credentials is not known there, or may not do that"
				: "a user and a password, or a token, are wanted: --credentials FILE");
	case 404:
		return e->series ? g_strdup_printf("it has no %s: is it %s, of a version that takes profiles?", e->path,
						   e->title)
				 : g_strdup_printf("is it %s, and its port for HTTP?", e->title);
	default: return NULL;
	}
}
