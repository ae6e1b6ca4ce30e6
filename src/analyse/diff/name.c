/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "analyse/diff/keys.h"

#include <string.h>

#include "analyse/label.h"
#include "base/module.h"

/* Suffixes of GCC and Clang for copies and parts of functions. */
static const char *const suffixes[] = { ".constprop", ".part",     ".isra",       ".cold",
					".llvm",      ".lto_priv", ".localalias", ".specialized" };

/* Inline namespaces of C++ libraries, and equivalent spellings of compilers. */
static const struct spelling {
	const char *from, *to;
} spellings[] = {
	{ "std::__cxx11::", "std::" }, { "std::__1::", "std::" },	  { "std::__ndk1::", "std::" },
	{ "{anonymous}", "(anonymous namespace)" }, { "{{closure}}", "{closure}" },
};

/* Default template arguments: some builds spell them out. */
static const char *const defaults[] = { "std::allocator<", "std::char_traits<", "std::less<", "std::hash<",
					"std::equal_to<", "std::default_delete<" };

static bool is_word(char c)
{
	return g_ascii_isalnum(c) || c == '_' || c == '$';
}

static size_t digits(const char *s)
{
	return strspn(s, "0123456789");
}

static bool starts(const char *s, const char *with)
{
	return strncmp(s, with, strlen(with)) == 0;
}

/* Length of ".constprop.0" at s; 0: none. */
static size_t suffix_len(const char *s)
{
	for (unsigned i = 0; i < G_N_ELEMENTS(suffixes); i++) {
		if (!starts(s, suffixes[i]))
			continue;
		size_t n = strlen(suffixes[i]);
		while (s[n] == '.' && digits(s + n + 1))
			n += 1 + digits(s + n + 1);
		return is_word(s[n]) ? 0 : n;
	}
	return 0;
}

/* Length of "@@GLIBC_2.34" at s.  "@plt" is kept. */
static size_t version_len(const char *s)
{
	size_t at = s[0] == '@' ? 1 + (s[1] == '@') : 0;

	if (!at || !g_ascii_isupper(s[at]))
		return 0;
	while (is_word(s[at]) || s[at] == '.')
		at++;
	return at;
}

/* Length of "::h0123456789abcdef" at s, the hash of a Rust crate. */
static size_t rust_hash_len(const char *s)
{
	if (!starts(s, "::h") || strspn(s + 3, "0123456789abcdef") != 16 || is_word(s[19]))
		return 0;
	return 19;
}

/* Length up to the bracket that matches the one at s; 0: unbalanced. */
static size_t bracket_len(const char *s, char open, char close)
{
	unsigned depth = 0;

	for (size_t i = 0; s[i]; i++) {
		if (s[i] == open)
			depth++;
		else if (s[i] == close && !(close == '>' && i && s[i - 1] == '-') && --depth == 0)
			return i + 1;
	}
	return 0;
}

/* Length of ", std::allocator<int>" at s, including blanks. */
static size_t default_len(const char *s)
{
	size_t blank = strspn(s, ", ");

	if (s[0] != ',')
		return 0;
	for (unsigned i = 0; i < G_N_ELEMENTS(defaults); i++) {
		size_t word = strlen(defaults[i]);
		if (!starts(s + blank, defaults[i]))
			continue;
		size_t args = bracket_len(s + blank + word - 1, '<', '>');
		return args ? blank + word - 1 + args : 0;
	}
	return 0;
}

/* Length of the text at s that does not identify the function. */
static size_t noise_len(const char *s)
{
	size_t n;

	switch (*s) {
	case '.': return suffix_len(s);
	case '@': return version_len(s);
	case ':': return rust_hash_len(s);
	case ',': return default_len(s);
	case '[': return starts(s, "[abi:") ? bracket_len(s, '[', ']') : 0;
	case '#':
		n = digits(s + 1);
		return n && s[n + 1] == '}' ? n + 1 : 0;	/* {lambda(int)#2}, {closure#0} */
	case ' ':
		if (starts(s, " [clone "))
			return bracket_len(s + 1, '[', ']') ? 1 + bracket_len(s + 1, '[', ']') : 0;
		return 0;
	default: return 0;
	}
}

static bool is_joint(char c)
{
	return strchr("<>,*&()", c) != NULL;	/* NUL too, since trailing blanks are dropped */
}

/* If the text at s has another spelling, appends that and returns the length of the text; else 0. */
static size_t respell(GString *s, const char *from)
{
	for (unsigned i = 0; i < G_N_ELEMENTS(spellings); i++) {
		if (!starts(from, spellings[i].from))
			continue;
		g_string_append(s, spellings[i].to);
		return strlen(spellings[i].from);
	}
	return 0;
}

void diff_name_append(GString *s, const char *name)
{
	size_t begin = s->len;

	while (*name) {
		size_t skip = noise_len(name);
		if (!skip)
			skip = respell(s, name);
		if (skip) {
			name += skip;
			continue;
		}
		bool is_blank = *name == ' ';
		if (!(is_blank && (s->len == begin || is_joint(s->str[s->len - 1]) || is_joint(name[1]))))
			g_string_append_c(s, *name);
		name++;
	}
}

/* "operator<", "operator()" and "operator->" are names, not brackets. */
static size_t operator_len(const char *s, const char *begin)
{
	if (!starts(s, "operator") || (s > begin && is_word(s[-1])) || is_word(s[8]))
		return 0;
	if (starts(s + 8, "()"))
		return 10;
	return 8 + strspn(s + 8, "<>=-+*/%^&|~!");
}

void diff_name_append_loose(GString *s, const char *name)
{
	g_autoptr(GString) plain = g_string_new(NULL);

	diff_name_append(plain, name);
	for (const char *at = plain->str; *at;) {
		size_t keep = operator_len(at, plain->str), skip = 0;

		if (!keep && *at == '<' && at > plain->str)
			skip = bracket_len(at, '<', '>');
		else if (!keep && *at == '(' && at > plain->str && !starts(at, "(anonymous namespace)"))
			skip = bracket_len(at, '(', ')');
		keep = keep || skip ? keep : 1;
		g_string_append_len(s, at, (gssize)keep);
		at += keep + skip;
	}
}

/* "libpython3.11.so.1.0" becomes libpython.so, "libc-2.31.so" libc.so. */
static void append_library(GString *s, const char *module)
{
	const char *base = module_base_name(module), *so = strstr(base, ".so");
	size_t len = strlen(base);

	if (!so || (so[3] && so[3] != '.')) {
		g_string_append(s, base);
		return;
	}
	for (len = (size_t)(so - base); len && strchr("0123456789.-", base[len - 1]);)
		len--;
	g_string_append_len(s, base, (gssize)(len ? len : (size_t)(so - base)));
	g_string_append(s, ".so");
}

void diff_name_append_frame(GString *s, const struct frame *f, bool loose)
{
	if (label_is_run(f)) {
		g_string_append_c(s, '[');
		append_library(s, f->module);
		g_string_append_c(s, ']');
	} else if (f->name && loose)
		diff_name_append_loose(s, f->name);
	else if (f->name)
		diff_name_append(s, f->name);
	else if (f->why == FRAME_PENDING)
		g_string_append(s, "[stack lost]");
	else if (f->module) {
		append_library(s, f->module);
		g_string_append(s, "+?");
	} else {
		g_string_append(s, "[unknown]");
	}
}

void diff_name_append_numberless(GString *s, const char *comm)
{
	while (*comm) {
		size_t n = digits(comm);

		g_string_append_c(s, n ? '#' : *comm);
		comm += n ? n : 1;
	}
}
