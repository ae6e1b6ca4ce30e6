/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "symbolize/names/demangle.h"

#include <stdlib.h>
#include <string.h>

/* In the C++ runtime, which the build links. */
extern char *__cxa_demangle(const char *mangled, char *buffer, size_t *length, int *status);

#define MANGLED_MAX_BYTES 1024
#define DEMANGLED_MAX_BYTES 4096
/* Limit of parts that the demangler visits: real names stay far below, and it takes some milliseconds. */
#define GROWTH_MAX (1u << 20)
#define SUBSTITUTIONS_MAX 256

/*
 * A mangled name may refer back to its own parts ("S1_", "T0_"), so 200 bytes can expand to gigabytes, and
 * __cxa_demangle has no limit. This computes an upper bound of the size without parsing. A reference is at most as
 * large as everything before the first reference to it or to a later part, because parts are numbered as they end.
 * Text that may only look like a reference (inside an identifier, or the second letter of an operator) counts as one
 * but fixes no part's size.
 */
struct growth {
	uint64_t total;
	uint64_t part[SUBSTITUTIONS_MAX];	/* bound of each part numbered below `fixed` */
	unsigned fixed;
	uint64_t argument;	/* bound of a template argument, "T_": everything before the first one; 0: none yet */
	uint64_t packs;	/* pack expansions: each visits its pattern once more */
};

/* Reads "S_" or "S<base 36>_"; returns the length after the 'S', 0 for other text. */
static size_t substitution_at(const char *p, unsigned *ret_index)
{
	unsigned value = 0;
	size_t i = 1;

	for (; i < 8 && (g_ascii_isdigit(p[i]) || g_ascii_isupper(p[i])); i++)
		value = MIN(value * 36 + (unsigned)(g_ascii_isdigit(p[i]) ? p[i] - '0' : p[i] - 'A' + 10), 1u << 20);
	if (p[i] != '_')
		return 0;
	*ret_index = i == 1 ? 0 : value + 1;
	return i;
}

static void growth_reference(struct growth *g, unsigned index, bool certain)
{
	if (index < g->fixed) {
		g->total += g->part[index];
		return;
	}
	while (certain && g->fixed <= index && g->fixed < SUBSTITUTIONS_MAX)
		g->part[g->fixed++] = g->total;
	g->total *= 2;
}

static bool grows_too_much(const char *mangled)
{
	struct growth g = { .packs = 1 };
	const char *identifier_end = mangled;

	for (const char *p = mangled; *p && g.total * g.packs <= GROWTH_MAX; p++) {
		unsigned index = 0;
		size_t n;

		g.total++;
		if (*p == 'S' && (n = substitution_at(p, &index))) {
			growth_reference(&g, index, p >= identifier_end && !strchr("arlsTGD", p[-1]));
			g.total += n;
			p += p >= identifier_end ? n : 0;
		} else if (*p == 'T' && (p[1] == '_' || (g_ascii_isdigit(p[1]) && p[2] == '_'))) {
			if (!g.argument)
				g.argument = g.total;
			g.total += g.argument;
		} else if (*p == 'I') {
			g.argument = 0;
		} else if ((*p == 'D' && p[1] == 'p') || (*p == 's' && (p[1] == 'p' || p[1] == 'Z' || p[1] == 'P'))) {
			g.packs++;
		} else if (g_ascii_isdigit(*p) && !g_ascii_isdigit(p[-1])) {
			char *end;
			unsigned long n_chars = strtoul(p, &end, 10);

			if (n_chars < MANGLED_MAX_BYTES && end + n_chars > identifier_end)
				identifier_end = end + n_chars;
		}
	}
	return g.total * g.packs > GROWTH_MAX;
}

/* Rust's legacy names are C++ names that end with a part "h" + 16 hexadecimal digits; returns the rest, or NULL. */
static const char *rust_legacy_end(const char *mangled)
{
	const char *hash = g_strrstr(mangled, "17h");

	if (!hash)
		return NULL;
	for (int i = 3; i < 19; i++)
		if (!g_ascii_isxdigit(hash[i]))
			return NULL;
	return hash[19] == 'E' && (!hash[20] || hash[20] == '.') ? hash + 20 : NULL;
}

/* Decodes one "$LT$" at p into *ret; returns its length, 0 for other text. */
static size_t rust_escape(const char *p, gunichar *ret)
{
	static const struct { const char *text; char c; } escapes[] = {
		{ "$SP$", '@' }, { "$BP$", '*' }, { "$RF$", '&' }, { "$LT$", '<' },
		{ "$GT$", '>' }, { "$LP$", '(' }, { "$RP$", ')' }, { "$C$", ',' } };
	unsigned long code;
	char *end;

	for (size_t i = 0; i < G_N_ELEMENTS(escapes); i++) {
		if (g_str_has_prefix(p, escapes[i].text)) {
			*ret = (gunichar)escapes[i].c;
			return strlen(escapes[i].text);
		}
	}
	if (p[1] != 'u' || !g_ascii_isxdigit(p[2]))
		return 0;
	code = strtoul(p + 2, &end, 16);
	if (*end != '$' || end - p > 8 || code < 32 || !g_unichar_validate((gunichar)code))
		return 0;
	*ret = (gunichar)code;
	return (size_t)(end - p) + 1;
}

static char *rust_decode(const char *name)
{
	size_t len = strlen(name);
	GString *out;

	if (len > 19 && g_str_has_prefix(name + len - 19, "::h"))
		len -= 19;
	out = g_string_sized_new(len);
	for (const char *p = name; p < name + len; p++) {
		gunichar c;
		size_t n = *p == '$' ? rust_escape(p, &c) : 0;
		bool starts_part = p == name || p[-1] == ':';

		if (n) {
			g_string_append_unichar(out, c);
			p += n - 1;
		} else if (p[0] == '.' && p[1] == '.') {
			g_string_append(out, "::");
			p++;
		} else if (!(starts_part && p[0] == '_' && p[1] == '$')) {	/* "_$LT$": '_' before an escape */
			g_string_append_c(out, *p);
		}
	}
	return g_string_free(out, FALSE);
}

/*
 * g++ functions of a coroutine take its frame, whose type contains the coroutine's mangled name:
 * "f(f(int)::_Z1fi.Frame*) [clone .actor]" becomes "f(int) [clone .actor]". NULL: no such function.
 */
static char *coroutine_name(const char *name)
{
	static const char end[] = ".Frame*)";
	const char *frame = strstr(name, end), *mangled = frame ? g_strrstr_len(name, frame - name, "::_Z") : NULL;

	for (const char *open = mangled ? strchr(name, '(') : NULL; open && open < mangled;
	     open = strchr(open + 1, '('))
		if (open > name && !strncmp(open + 1, name, (size_t)(open - name)))
			return g_strdup_printf("%.*s%s", (int)(mangled - open - 1), open + 1, frame + strlen(end));
	return NULL;
}

static char *demangle_cxx(const char *mangled)
{
	const char *rust_end = rust_legacy_end(mangled);
	g_autofree char *rust = rust_end ? g_strndup(mangled, (size_t)(rust_end - mangled)) : NULL, *decoded = NULL;
	char *text, *result = NULL;
	int status = 0;

	if (grows_too_much(mangled))
		return NULL;
	text = __cxa_demangle(rust ? rust : mangled, NULL, NULL, &status);
	if (text && !status && *text && strlen(text) <= DEMANGLED_MAX_BYTES) {
		decoded = rust ? rust_decode(text) : NULL;
		result = rust ? g_strconcat(decoded, rust_end, NULL) : coroutine_name(text) ?: g_strdup(text);
	}
	free(text);
	return result;
}

/* LLVM appends a suffix to promoted local names: ".llvm.1234". */
static void drop_llvm_suffix(char *mangled)
{
	char *suffix = strstr(mangled, ".llvm.");

	if (suffix && suffix[6 + strspn(suffix + 6, "0123456789ABCDEF")] == 0)
		*suffix = 0;
}

char *demangle(const char *name)
{
	const char *version = strchr(name, '@');
	size_t len = version && version != name ? (size_t)(version - name) : strlen(name);
	g_autofree char *plain = NULL, *result = NULL;
	bool is_plt = !strcmp(name + len, "@plt");

	if (len > MANGLED_MAX_BYTES)
		return NULL;
	plain = g_strndup(name, len);
	drop_llvm_suffix(plain);
	if (g_str_has_prefix(plain, "_Z"))
		result = demangle_cxx(plain);
	else if (g_str_has_prefix(plain, "_R"))
		result = demangle_rust_v0(plain);
	if (is_plt)
		return result ? g_strconcat(result, "@plt", NULL) : NULL;
	if (!result && strcmp(plain, name))
		return g_steal_pointer(&plain);
	return g_steal_pointer(&result);
}
