/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <glib.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "symbolize/demangle.h"

/*
 * Rust's symbol names, version 0 (RFC 2603): a grammar of tags, one letter each, with
 * references back to earlier places, so that a short name can stand for an endless one.
 * Therefore the output, the depth and the number of steps are bounded; what goes beyond, or
 * is not in the grammar, fails as a whole.  Printed as people write it: without the hashes of
 * crates and without the types of constants.
 */
#define OUTPUT_MAX_BYTES 4096
#define DEPTH_MAX 128
#define STEPS_MAX 20000
#define PUNYCODE_MAX 128

struct rust {
	const char *start, *p, *end;	/* behind "_R", where references count from */
	GString *out;
	unsigned depth, steps;
	unsigned silent;	/* above 0: what is read is not shown */
	uint64_t bound_lifetimes;
	bool failed;
};

struct identifier {
	const char *text;
	size_t len;
	bool is_punycode;
	uint64_t disambiguator;
};

static void print_path(struct rust *r, bool in_value);
static void print_type(struct rust *r);
static void print_const(struct rust *r);

static void fail(struct rust *r)
{
	r->failed = true;
	r->p = r->end;	/* so that every loop ends */
}

static char next(struct rust *r)
{
	if (r->p < r->end)
		return *r->p++;
	fail(r);
	return 0;
}

static bool eat(struct rust *r, char c)
{
	if (r->p >= r->end || *r->p != c)
		return false;
	r->p++;
	return true;
}

static void print_len(struct rust *r, const char *text, size_t len)
{
	if (r->failed || r->silent)
		return;
	if (r->out->len + len > OUTPUT_MAX_BYTES)
		fail(r);
	else
		g_string_append_len(r->out, text, (gssize)len);
}

static void print(struct rust *r, const char *text)
{
	print_len(r, text, strlen(text));
}

static void print_char(struct rust *r, gunichar c)
{
	char utf8[6];

	print_len(r, utf8, (size_t)g_unichar_to_utf8(c, utf8));
}

static void print_number(struct rust *r, uint64_t n)
{
	char text[32];

	g_snprintf(text, sizeof(text), "%" G_GUINT64_FORMAT, n);
	print(r, text);
}

/* Every part that may hold another one begins with enter() and ends with leave(). */
static bool enter(struct rust *r)
{
	r->depth++;
	if (r->depth > DEPTH_MAX || ++r->steps > STEPS_MAX)
		fail(r);
	return !r->failed;
}

static void leave(struct rust *r)
{
	r->depth--;
}

/* "_" is 0, "0_" is 1, "Z_" is 62, "10_" is 63. */
static uint64_t read_base62(struct rust *r)
{
	uint64_t n = 0;

	if (eat(r, '_'))
		return 0;
	while (!r->failed && !eat(r, '_')) {
		char c = next(r);
		unsigned digit = 0;

		if (g_ascii_isdigit(c))
			digit = (unsigned)(c - '0');
		else if (g_ascii_islower(c))
			digit = (unsigned)(c - 'a') + 10;
		else if (g_ascii_isupper(c))
			digit = (unsigned)(c - 'A') + 36;
		else
			fail(r);
		if (__builtin_mul_overflow(n, 62u, &n) || __builtin_add_overflow(n, digit, &n))
			fail(r);
	}
	if (n == UINT64_MAX)
		fail(r);
	return n + 1;
}

/* 0 without the tag. */
static uint64_t read_tagged_base62(struct rust *r, char tag)
{
	uint64_t n = eat(r, tag) ? read_base62(r) : UINT64_MAX;

	return n + 1;
}

static void read_identifier(struct rust *r, struct identifier *ret)
{
	size_t len = 0;

	*ret = (struct identifier){ .disambiguator = read_tagged_base62(r, 's') };
	ret->is_punycode = eat(r, 'u');
	if (r->p >= r->end || !g_ascii_isdigit(*r->p)) {
		fail(r);
		return;
	}
	if (*r->p == '0')
		r->p++;
	else
		while (r->p < r->end && g_ascii_isdigit(*r->p) && len < 1u << 20)
			len = len * 10 + (size_t)(*r->p++ - '0');
	eat(r, '_');
	if (len > (size_t)(r->end - r->p)) {
		fail(r);
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

/* One number of variable length; false at its end or when it makes no sense. */
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

/* RFC 3492, with '_' for '-'; gives the number of characters, 0 when it makes no sense. */
static size_t punycode_decode(const struct identifier *id, gunichar *ret)
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

static void print_identifier(struct rust *r, const struct identifier *id)
{
	gunichar decoded[PUNYCODE_MAX];
	size_t cnt;

	if (r->failed)
		return;
	if (!id->is_punycode) {
		print_len(r, id->text, id->len);
		return;
	}
	cnt = punycode_decode(id, decoded);
	if (!cnt)
		fail(r);
	for (size_t i = 0; i < cnt; i++)
		print_char(r, decoded[i]);
}

/* Behind a 'B': goes to the place it tells of, prints what is there, and comes back. */
static void print_reference(struct rust *r, void (*print_there)(struct rust *r))
{
	const char *from = r->p - 1, *back;
	uint64_t offset = read_base62(r);

	if (r->failed || offset >= (uint64_t)(from - r->start)) {
		fail(r);
		return;
	}
	if (r->silent)	/* has been read already, and shows nothing */
		return;
	back = r->p;
	r->p = r->start + offset;
	print_there(r);
	if (!r->failed)
		r->p = back;
}

static void print_path_in_type(struct rust *r)
{
	print_path(r, false);
}

static void print_path_in_value(struct rust *r)
{
	print_path(r, true);
}

static void print_lifetime(struct rust *r, uint64_t index)
{
	char letter[] = "'a";

	if (!index) {
		print(r, "'_");
		return;
	}
	if (index > r->bound_lifetimes) {
		if (!r->silent)
			fail(r);
		return;
	}
	index = r->bound_lifetimes - index;
	if (index < 26) {
		letter[1] = (char)('a' + index);
		print(r, letter);
	} else {
		print(r, "'_");
		print_number(r, index);
	}
}

/* "for<'a, 'b> "; gives their number, to be taken from bound_lifetimes at the end of what they hold for. */
static uint64_t print_binder(struct rust *r)
{
	uint64_t cnt = read_tagged_base62(r, 'G');

	if (cnt > 256)
		fail(r);
	if (!cnt || r->failed)
		return 0;
	print(r, "for<");
	for (uint64_t i = 0; i < cnt; i++) {
		print(r, i ? ", " : "");
		r->bound_lifetimes++;
		print_lifetime(r, 1);
	}
	print(r, "> ");
	return cnt;
}

static void print_generic_arg(struct rust *r)
{
	if (eat(r, 'L'))
		print_lifetime(r, read_base62(r));
	else if (eat(r, 'K'))
		print_const(r);
	else
		print_type(r);
}

/* Items up to an 'E', with commas between; gives their number. */
static unsigned print_list(struct rust *r, void (*print_item)(struct rust *r))
{
	unsigned cnt = 0;

	for (; !r->failed && !eat(r, 'E'); cnt++) {
		print(r, cnt ? ", " : "");
		print_item(r);
	}
	return cnt;
}

static void print_nested(struct rust *r, bool in_value)
{
	char space = next(r);
	struct identifier id;

	if (!g_ascii_isalpha(space)) {
		fail(r);
		return;
	}
	print_path(r, in_value);
	read_identifier(r, &id);
	if (g_ascii_islower(space)) {
		if (id.len) {
			print(r, "::");
			print_identifier(r, &id);
		}
		return;
	}
	print(r, "::{");
	if (space == 'C')
		print(r, "closure");
	else if (space == 'S')
		print(r, "shim");
	else
		print_len(r, &space, 1);
	if (id.len) {
		print(r, ":");
		print_identifier(r, &id);
	}
	print(r, "#");
	print_number(r, id.disambiguator);
	print(r, "}");
}

static void print_impl(struct rust *r, char tag)
{
	if (tag != 'Y') {	/* where the impl stands says little */
		read_tagged_base62(r, 's');
		r->silent++;
		print_path(r, false);
		r->silent--;
	}
	print(r, "<");
	print_type(r);
	if (tag != 'M') {
		print(r, " as ");
		print_path(r, false);
	}
	print(r, ">");
}

static void print_path(struct rust *r, bool in_value)
{
	struct identifier id;
	char tag;

	if (!enter(r))
		return;
	switch (tag = next(r)) {
	case 'C':
		read_identifier(r, &id);
		print_identifier(r, &id);
		break;
	case 'N':
		print_nested(r, in_value);
		break;
	case 'M':
	case 'X':
	case 'Y':
		print_impl(r, tag);
		break;
	case 'I':
		print_path(r, in_value);
		print(r, in_value ? "::<" : "<");
		print_list(r, print_generic_arg);
		print(r, ">");
		break;
	case 'B':
		print_reference(r, in_value ? print_path_in_value : print_path_in_type);
		break;
	default:
		fail(r);
	}
	leave(r);
}

/* A trait, whose '<' stays open for the types that follow; says whether it has one. */
static bool print_open_path(struct rust *r)
{
	bool is_open = false;

	if (!enter(r))
		return false;
	if (eat(r, 'B')) {
		const char *from = r->p - 1, *back;
		uint64_t offset = read_base62(r);

		if (r->failed || offset >= (uint64_t)(from - r->start)) {
			fail(r);
		} else if (!r->silent) {
			back = r->p;
			r->p = r->start + offset;
			is_open = print_open_path(r);
			if (!r->failed)
				r->p = back;
		}
	} else if (eat(r, 'I')) {
		print_path(r, false);
		print(r, "<");
		print_list(r, print_generic_arg);
		is_open = true;
	} else {
		print_path(r, false);
	}
	leave(r);
	return is_open;
}

static void print_dyn_trait(struct rust *r)
{
	bool is_open = print_open_path(r);

	while (eat(r, 'p')) {
		struct identifier id;

		print(r, is_open ? ", " : "<");
		is_open = true;
		read_identifier(r, &id);
		print_identifier(r, &id);
		print(r, " = ");
		print_type(r);
	}
	print(r, is_open ? ">" : "");
}

static void print_dyn(struct rust *r)
{
	uint64_t lifetime, bound;

	print(r, "dyn ");
	bound = print_binder(r);
	for (unsigned i = 0; !r->failed && !eat(r, 'E'); i++) {
		print(r, i ? " + " : "");
		print_dyn_trait(r);
	}
	r->bound_lifetimes -= bound;
	if (!eat(r, 'L')) {
		fail(r);
		return;
	}
	lifetime = read_base62(r);
	if (lifetime) {
		print(r, " + ");
		print_lifetime(r, lifetime);
	}
}

static void print_abi(struct rust *r)
{
	struct identifier id = { .text = "C", .len = 1 };

	if (!eat(r, 'C'))
		read_identifier(r, &id);
	if (id.is_punycode)
		fail(r);
	print(r, "extern \"");
	for (size_t i = 0; i < id.len; i++)
		print(r, (char[]){ id.text[i] == '_' ? '-' : id.text[i], 0 });
	print(r, "\" ");
}

static void print_function(struct rust *r)
{
	uint64_t bound = print_binder(r);

	if (eat(r, 'U'))
		print(r, "unsafe ");
	if (eat(r, 'K'))
		print_abi(r);
	print(r, "fn(");
	print_list(r, print_type);
	print(r, ")");
	if (!eat(r, 'u')) {
		print(r, " -> ");
		print_type(r);
	}
	r->bound_lifetimes -= bound;
}

static const char *basic_type(char tag)
{
	static const char *const names[26] = {
		['a' - 'a'] = "i8", ['b' - 'a'] = "bool", ['c' - 'a'] = "char", ['d' - 'a'] = "f64", ['e' - 'a'] = "str",
		['f' - 'a'] = "f32", ['h' - 'a'] = "u8", ['i' - 'a'] = "isize", ['j' - 'a'] = "usize", ['l' - 'a'] = "i32",
		['m' - 'a'] = "u32", ['n' - 'a'] = "i128", ['o' - 'a'] = "u128", ['p' - 'a'] = "_", ['s' - 'a'] = "i16",
		['t' - 'a'] = "u16", ['u' - 'a'] = "()", ['v' - 'a'] = "...", ['x' - 'a'] = "i64", ['y' - 'a'] = "u64",
		['z' - 'a'] = "!" };

	return g_ascii_islower(tag) ? names[tag - 'a'] : NULL;
}

static void print_borrow(struct rust *r, bool is_mutable)
{
	uint64_t lifetime = eat(r, 'L') ? read_base62(r) : 0;

	print(r, "&");
	if (lifetime) {
		print_lifetime(r, lifetime);
		print(r, " ");
	}
	print(r, is_mutable ? "mut " : "");
	print_type(r);
}

static void print_array(struct rust *r, bool is_slice)
{
	print(r, "[");
	print_type(r);
	if (!is_slice) {
		print(r, "; ");
		print_const(r);
	}
	print(r, "]");
}

static void print_compound(struct rust *r, char tag)
{
	switch (tag) {
	case 'R':
	case 'Q':
		print_borrow(r, tag == 'Q');
		break;
	case 'P':
	case 'O':
		print(r, tag == 'P' ? "*const " : "*mut ");
		print_type(r);
		break;
	case 'A':
	case 'S':
		print_array(r, tag == 'S');
		break;
	case 'T':
		print(r, "(");
		print(r, print_list(r, print_type) == 1 ? ",)" : ")");
		break;
	case 'F':
		print_function(r);
		break;
	case 'D':
		print_dyn(r);
		break;
	case 'B':
		print_reference(r, print_type);
		break;
	default:
		r->p--;
		print_path(r, false);
	}
}

static void print_type(struct rust *r)
{
	const char *basic;
	char tag;

	if (!enter(r))
		return;
	tag = next(r);
	basic = basic_type(tag);
	if (basic)
		print(r, basic);
	else if (!r->failed)
		print_compound(r, tag);
	leave(r);
}

/* The digits up to '_', without zeros before; *ret_len is their number. */
static const char *read_hex(struct rust *r, size_t *ret_len)
{
	const char *digits = r->p;

	while (r->p < r->end && (g_ascii_isdigit(*r->p) || (*r->p >= 'a' && *r->p <= 'f')))
		r->p++;
	*ret_len = (size_t)(r->p - digits);
	if (!eat(r, '_') || !*ret_len)
		fail(r);
	for (; *ret_len && *digits == '0'; digits++)
		--*ret_len;
	return digits;
}

static uint64_t hex_value(const char *digits, size_t len)
{
	uint64_t value = 0;

	for (size_t i = 0; i < len; i++)
		value = value << 4 | (unsigned)g_ascii_xdigit_value(digits[i]);
	return value;
}

static void print_integer(struct rust *r)
{
	const char *digits;
	size_t len;

	digits = read_hex(r, &len);
	if (r->failed)
		return;
	if (len <= 16) {
		print_number(r, hex_value(digits, len));
	} else {
		print(r, "0x");
		print_len(r, digits, len);
	}
}

static void print_char_const(struct rust *r, gunichar c)
{
	static const char plain[] = "\t\n\r\\'", *const escapes[] = { "\\t", "\\n", "\\r", "\\\\", "\\'" };
	const char *at = c && c < 128 ? strchr(plain, (int)c) : NULL;
	char code[16];

	g_snprintf(code, sizeof(code), "\\u{%x}", c);
	print(r, "'");
	if (at)
		print(r, escapes[at - plain]);
	else if (g_unichar_isprint(c))
		print_char(r, c);
	else
		print(r, code);
	print(r, "'");
}

static void print_bool_or_char(struct rust *r, char tag)
{
	size_t len;
	const char *digits = read_hex(r, &len);
	uint64_t value;

	if (r->failed)
		return;
	value = len <= 6 ? hex_value(digits, len) : UINT32_MAX;
	if (tag == 'b' && value <= 1)
		print(r, value ? "true" : "false");
	else if (tag == 'c' && value <= 0x10ffff && g_unichar_validate((gunichar)value))
		print_char_const(r, (gunichar)value);
	else
		fail(r);
}

static void print_const(struct rust *r)
{
	char tag;

	if (!enter(r))
		return;
	tag = next(r);
	if (tag == 'p') {
		print(r, "_");
	} else if (tag == 'B') {
		print_reference(r, print_const);
	} else if (tag == 'b' || tag == 'c') {
		print_bool_or_char(r, tag);
	} else if (tag && strchr("hmtyoj", tag)) {
		print_integer(r);
	} else if (tag && strchr("aslxni", tag)) {
		print(r, eat(r, 'n') ? "-" : "");
		print_integer(r);
	} else {	/* structures as constants are not stable Rust yet */
		fail(r);
	}
	leave(r);
}

char *demangle_rust_v0(const char *mangled)
{
	struct rust r = { .out = NULL };

	if (!g_str_has_prefix(mangled, "_R") || !g_ascii_isupper(mangled[2]))
		return NULL;
	r.start = r.p = mangled + 2;
	r.end = r.start + strlen(r.start);
	r.out = g_string_new(NULL);
	print_path(&r, true);
	if (r.p < r.end && g_ascii_isupper(*r.p)) {	/* the crate that made this instance */
		r.silent++;
		print_path(&r, false);
		r.silent--;
	}
	if (!r.failed && r.p < r.end && (*r.p == '.' || *r.p == '$'))	/* ".cold" and the like */
		print_len(&r, r.p, (size_t)(r.end - r.p));
	else if (r.p < r.end)
		fail(&r);
	if (r.failed || !r.out->len || !g_utf8_validate(r.out->str, (gssize)r.out->len, NULL))
		return g_string_free(r.out, TRUE);
	return g_string_free(r.out, FALSE);
}
