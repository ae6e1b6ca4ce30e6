/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "analyse/function_name.h"

#include <stdbool.h>
#include <string.h>

char *function_plain_name(const char *name)
{
	int depth = 0;

	if (g_str_has_prefix(name, "block ("))	/* Ruby: "block (2 levels) in run" */
		return g_strdup(name);
	for (const char *c = name; *c; c++) {
		if (*c == '<' || *c == '[' || *c == '{')
			depth++;
		else if ((*c == '>' && c > name && c[-1] != '-') || *c == ']' || *c == '}')
			depth--;
		else if (*c == '(' && depth <= 0 && c > name && !g_str_has_prefix(c, "(anonymous namespace)") &&
			 !g_str_has_prefix(c, "()(") && !(c[-1] == '.' && c[1] == '*'))	/* Go: "net.(*conn).Read" */
			return g_strchomp(g_strndup(name, (gsize)(c - name)));
	}
	return g_strdup(name);
}

/* "Chatd.broadcast" of OCaml's "camlChatd__broadcast_301"; NULL: it is none.  Those without a name are all called fun. */
static char *ocaml_name(const char *name)
{
	const char *at = name + strlen("caml"), *end = strrchr(name, '_');

	if (!g_str_has_prefix(name, "caml") || !g_ascii_isupper(*at) || !strstr(at, "__"))
		return NULL;
	bool has_number = end && end[1] && strspn(end + 1, "0123456789") == strlen(end + 1) && !g_str_has_suffix(name, "__");
	g_autofree char *own = has_number && !strstr(at, "__fun_") ? g_strndup(at, (gsize)(end - at)) : g_strdup(at);
	g_auto(GStrv) parts = g_strsplit(own, "__", -1);
	return g_strjoinv(".", parts);
}

/* Of C++: a lambda that its runner has swallowed stands among the runner's template arguments. */
char *function_shown_name(const char *name)
{
	char *ocaml = ocaml_name(name);

	if (ocaml)
		return ocaml;
	g_autofree char *plain = function_plain_name(name);
	const char *lambda = strstr(plain, "::{lambda("), *start = lambda;
	int depth = 0;

	if (!lambda)
		return g_steal_pointer(&plain);
	for (; start > plain; start--) {
		char before = start[-1];

		if (!depth && (before == '<' || before == ',' || before == ' '))
			break;
		depth += (before == ')' || before == '>') - (before == '(' || before == '<');
	}
	if (start == lambda)	/* in nothing */
		return g_steal_pointer(&plain);
	g_autofree char *whole = g_strndup(start, (gsize)(lambda - start)), *outer = function_plain_name(whole);
	return g_strdup_printf("lambda in %s", outer);
}
