/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "analyse/label.h"

#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

#include "base/module.h"

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

/*
 * "Chatd.broadcast" for OCaml's "camlChatd__broadcast_301"; NULL: not OCaml.  Anonymous functions are all called fun.
 */
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

/* C++: a lambda that was inlined into its runner is among the runner's template arguments. */
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
	if (start == lambda)	/* not nested in a function */
		return g_steal_pointer(&plain);
	g_autofree char *whole = g_strndup(start, (gsize)(lambda - start)), *outer = function_plain_name(whole);
	return g_strdup_printf("lambda in %s", outer);
}

void label_append(GString *s, const struct frame *f)
{
	if (f->name)
		g_string_append(s, f->name);
	else if (f->why == FRAME_PENDING)
		g_string_append(s, "[stack lost]");
	else if (f->module)
		g_string_append_printf(s, "%s+0x%" PRIx64, module_base_name(f->module), f->offset);
	else
		g_string_append_printf(s, "0x%" PRIx64, f->offset);
}

void label_append_line(GString *s, const struct frame *f)
{
	if (!f->file)
		return;
	g_string_append_printf(s, " (%s", module_base_name(f->file));
	if (f->line)
		g_string_append_printf(s, ":%" PRIu32, f->line);
	g_string_append_c(s, ')');
}

bool label_is_run(const struct frame *f)
{
	return f->kind == FRAME_USER && f->name && f->name[0] == '[' && f->module && !f->offset &&
	       g_str_has_prefix(f->name + 1, module_base_name(f->module));
}

GPtrArray *label_all(const struct profile *p)
{
	GPtrArray *labels = g_ptr_array_new_full(p->frames->len, g_free);
	g_autoptr(GString) s = g_string_new(NULL);

	for (unsigned i = 0; i < p->frames->len; i++) {
		g_string_truncate(s, 0);
		label_append(s, profile_get_frame(p, i));
		g_ptr_array_add(labels, g_strndup(s->str, s->len));
	}
	return labels;
}
