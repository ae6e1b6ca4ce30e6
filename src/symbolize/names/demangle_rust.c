/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <string.h>

#include "symbolize/names/demangle.h"

/*
 * Rust's v0 symbol names (RFC 2603): a grammar of one-letter tags with back references, so that a short name can
 * expand without end. So output, depth and steps are bounded; a name that exceeds them or breaks the grammar fails as
 * a whole. Printed as people write it: without hashes of crates and types of constants.
 */
static void print_path(struct rust *r, bool in_value);
static void print_type(struct rust *r);
static void print_const(struct rust *r);

/* After a 'B': goes to the referenced position. NULL: do not print it, else where to continue afterwards. */
static const char *go_to_reference(struct rust *r)
{
	const char *from = r->p - 1, *back;
	uint64_t offset = rust_read_base62(r);

	if (r->failed || offset >= (uint64_t)(from - r->start)) {
		rust_fail(r);
		return NULL;
	}
	if (r->silent)	/* it was parsed before, and prints nothing */
		return NULL;
	back = r->p;
	r->p = r->start + offset;
	return back;
}

static void print_reference(struct rust *r, void (*print_there)(struct rust *r))
{
	const char *back = go_to_reference(r);

	if (back)
		print_there(r);
	if (back && !r->failed)
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
		rust_print(r, "'_");
		return;
	}
	if (index > r->bound_lifetimes) {
		if (!r->silent)
			rust_fail(r);
		return;
	}
	index = r->bound_lifetimes - index;
	if (index < 26) {
		letter[1] = (char)('a' + index);
		rust_print(r, letter);
	} else {
		rust_print(r, "'_");
		rust_print_number(r, index);
	}
}

/* "for<'a, 'b> "; returns their number, to be subtracted from bound_lifetimes at the end of their scope. */
static uint64_t print_binder(struct rust *r)
{
	uint64_t cnt = rust_read_tagged_base62(r, 'G');

	if (cnt > 256)
		rust_fail(r);
	if (!cnt || r->failed)
		return 0;
	rust_print(r, "for<");
	for (uint64_t i = 0; i < cnt; i++) {
		rust_print(r, i ? ", " : "");
		r->bound_lifetimes++;
		print_lifetime(r, 1);
	}
	rust_print(r, "> ");
	return cnt;
}

static void print_generic_arg(struct rust *r)
{
	if (rust_eat(r, 'L'))
		print_lifetime(r, rust_read_base62(r));
	else if (rust_eat(r, 'K'))
		print_const(r);
	else
		print_type(r);
}

/* Prints items up to an 'E', separated by commas; returns their number. */
static unsigned print_list(struct rust *r, void (*print_item)(struct rust *r))
{
	unsigned cnt = 0;

	for (; !r->failed && !rust_eat(r, 'E'); cnt++) {
		rust_print(r, cnt ? ", " : "");
		print_item(r);
	}
	return cnt;
}

static void print_nested(struct rust *r, bool in_value)
{
	char space = rust_next(r);
	struct rust_identifier id;

	if (!g_ascii_isalpha(space)) {
		rust_fail(r);
		return;
	}
	print_path(r, in_value);
	rust_read_identifier(r, &id);
	if (g_ascii_islower(space)) {
		if (id.len) {
			rust_print(r, "::");
			rust_print_identifier(r, &id);
		}
		return;
	}
	rust_print(r, "::{");
	if (space == 'C')
		rust_print(r, "closure");
	else if (space == 'S')
		rust_print(r, "shim");
	else
		rust_print_len(r, &space, 1);
	if (id.len) {
		rust_print(r, ":");
		rust_print_identifier(r, &id);
	}
	rust_print(r, "#");
	rust_print_number(r, id.disambiguator);
	rust_print(r, "}");
}

static void print_impl(struct rust *r, char tag)
{
	if (tag != 'Y') {	/* the path of an impl is of little use */
		rust_read_tagged_base62(r, 's');
		r->silent++;
		print_path(r, false);
		r->silent--;
	}
	rust_print(r, "<");
	print_type(r);
	if (tag != 'M') {
		rust_print(r, " as ");
		print_path(r, false);
	}
	rust_print(r, ">");
}

static void print_path(struct rust *r, bool in_value)
{
	struct rust_identifier id;
	char tag;

	if (!rust_enter(r))
		return;
	switch (tag = rust_next(r)) {
	case 'C':
		rust_read_identifier(r, &id);
		rust_print_identifier(r, &id);
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
		rust_print(r, in_value ? "::<" : "<");
		print_list(r, print_generic_arg);
		rust_print(r, ">");
		break;
	case 'B':
		print_reference(r, in_value ? print_path_in_value : print_path_in_type);
		break;
	default:
		rust_fail(r);
	}
	rust_leave(r);
}

/* A trait, with '<' left open for the associated types; returns whether it has one. */
static bool print_open_path(struct rust *r)
{
	bool is_open = false;

	if (!rust_enter(r))
		return false;
	if (rust_eat(r, 'B')) {
		const char *back = go_to_reference(r);

		is_open = back && print_open_path(r);
		if (back && !r->failed)
			r->p = back;
	} else if (rust_eat(r, 'I')) {
		print_path(r, false);
		rust_print(r, "<");
		print_list(r, print_generic_arg);
		is_open = true;
	} else {
		print_path(r, false);
	}
	rust_leave(r);
	return is_open;
}

static void print_dyn_trait(struct rust *r)
{
	bool is_open = print_open_path(r);

	while (rust_eat(r, 'p')) {
		struct rust_identifier id;

		rust_print(r, is_open ? ", " : "<");
		is_open = true;
		rust_read_identifier(r, &id);
		rust_print_identifier(r, &id);
		rust_print(r, " = ");
		print_type(r);
	}
	rust_print(r, is_open ? ">" : "");
}

static void print_dyn(struct rust *r)
{
	uint64_t lifetime, bound;

	rust_print(r, "dyn ");
	bound = print_binder(r);
	for (unsigned i = 0; !r->failed && !rust_eat(r, 'E'); i++) {
		rust_print(r, i ? " + " : "");
		print_dyn_trait(r);
	}
	r->bound_lifetimes -= bound;
	if (!rust_eat(r, 'L')) {
		rust_fail(r);
		return;
	}
	lifetime = rust_read_base62(r);
	if (lifetime) {
		rust_print(r, " + ");
		print_lifetime(r, lifetime);
	}
}

static void print_abi(struct rust *r)
{
	struct rust_identifier id = { .text = "C", .len = 1 };

	if (!rust_eat(r, 'C'))
		rust_read_identifier(r, &id);
	if (id.is_punycode)
		rust_fail(r);
	rust_print(r, "extern \"");
	for (size_t i = 0; i < id.len; i++)
		rust_print(r, (char[]){ id.text[i] == '_' ? '-' : id.text[i], 0 });
	rust_print(r, "\" ");
}

static void print_function(struct rust *r)
{
	uint64_t bound = print_binder(r);

	if (rust_eat(r, 'U'))
		rust_print(r, "unsafe ");
	if (rust_eat(r, 'K'))
		print_abi(r);
	rust_print(r, "fn(");
	print_list(r, print_type);
	rust_print(r, ")");
	if (!rust_eat(r, 'u')) {
		rust_print(r, " -> ");
		print_type(r);
	}
	r->bound_lifetimes -= bound;
}

static const char *basic_type(char tag)
{
	static const char *const names[26] = { ['a' - 'a'] = "i8",   ['b' - 'a'] = "bool",  ['c' - 'a'] = "char",
					       ['d' - 'a'] = "f64",  ['e' - 'a'] = "str",   ['f' - 'a'] = "f32",
					       ['h' - 'a'] = "u8",   ['i' - 'a'] = "isize", ['j' - 'a'] = "usize",
					       ['l' - 'a'] = "i32",  ['m' - 'a'] = "u32",   ['n' - 'a'] = "i128",
					       ['o' - 'a'] = "u128", ['p' - 'a'] = "_",     ['s' - 'a'] = "i16",
					       ['t' - 'a'] = "u16",  ['u' - 'a'] = "()",    ['v' - 'a'] = "...",
					       ['x' - 'a'] = "i64",  ['y' - 'a'] = "u64",   ['z' - 'a'] = "!" };

	return g_ascii_islower(tag) ? names[tag - 'a'] : NULL;
}

static void print_borrow(struct rust *r, bool is_mutable)
{
	uint64_t lifetime = rust_eat(r, 'L') ? rust_read_base62(r) : 0;

	rust_print(r, "&");
	if (lifetime) {
		print_lifetime(r, lifetime);
		rust_print(r, " ");
	}
	rust_print(r, is_mutable ? "mut " : "");
	print_type(r);
}

static void print_array(struct rust *r, bool is_slice)
{
	rust_print(r, "[");
	print_type(r);
	if (!is_slice) {
		rust_print(r, "; ");
		print_const(r);
	}
	rust_print(r, "]");
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
		rust_print(r, tag == 'P' ? "*const " : "*mut ");
		print_type(r);
		break;
	case 'A':
	case 'S':
		print_array(r, tag == 'S');
		break;
	case 'T':
		rust_print(r, "(");
		rust_print(r, print_list(r, print_type) == 1 ? ",)" : ")");
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

	if (!rust_enter(r))
		return;
	tag = rust_next(r);
	basic = basic_type(tag);
	if (basic)
		rust_print(r, basic);
	else if (!r->failed)
		print_compound(r, tag);
	rust_leave(r);
}

/* The digits up to '_', without leading zeros; *ret_len is their number. */
static const char *read_hex(struct rust *r, size_t *ret_len)
{
	const char *digits = r->p;

	while (r->p < r->end && (g_ascii_isdigit(*r->p) || (*r->p >= 'a' && *r->p <= 'f')))
		r->p++;
	*ret_len = (size_t)(r->p - digits);
	if (!rust_eat(r, '_') || !*ret_len)
		rust_fail(r);
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
		rust_print_number(r, hex_value(digits, len));
	} else {
		rust_print(r, "0x");
		rust_print_len(r, digits, len);
	}
}

static void print_char_const(struct rust *r, gunichar c)
{
	static const char plain[] = "\t\n\r\\'", *const escapes[] = { "\\t", "\\n", "\\r", "\\\\", "\\'" };
	const char *at = c && c < 128 ? strchr(plain, (int)c) : NULL;
	char code[16];

	g_snprintf(code, sizeof(code), "\\u{%x}", c);
	rust_print(r, "'");
	if (at)
		rust_print(r, escapes[at - plain]);
	else if (g_unichar_isprint(c))
		rust_print_char(r, c);
	else
		rust_print(r, code);
	rust_print(r, "'");
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
		rust_print(r, value ? "true" : "false");
	else if (tag == 'c' && value <= 0x10ffff && g_unichar_validate((gunichar)value))
		print_char_const(r, (gunichar)value);
	else
		rust_fail(r);
}

static void print_const(struct rust *r)
{
	char tag;

	if (!rust_enter(r))
		return;
	tag = rust_next(r);
	if (tag == 'p') {
		rust_print(r, "_");
	} else if (tag == 'B') {
		print_reference(r, print_const);
	} else if (tag == 'b' || tag == 'c') {
		print_bool_or_char(r, tag);
	} else if (tag && strchr("hmtyoj", tag)) {
		print_integer(r);
	} else if (tag && strchr("aslxni", tag)) {
		rust_print(r, rust_eat(r, 'n') ? "-" : "");
		print_integer(r);
	} else {	/* structs as constants are not in stable Rust yet */
		rust_fail(r);
	}
	rust_leave(r);
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
	if (r.p < r.end && g_ascii_isupper(*r.p)) {	/* the instantiating crate */
		r.silent++;
		print_path(&r, false);
		r.silent--;
	}
	if (!r.failed && r.p < r.end && (*r.p == '.' || *r.p == '$'))	/* a suffix such as ".cold" */
		rust_print_len(&r, r.p, (size_t)(r.end - r.p));
	else if (r.p < r.end)
		rust_fail(&r);
	if (r.failed || !r.out->len || !g_utf8_validate(r.out->str, (gssize)r.out->len, NULL))
		return g_string_free(r.out, TRUE);
	return g_string_free(r.out, FALSE);
}
