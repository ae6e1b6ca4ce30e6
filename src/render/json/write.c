/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "render/json/write.h"

#include <string.h>

#include "base/text.h"
#include "profile/profile.h"

void json_init(struct json *j, GString *out)
{
	memset(j, 0, sizeof(*j));
	j->out = out;
}

void json_begin(struct json *j, GString *out)
{
	json_init(j, out);
	json_object_begin(j);
}

static void before_value(struct json *j)
{
	if (j->after_key) {
		j->after_key = false;
		return;
	}
	if (j->comma[j->depth])
		g_string_append_c(j->out, ',');
	j->comma[j->depth] = true;
}

static void begin_bracket(struct json *j, char bracket)
{
	before_value(j);
	g_assert(j->depth < JSON_DEPTH_MAX);
	g_string_append_c(j->out, bracket);
	j->comma[++j->depth] = false;
}

static void end_bracket(struct json *j, char bracket)
{
	g_assert(j->depth > 0);
	j->depth--;
	g_string_append_c(j->out, bracket);
}

void json_object_begin(struct json *j)
{
	begin_bracket(j, '{');
}

void json_object_end(struct json *j)
{
	end_bracket(j, '}');
}

void json_end(struct json *j)
{
	json_object_end(j);
	g_string_append_c(j->out, '\n');
}

void json_array_begin(struct json *j)
{
	begin_bracket(j, '[');
}

void json_array_end(struct json *j)
{
	end_bracket(j, ']');
}

void json_key(struct json *j, const char *key)
{
	before_value(j);
	g_string_append_c(j->out, '"');
	g_string_append(j->out, key);
	g_string_append_len(j->out, "\":", 2);
	j->after_key = true;
}

void json_any_key(struct json *j, const char *key)
{
	before_value(j);
	json_quote(j->out, key);
	g_string_append_c(j->out, ':');
	j->after_key = true;
}

static void quote_special(GString *out, unsigned char c)
{
	switch (c) {
	case '"': g_string_append_len(out, "\\\"", 2); break;
	case '\\': g_string_append_len(out, "\\\\", 2); break;
	case '\n': g_string_append_len(out, "\\n", 2); break;
	case '\t': g_string_append_len(out, "\\t", 2); break;
	case '\r': g_string_append_len(out, "\\r", 2); break;
	default: g_string_append_printf(out, "\\u%04x", c); break;
	}
}

/* Terminals also obey two-byte control characters (C1), so these are escaped.  JSON readers get the same text. */
static void quote_unicode(GString *out, const char *p, gunichar u)
{
	if (text_is_harmless(u))
		g_string_append_len(out, p, g_utf8_skip[(unsigned char)*p]);
	else if (u < 0x10000)
		g_string_append_printf(out, "\\u%04x", u);
	else
		g_string_append_printf(out, "\\u%04x\\u%04x", 0xd7c0 + (u >> 10), 0xdc00 + (u & 0x3ff));
}

static bool is_plain(unsigned char c)
{
	return c >= 0x20 && c < 0x7f && c != '"' && c != '\\';
}

/* Writes the special character at p; returns the position after it. */
static const char *quote_one(GString *out, const char *p)
{
	unsigned char c = (unsigned char)*p;

	if (c < 0x80) {
		quote_special(out, c);
		return p + 1;
	}
	gunichar u = g_utf8_get_char_validated(p, -1);
	if (u == (gunichar)-1 || u == (gunichar)-2) {
		g_string_append_len(out, "\xef\xbf\xbd", 3);
		return p + 1;
	}
	quote_unicode(out, p, u);
	return p + g_utf8_skip[c];
}

void json_quote(GString *out, const char *s)
{
	g_string_append_c(out, '"');
	for (const char *p = s ? s : ""; *p;) {
		const char *from = p;

		while (is_plain((unsigned char)*p))
			p++;
		g_string_append_len(out, from, p - from);
		if (*p)
			p = quote_one(out, p);
	}
	g_string_append_c(out, '"');
}

#define CUT "..."

void json_quote_within(GString *out, const char *s, size_t max_bytes)
{
	size_t from = out->len + 1, cut_at = from;	/* last position that leaves room for CUT */

	g_string_append_c(out, '"');
	for (const char *p = s ? s : ""; *p;) {
		if (is_plain((unsigned char)*p))
			g_string_append_c(out, *p++);
		else
			p = quote_one(out, p);
		if (out->len - from > max_bytes) {
			g_string_truncate(out, cut_at);
			g_string_append(out, CUT);
			break;
		}
		if (out->len - from + strlen(CUT) <= max_bytes)
			cut_at = out->len;
	}
	g_string_append_c(out, '"');
}

void json_digits(GString *out, uint64_t n)
{
	char digits[20];
	unsigned at = sizeof(digits);

	do {
		digits[--at] = (char)('0' + n % 10);
		n /= 10;
	} while (n);
	g_string_append_len(out, digits + at, (gssize)(sizeof(digits) - at));
}

void json_string(struct json *j, const char *s)
{
	before_value(j);
	if (s && j->string_max)
		json_quote_within(j->out, s, j->string_max);
	else if (s)
		json_quote(j->out, s);
	else
		g_string_append_len(j->out, "null", 4);
}

void json_uint(struct json *j, uint64_t n)
{
	before_value(j);
	json_digits(j->out, n);
}

void json_int(struct json *j, int64_t n)
{
	before_value(j);
	if (n < 0)
		g_string_append_c(j->out, '-');
	json_digits(j->out, n < 0 ? 0 - (uint64_t)n : (uint64_t)n);
}

void json_bool(struct json *j, bool b)
{
	before_value(j);
	g_string_append(j->out, b ? "true" : "false");
}

void json_null(struct json *j)
{
	json_string(j, NULL);
}

void json_raw(struct json *j, const char *text, gsize len)
{
	before_value(j);
	g_string_append_len(j->out, text, (gssize)len);
}

void json_member_string(struct json *j, const char *key, const char *s)
{
	json_key(j, key);
	json_string(j, s);
}

void json_member_text(struct json *j, const char *key, const char *s)
{
	if (s)
		json_member_string(j, key, s);
}

void json_member_uint(struct json *j, const char *key, uint64_t n)
{
	json_key(j, key);
	json_uint(j, n);
}

void json_member_int(struct json *j, const char *key, int64_t n)
{
	json_key(j, key);
	json_int(j, n);
}

void json_member_bool(struct json *j, const char *key, bool b)
{
	json_key(j, key);
	json_bool(j, b);
}

void json_member_object(struct json *j, const char *key)
{
	json_key(j, key);
	json_object_begin(j);
}

void json_member_array(struct json *j, const char *key)
{
	json_key(j, key);
	json_array_begin(j);
}

void json_member_hist(struct json *j, const uint32_t *hist)
{
	json_member_array(j, "log2_ns");
	for (unsigned i = 0; i < PROFILE_HIST_SLOTS; i++) {
		if (!hist[i])
			continue;
		json_array_begin(j);
		json_uint(j, i);
		json_uint(j, hist[i]);
		json_array_end(j);
	}
	json_array_end(j);
}

void json_member_known(struct json *j, const char *key, uint64_t n, bool is_known)
{
	json_key(j, key);
	if (is_known)
		json_uint(j, n);
	else
		json_null(j);
}
