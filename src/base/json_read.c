/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "base/json_read.h"

#include <string.h>

static char fail(struct json_reader *r)
{
	r->bad = true;
	r->at = r->end;
	return 0;
}

static char next_byte(struct json_reader *r)
{
	while (r->at < r->end && (*r->at == ' ' || *r->at == '\t' || *r->at == '\n' || *r->at == '\r'))
		r->at++;
	return r->at < r->end ? *r->at : 0;
}

char json_peek(struct json_reader *r)
{
	char c = next_byte(r);

	if (c == '{' || c == '[' || c == '"' || c == 't' || c == 'f')
		return c;
	if (c == 'n')
		return 'z';
	return c == '-' || g_ascii_isdigit(c) ? 'n' : fail(r);
}

bool json_enter(struct json_reader *r, char open)
{
	if (next_byte(r) != open)
		return fail(r);
	r->at++;
	return true;
}

/* To the next element of a list, or past its end. */
static bool next_in_list(struct json_reader *r, bool *first, char close)
{
	char c = next_byte(r);

	if (c == close) {
		r->at++;
		return false;
	}
	if (!c || (!*first && c != ','))
		return fail(r);
	if (!*first)
		r->at++;
	*first = false;
	return !r->bad && r->at < r->end;
}

bool json_next_member(struct json_reader *r, bool *first, GString *key)
{
	if (!next_in_list(r, first, '}'))
		return false;
	if (!json_read_string(r, key) || next_byte(r) != ':')
		return fail(r);
	r->at++;
	return true;
}

bool json_next_element(struct json_reader *r, bool *first)
{
	return next_in_list(r, first, ']') && json_peek(r);
}

static bool read_unit(struct json_reader *r, gunichar *ret_unit)
{
	*ret_unit = 0;
	if (r->end - r->at < 4)
		return fail(r);
	for (int i = 0; i < 4; i++) {
		int digit = g_ascii_xdigit_value(*r->at++);

		if (digit < 0)
			return fail(r);
		*ret_unit = *ret_unit << 4 | (gunichar)digit;
	}
	return true;
}

/* After "\u"; reads both halves of a surrogate pair. */
static bool read_unicode(struct json_reader *r, GString *text)
{
	gunichar c, low;

	if (!read_unit(r, &c))
		return false;
	if (c >= 0xd800 && c < 0xdc00 && r->end - r->at >= 6 && r->at[0] == '\\' && r->at[1] == 'u') {
		r->at += 2;
		if (!read_unit(r, &low))
			return false;
		c = low >= 0xdc00 && low < 0xe000 ? 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00) : 0xfffd;
	}
	g_string_append_unichar(text, c == 0 || (c >= 0xd800 && c < 0xe000) ? 0xfffd : c);
	return true;
}

static bool read_escape(struct json_reader *r, GString *text)
{
	static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
	char c = r->at < r->end ? *r->at++ : 0;
	const char *known = c ? strchr(from, c) : NULL;

	if (c == 'u')
		return read_unicode(r, text);
	if (!known)
		return fail(r);
	g_string_append_c(text, to[known - from]);
	return true;
}

bool json_read_string(struct json_reader *r, GString *ret_text)
{
	g_string_truncate(ret_text, 0);
	if (next_byte(r) != '"')
		return fail(r);
	r->at++;
	for (;;) {
		const char *from = r->at;

		while (r->at < r->end && *r->at != '"' && *r->at != '\\' && *r->at != '\0')
			r->at++;
		g_string_append_len(ret_text, from, r->at - from);
		if (r->at == r->end || *r->at == '\0')
			return fail(r);
		if (*r->at++ == '"')
			return true;
		if (!read_escape(r, ret_text))
			return false;
	}
}

static bool read_digits(struct json_reader *r)
{
	const char *from = r->at;

	while (r->at < r->end && g_ascii_isdigit(*r->at))
		r->at++;
	return r->at > from || fail(r);
}

static bool read_any_of(struct json_reader *r, const char *bytes)
{
	if (r->at == r->end || !*r->at || !strchr(bytes, *r->at))
		return false;
	r->at++;
	return true;
}

bool json_read_number(struct json_reader *r, const char **ret_text, gsize *ret_len)
{
	if (json_peek(r) != 'n')
		return fail(r);
	*ret_text = r->at;
	read_any_of(r, "-");
	if (!read_any_of(r, "0"))
		read_digits(r);
	if (read_any_of(r, "."))
		read_digits(r);
	if (read_any_of(r, "eE")) {
		read_any_of(r, "+-");
		read_digits(r);
	}
	*ret_len = (gsize)(r->at - *ret_text);
	return !r->bad;
}

static void read_word(struct json_reader *r, const char *word)
{
	const gsize len = strlen(word);

	if ((gsize)(r->end - r->at) < len || memcmp(r->at, word, len) != 0)
		fail(r);
	else
		r->at += len;
}

bool json_read_bool(struct json_reader *r)
{
	const bool is_true = json_peek(r) == 't';

	read_word(r, is_true ? "true" : "false");
	return is_true && !r->bad;
}

static void skip(struct json_reader *r, GString *text, unsigned depth)
{
	const char next = json_peek(r), *number;
	bool first = true;
	gsize len;

	if ((next == '{' || next == '[') && depth == JSON_READ_DEPTH_MAX) {
		fail(r);
	} else if (next == '{') {
		for (json_enter(r, '{'); json_next_member(r, &first, text);)
			skip(r, text, depth + 1);
	} else if (next == '[') {
		for (json_enter(r, '['); json_next_element(r, &first);)
			skip(r, text, depth + 1);
	} else if (next == '"') {
		json_read_string(r, text);
	} else if (next == 'n') {
		json_read_number(r, &number, &len);
	} else if (next == 'z') {
		read_word(r, "null");
	} else {
		json_read_bool(r);
	}
}

void json_skip(struct json_reader *r)
{
	g_autoptr(GString) text = g_string_new(NULL);

	skip(r, text, 0);
}

bool json_read_raw(struct json_reader *r, const char **ret_text, gsize *ret_len)
{
	json_peek(r);
	*ret_text = r->at;
	json_skip(r);
	*ret_len = r->bad ? 0 : (gsize)(r->at - *ret_text);
	return !r->bad;
}

bool json_at_end(struct json_reader *r)
{
	return !next_byte(r) && r->at == r->end && !r->bad;
}
