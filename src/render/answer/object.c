/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "render/answer/object.h"

#include <string.h>

#define LINES_MAX 60
#define ITEMS_MAX 200	/* of an array */
#define HEAD_ITEMS 4	/* of an array within an item, such as a stack: those at both its ends */
#define TAIL_ITEMS 7
#define CUT "..."

/* Members before what is told for people, and that before items. */
enum { RANK_MEMBER = 1, RANK_TOLD, RANK_ITEM };

/* Behind the character, or the escape for one, at c. */
static const char *character_end(const char *c)
{
	if (*c == '\\')
		return c + (c[1] == 'u' ? 6 : 2);
	return c + g_utf8_skip[(unsigned char)*c];
}

/* Copies the string at c, cut to ANSWER_NAME_MAX; returns what is behind it. */
static const char *copy_string(GString *out, const char *c)
{
	const gsize from = out->len + 1;
	gsize cut_at = from;

	g_string_append_c(out, *c++);
	while (*c != '"') {
		const char *end = character_end(c);

		g_string_append_len(out, c, end - c);
		if (out->len - from + strlen(CUT) <= ANSWER_NAME_MAX)
			cut_at = out->len;
		c = end;
	}
	if (out->len - from > ANSWER_NAME_MAX) {
		g_string_truncate(out, cut_at);
		g_string_append(out, CUT);
	}
	g_string_append_c(out, '"');
	return c + 1;
}

static const char *copy_value(GString *out, const char *c);

/* A histogram has as many numbers as all else of an item together. */
static bool is_left_out(const char *key)
{
	return g_str_has_prefix(key, "\"log2_ns\"");
}

static const char *copy_object(GString *out, const char *c)
{
	g_string_append_c(out, '{');
	for (c++; *c != '}';) {
		const gsize from = out->len;
		bool is_out = is_left_out(c);

		if (out->str[out->len - 1] != '{')
			g_string_append_c(out, ',');
		c = copy_string(out, c);
		g_string_append_c(out, ':');
		c = copy_value(out, c + 1);
		if (is_out)
			g_string_truncate(out, from);
		c += *c == ',';
	}
	g_string_append_c(out, '}');
	return c + 1;
}

/* Items as texts, each as short as it is copied; returns what is behind the array. */
static const char *items_of(GPtrArray *items, const char *c)
{
	for (c++; *c != ']';) {
		GString *item = g_string_new(NULL);

		c = copy_value(item, c);
		g_ptr_array_add(items, g_string_free(item, FALSE));
		c += *c == ',';
	}
	return c + 1;
}

static const char *copy_array(GString *out, const char *c)
{
	g_autoptr(GPtrArray) items = g_ptr_array_new_with_free_func(g_free);
	guint cut;

	c = items_of(items, c);
	cut = items->len > HEAD_ITEMS + TAIL_ITEMS + 1 ? items->len - HEAD_ITEMS - TAIL_ITEMS : 0;
	g_string_append_c(out, '[');
	for (guint i = 0; i < items->len; i++) {
		g_string_append(out, i ? "," : "");
		if (cut && i == HEAD_ITEMS) {
			g_string_append_printf(out, "\"... %u more ...\"", cut);
			i += cut - 1;
		} else {
			g_string_append(out, g_ptr_array_index(items, i));
		}
	}
	g_string_append_c(out, ']');
	return c;
}

/* A value that is valid JSON, for it is ours; returns what is behind it. */
static const char *copy_value(GString *out, const char *c)
{
	if (*c == '"')
		return copy_string(out, c);
	if (*c == '{')
		return copy_object(out, c);
	if (*c == '[')
		return copy_array(out, c);
	while (*c != ',' && *c != '}' && *c != ']')
		g_string_append_c(out, *c++);
	return c;
}

static void write_items(struct answer *a, const char *key, const GPtrArray *items)
{
	for (guint i = 0; i < MIN(items->len, ITEMS_MAX); i++) {
		const char *text = g_ptr_array_index(items, i);

		json_raw(answer_item(a, key), text, strlen(text));
		answer_end(a, RANK_ITEM + i);
	}
	if (items->len > ITEMS_MAX)
		answer_left_out(a, key, items->len - ITEMS_MAX);
}

static void write_told(struct answer *a, const char *told)
{
	g_auto(GStrv) lines = g_strsplit(told ? told : "", "\n", LINES_MAX);

	for (char **line = lines; *line; line++) {
		if (!**line)
			continue;
		json_string(answer_item(a, "told"), *line);
		answer_end(a, RANK_TOLD);
	}
}

void answer_object(GString *out, const char *of, const GString *object, const char *told, size_t max_bytes)
{
	const struct answer_options options = { .max_bytes = max_bytes };
	struct answer *a = answer_new(of, &options);

	write_told(a, told);
	for (const char *c = object->str + 1; *c == '"';) {
		g_autoptr(GPtrArray) items = g_ptr_array_new_with_free_func(g_free);
		g_autoptr(GString) key = g_string_new(NULL), value = g_string_new(NULL);
		bool is_array;

		c = copy_string(key, c) + 1;
		g_string_truncate(key, key->len - 1);
		const char *name = g_intern_string(key->str + 1);
		is_array = *c == '[';
		c = is_array ? items_of(items, c) : copy_value(value, c);
		if (is_array) {
			write_items(a, name, items);
		} else if (!answer_has(a, name)) {
			json_raw(answer_member(a, name), value->str, value->len);
			answer_end(a, RANK_MEMBER);
		}
		c += *c == ',';
	}
	answer_write(out, a, NULL);
	answer_free(a);
}
