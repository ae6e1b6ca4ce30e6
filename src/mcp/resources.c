/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "mcp/protocol.h"

#include <string.h>

#define SECTION "\n## "
#define TYPE "text/markdown"

/* Made by tools/embed.py. */
extern const char document_answers[], document_reasons[], document_semantics[];

static const struct document {
	const char *name, *title, *text;
} documents[] = {
	{ "answers", "Answers", document_answers },
	{ "reasons", "Reasons", document_reasons },
	{ "semantics", "Semantics", document_semantics },
};

/* A heading and what is below it, up to the next one. */
struct section {
	const struct document *document;
	const char *text;
	gsize len;
	char *title, *uri;
};

static void section_clear(struct section *s)
{
	g_free(s->title);
	g_free(s->uri);
}

/* "How right they are" as "how-right-they-are". */
static char *slug_of(const char *title)
{
	char *slug = g_ascii_strdown(title, -1);

	return g_strcanon(slug, "abcdefghijklmnopqrstuvwxyz0123456789", '-');
}

/* What comes behind `from`, which is the document's begin or the end of the section before; false: nothing. */
static bool next_section(const struct document *d, const char *from, struct section *ret)
{
	const char *at = strstr(from, SECTION), *line_end, *end;
	g_autofree char *slug = NULL;

	if (!at)
		return false;
	at += strlen(SECTION);
	line_end = strchr(at, '\n');
	end = line_end ? strstr(line_end, SECTION) : NULL;
	*ret = (struct section){ .document = d, .text = at - strlen("## ") };
	ret->len = end ? (gsize)(end + 1 - ret->text) : strlen(ret->text);
	ret->title = g_strndup(at, line_end ? (gsize)(line_end - at) : strlen(at));
	slug = slug_of(ret->title);
	ret->uri = g_strdup_printf("offcpu://%s/%s", d->name, slug);
	return true;
}

static void write_head(struct json *j, const struct section *s)
{
	g_autofree char *name = g_strdup_printf("%s: %s", s->document->title, s->title);

	JSON_OBJECT(j, "uri", s->uri, "name", name, "mimeType", TYPE, "size", s->len);
}

void resources_write(struct json *j)
{
	struct section s;

	json_array_begin(j);
	for (guint i = 0; i < G_N_ELEMENTS(documents); i++) {
		for (const char *at = documents[i].text; next_section(&documents[i], at, &s); section_clear(&s)) {
			write_head(j, &s);
			at = s.text + s.len - 1;
		}
	}
	json_array_end(j);
}

static void write_contents(struct json *j, const struct section *s)
{
	g_autofree char *text = g_strndup(s->text, s->len);

	json_array_begin(j);
	JSON_OBJECT(j, "uri", s->uri, "mimeType", TYPE, "text", text);
	json_array_end(j);
}

bool resources_write_one(struct json *j, const char *uri)
{
	struct section s;
	bool is_found = false;

	for (guint i = 0; i < G_N_ELEMENTS(documents); i++) {
		for (const char *at = documents[i].text; !is_found && next_section(&documents[i], at, &s);
		     section_clear(&s)) {
			is_found = strcmp(s.uri, uri) == 0;
			if (is_found)
				write_contents(j, &s);
			at = s.text + s.len - 1;
		}
	}
	return is_found;
}
