/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "symbolize/names/demangle.h"

#include <string.h>

#define OUTPUT_MAX_BYTES 4096
#define DEPTH_MAX 128
#define STEPS_MAX 20000
#define PUNYCODE_MAX 128

void rust_fail(struct rust *r)
{
	r->failed = true;
	r->p = r->end;	/* ends all loops */
}

char rust_next(struct rust *r)
{
	if (r->p < r->end)
		return *r->p++;
	rust_fail(r);
	return 0;
}

bool rust_eat(struct rust *r, char c)
{
	if (r->p >= r->end || *r->p != c)
		return false;
	r->p++;
	return true;
}

void rust_print_len(struct rust *r, const char *text, size_t len)
{
	if (r->failed || r->silent)
		return;
	if (r->out->len + len > OUTPUT_MAX_BYTES)
		rust_fail(r);
	else
		g_string_append_len(r->out, text, (gssize)len);
}

void rust_print(struct rust *r, const char *text)
{
	rust_print_len(r, text, strlen(text));
}

void rust_print_char(struct rust *r, gunichar c)
{
	char utf8[6];

	rust_print_len(r, utf8, (size_t)g_unichar_to_utf8(c, utf8));
}

void rust_print_number(struct rust *r, uint64_t n)
{
	char text[32];

	g_snprintf(text, sizeof(text), "%" G_GUINT64_FORMAT, n);
	rust_print(r, text);
}

bool rust_enter(struct rust *r)
{
	r->depth++;
	if (r->depth > DEPTH_MAX || ++r->steps > STEPS_MAX)
		rust_fail(r);
	return !r->failed;
}

void rust_leave(struct rust *r)
{
	r->depth--;
}

uint64_t rust_read_base62(struct rust *r)
{
	uint64_t n = 0;

	if (rust_eat(r, '_'))
		return 0;
	while (!r->failed && !rust_eat(r, '_')) {
		char c = rust_next(r);
		unsigned digit = 0;

		if (g_ascii_isdigit(c))
			digit = (unsigned)(c - '0');
		else if (g_ascii_islower(c))
			digit = (unsigned)(c - 'a') + 10;
		else if (g_ascii_isupper(c))
			digit = (unsigned)(c - 'A') + 36;
		else
			rust_fail(r);
		if (__builtin_mul_overflow(n, 62u, &n) || __builtin_add_overflow(n, digit, &n))
			rust_fail(r);
	}
	if (n == UINT64_MAX)
		rust_fail(r);
	return n + 1;
}

uint64_t rust_read_tagged_base62(struct rust *r, char tag)
{
	uint64_t n = rust_eat(r, tag) ? rust_read_base62(r) : UINT64_MAX;

	return n + 1;
}

void rust_read_identifier(struct rust *r, struct rust_identifier *ret)
{
	size_t len = 0;

	*ret = (struct rust_identifier){ .disambiguator = rust_read_tagged_base62(r, 's') };
	ret->is_punycode = rust_eat(r, 'u');
	if (r->p >= r->end || !g_ascii_isdigit(*r->p)) {
		rust_fail(r);
		return;
	}
	if (*r->p == '0')
		r->p++;
	else
		while (r->p < r->end && g_ascii_isdigit(*r->p) && len < 1u << 20)
			len = len * 10 + (size_t)(*r->p++ - '0');
	rust_eat(r, '_');
	if (len > (size_t)(r->end - r->p)) {
		rust_fail(r);
		return;
	}
	ret->text = r->p;
	ret->len = len;
	r->p += len;
}

static size_t punycode_adapt(size_t delta, size_t cnt, bool is_first)
{
	size_t k = 0;

	delta /= is_first ? 700 : 2;
	for (delta += delta / cnt; delta > 455; k += 36)
		delta /= 35;
	return k + 36 * delta / (delta + 38);
}

/* Reads one number of variable length. False: end, or invalid. */
static bool punycode_delta(const char **p, const char *end, size_t bias, size_t *ret_delta)
{
	size_t weight = 1, delta = 0;

	for (size_t k = 36; *p < end; k += 36) {
		size_t threshold = k <= bias ? 1 : MIN(k - bias, 26), digit;
		char c = *(*p)++;

		if (!g_ascii_islower(c) && !g_ascii_isdigit(c))
			return false;
		digit = g_ascii_islower(c) ? (size_t)(c - 'a') : (size_t)(c - '0') + 26;
		delta += digit * weight;
		if (digit < threshold) {
			*ret_delta = delta;
			return true;
		}
		weight *= 36 - threshold;
		if (weight > 1u << 30 || delta > 1u << 30)
			return false;
	}
	return false;
}

/* RFC 3492, with '_' for '-'; returns the number of characters, 0 if invalid. */
static size_t punycode_decode(const struct rust_identifier *id, gunichar *ret)
{
	const char *p = id->text, *end = p + id->len, *split = g_strrstr_len(p, (gssize)id->len, "_");
	size_t cnt = 0, at = 0, bias = 72, code = 128;

	for (; split && p < split; p++) {
		if (cnt == PUNYCODE_MAX || *p & 0x80)
			return 0;
		ret[cnt++] = (gunichar)*p;
	}
	p += split != NULL;
	for (bool is_first = true; p < end; is_first = false, at++) {
		size_t delta;

		if (cnt == PUNYCODE_MAX || !punycode_delta(&p, end, bias, &delta))
			return 0;
		cnt++;
		at += delta;
		bias = punycode_adapt(delta, cnt, is_first);
		code += at / cnt;
		at %= cnt;
		if (code > 0x10ffff || !g_unichar_validate((gunichar)code) || g_unichar_iscntrl((gunichar)code))
			return 0;
		memmove(ret + at + 1, ret + at, (cnt - 1 - at) * sizeof(*ret));
		ret[at] = (gunichar)code;
	}
	return cnt;
}

void rust_print_identifier(struct rust *r, const struct rust_identifier *id)
{
	gunichar decoded[PUNYCODE_MAX];
	size_t cnt;

	if (r->failed)
		return;
	if (!id->is_punycode) {
		rust_print_len(r, id->text, id->len);
		return;
	}
	cnt = punycode_decode(id, decoded);
	if (!cnt)
		rust_fail(r);
	for (size_t i = 0; i < cnt; i++)
		rust_print_char(r, decoded[i]);
}
