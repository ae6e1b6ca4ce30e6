/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "render/answer/report.h"

#include <string.h>

#include "base/json_read.h"

#define LINES_MAX 60
#define ITEMS_MAX 200	/* per array */
#define HEAD_ITEMS 4	/* of an array within an item, such as a stack: kept at both ends */
#define TAIL_ITEMS 7

/* Members first, then `told`, then items. */
enum { RANK_MEMBER = 1, RANK_TOLD, RANK_ITEM };

static void copy_value(struct json *j, struct json_reader *r);

/* A histogram is as long as the rest of its item. */
static bool is_left_out(const char *key)
{
	return strcmp(key, "log2_ns") == 0;
}

static void copy_object(struct json *j, struct json_reader *r)
{
	g_autoptr(GString) key = g_string_new(NULL);
	bool first = true;

	json_enter(r, '{');
	while (json_next_member(r, &first, key)) {
		if (is_left_out(key->str)) {
			json_skip(r);
			continue;
		}
		json_any_key(j, key->str);
		copy_value(j, r);
	}
}

static guint items_cnt(struct json_reader r)
{
	bool first = true;
	guint cnt = 0;

	for (json_enter(&r, '['); json_next_element(&r, &first); cnt++)
		json_skip(&r);
	return cnt;
}

static void copy_array(struct json *j, struct json_reader *r)
{
	const guint cnt = items_cnt(*r), cut = cnt > HEAD_ITEMS + TAIL_ITEMS + 1 ? cnt - HEAD_ITEMS - TAIL_ITEMS : 0;
	bool first = true;

	json_array_begin(j);
	json_enter(r, '[');
	for (guint i = 0; json_next_element(r, &first); i++) {
		if (cut && i == HEAD_ITEMS) {
			g_autofree char *words = g_strdup_printf("... %u more ...", cut);

			json_string(j, words);
		}
		if (cut && i >= HEAD_ITEMS && i < HEAD_ITEMS + cut)
			json_skip(r);
		else
			copy_value(j, r);
	}
	json_array_end(j);
}

/* Strings are cut as everywhere in an answer. */
static void copy_value(struct json *j, struct json_reader *r)
{
	g_autoptr(GString) string = g_string_new(NULL);
	const char *text;
	gsize len;

	switch (json_peek(r)) {
	case '{':
		JSON_IN(j, copy_object(j, r));
		break;
	case '[':
		copy_array(j, r);
		break;
	case '"':
		json_read_string(r, string);
		json_string(j, string->str);
		break;
	default:
		if (json_read_raw(r, &text, &len))
			json_raw(j, text, len);
	}
}

static void write_items(struct answer *a, const char *key, struct json_reader *r)
{
	bool first = true;
	guint cnt = 0;

	json_enter(r, '[');
	for (; json_next_element(r, &first); cnt++) {
		if (cnt >= ITEMS_MAX) {
			json_skip(r);
			continue;
		}
		copy_value(answer_item(a, key), r);
		answer_end(a, RANK_ITEM + cnt);
	}
	if (cnt > ITEMS_MAX)
		answer_left_out(a, key, cnt - ITEMS_MAX);
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
	struct json_reader r = json_reader_of(object->str, object->len);
	struct answer *a = answer_new(of, &options);
	g_autoptr(GString) key = g_string_new(NULL);
	bool first = true;

	write_told(a, told);
	json_enter(&r, '{');
	while (json_next_member(&r, &first, key)) {
		const char *name = g_intern_string(key->str);

		if (json_peek(&r) == '[') {
			write_items(a, name, &r);
		} else if (answer_has(a, name)) {
			json_skip(&r);
		} else {
			copy_value(answer_member(a, name), &r);
			answer_end(a, RANK_MEMBER);
		}
	}
	answer_write(out, a, NULL);
	answer_free(a);
}
