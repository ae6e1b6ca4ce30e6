/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "mcp/tools.h"

#include <string.h>

#include "base/json_read.h"
#include "base/parse.h"
#include "base/refuse.h"

#define bad(error, ...) refuse(error, PARSE_ERROR, 0, __VA_ARGS__)

/* PARAM_COUNT: the tool has no such parameter. */
static enum param param_of(const struct tool *tool, const char *name)
{
	const enum param *param = tool->params;

	while (*param != PARAM_COUNT && strcmp(param_kinds[*param].name, name) != 0)
		param++;
	return *param;
}

static bool is_plain(const char *text)
{
	for (; *text; text++)
		if ((unsigned char)*text < ' ' || *text == 0x7f)
			return false;
	return true;
}

static char *read_text(struct json_reader *r, const char *name, GError **error)
{
	g_autoptr(GString) text = g_string_new(NULL);

	if (json_peek(r) != '"' || !json_read_string(r, text))
		bad(error, "%s: a string is wanted", name);
	else if (!text->len || text->len > ARGUMENT_TEXT_MAX || !is_plain(text->str))
		bad(error, "%s: a string of 1 to %d bytes without control characters is wanted", name, ARGUMENT_TEXT_MAX);
	else
		return g_strdup(text->str);
	return NULL;
}

static char *read_number(struct json_reader *r, const struct param_kind *kind, GError **error)
{
	g_autoptr(GString) text = g_string_new(NULL);
	const char *digits = "";
	gsize len = 0;
	guint64 n;

	/* models often send numbers as strings */
	if (json_peek(r) == '"')
		json_read_string(r, text);
	else if (json_peek(r) == 'n' && json_read_number(r, &digits, &len))
		g_string_append_len(text, digits, (gssize)len);
	if (g_ascii_string_to_unsigned(text->str, 10, kind->min, kind->max, &n, NULL))
		return g_strdup_printf("%" G_GUINT64_FORMAT, n);
	bad(error, "%s: a whole number from %" G_GUINT64_FORMAT " to %" G_GUINT64_FORMAT " is wanted", kind->name, kind->min,
	    kind->max);
	return NULL;
}

static bool read_flag(struct json_reader *r, const char *name, char **ret, GError **error)
{
	if (json_peek(r) != 't' && json_peek(r) != 'f')
		return bad(error, "%s: true or false is wanted", name);
	if (json_read_bool(r))
		*ret = g_strdup("true");
	return true;
}

/* Some clients send null for parameters that are not given. */
static bool read_value(struct tool_input *in, enum param param, struct json_reader *r, GError **error)
{
	const struct param_kind *kind = &param_kinds[param];
	char **value = &in->values[param];

	g_clear_pointer(value, g_free);
	if (json_peek(r) == 'z') {
		json_skip(r);
		return true;
	}
	if (kind->type == PARAM_FLAG)
		return read_flag(r, kind->name, value, error);
	*value = kind->type == PARAM_NUMBER ? read_number(r, kind, error) : read_text(r, kind->name, error);
	return *value != NULL;
}

static char *names_of(const struct tool *tool)
{
	GString *names = g_string_new(NULL);

	for (const enum param *param = tool->params; *param != PARAM_COUNT; param++)
		g_string_append_printf(names, "%s%s", names->len ? ", " : "", param_kinds[*param].name);
	return g_string_free(names, FALSE);
}

bool arguments_read(struct tool_input *in, const struct tool *tool, const char *object, GError **error)
{
	struct json_reader r = json_reader_of(object, strlen(object));
	g_autoptr(GString) name = g_string_new(NULL);
	bool first = true;

	if (json_peek(&r) != '{' || !json_enter(&r, '{'))
		return bad(error, "arguments: an object is wanted");
	while (json_next_member(&r, &first, name)) {
		enum param param = param_of(tool, name->str);
		g_autofree char *names = param == PARAM_COUNT ? names_of(tool) : NULL;

		if (names)
			return bad(error, "%s has no argument of that name; known are: %s", tool->name, names);
		if (!read_value(in, param, &r, error))
			return false;
	}
	for (const enum param *param = tool->params; *param != PARAM_COUNT; param++)
		if (tool->required & 1u << *param && !in->values[*param])
			return bad(error, "%s is wanted: %s", param_kinds[*param].name, param_kinds[*param].help);
	return true;
}

void arguments_clear(struct tool_input *in)
{
	for (unsigned i = 0; i < PARAM_COUNT; i++)
		g_clear_pointer(&in->values[i], g_free);
}
