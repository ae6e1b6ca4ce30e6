/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "mcp/protocol.h"

#include <string.h>

#define NO_PARAMS "{}"

bool message_is_json(const char *text, gsize len)
{
	struct json_reader r = json_reader_of(text, len);

	for (gsize i = 0; i < len; i++)
		if ((unsigned char)text[i] < ' ' && text[i] != '\t' && text[i] != '\r')
			return false;
	if (!g_utf8_validate(text, (gssize)len, NULL))
		return false;
	json_skip(&r);
	return json_at_end(&r);
}

/* Puts a reader at the member's value. False: not an object, or no such member. */
static bool find_member(const char *object, const char *key, struct json_reader *ret)
{
	struct json_reader r = json_reader_of(object, strlen(object));
	g_autoptr(GString) name = g_string_new(NULL);
	bool first = true;

	if (json_peek(&r) != '{' || !json_enter(&r, '{'))
		return false;
	while (json_next_member(&r, &first, name)) {
		if (strcmp(name->str, key) == 0) {
			*ret = r;
			return true;
		}
		json_skip(&r);
	}
	return false;
}

char *message_member_raw(const char *object, const char *key)
{
	struct json_reader r;
	const char *text;
	gsize len;

	return find_member(object, key, &r) && json_read_raw(&r, &text, &len) ? g_strndup(text, len) : NULL;
}

char *message_member_string(const char *object, const char *key)
{
	g_autoptr(GString) text = g_string_new(NULL);
	struct json_reader r;

	if (!find_member(object, key, &r) || json_peek(&r) != '"' || !json_read_string(&r, text))
		return NULL;
	return g_strdup(text->str);
}

char *message_member_id(const char *object, const char *key)
{
	g_autofree char *id = message_member_raw(object, key);
	bool is_one = id && strlen(id) <= MESSAGE_ID_MAX &&
		      (*id == '"' || id[strspn(id, "-0123456789")] == '\0');

	return is_one ? g_steal_pointer(&id) : NULL;
}

static void set_bad(struct message *m, enum message_error code, const char *why)
{
	m->kind = MESSAGE_BAD;
	m->code = code;
	m->why = why;
}

static bool has_member(const char *object, const char *key)
{
	struct json_reader r;

	return find_member(object, key, &r);
}

static void read_object(struct message *m, const char *object)
{
	g_autofree char *version = message_member_string(object, "jsonrpc");

	m->id = message_member_id(object, "id");
	m->method = message_member_string(object, "method");
	m->params = message_member_raw(object, "params");
	if (g_strcmp0(version, "2.0") != 0)
		set_bad(m, MESSAGE_INVALID_REQUEST, "\"jsonrpc\" is not \"2.0\"");
	else if (has_member(object, "id") && !m->id)
		set_bad(m, MESSAGE_INVALID_REQUEST, "the id is no string or whole number, or is too long");
	else if (!has_member(object, "method") && (has_member(object, "result") || has_member(object, "error")))
		m->kind = MESSAGE_RESPONSE;
	else if (!m->method)
		set_bad(m, MESSAGE_INVALID_REQUEST, "there is no method");
	else if (m->params && *m->params != '{')
		set_bad(m, MESSAGE_INVALID_PARAMS, "\"params\" is no object");
	else
		m->kind = m->id ? MESSAGE_REQUEST : MESSAGE_NOTIFICATION;
	if (!m->params)
		m->params = g_strdup(NO_PARAMS);
}

void message_read(struct message *m, const char *line, gsize len)
{
	struct json_reader r = json_reader_of(line, len);

	*m = (struct message){ 0 };
	if (!message_is_json(line, len)) {
		set_bad(m, MESSAGE_PARSE_ERROR, "the line is no JSON");
	} else if (json_peek(&r) == '[') {
		set_bad(m, MESSAGE_INVALID_REQUEST, "batches are not part of this protocol: one message a line");
	} else if (json_peek(&r) != '{') {
		set_bad(m, MESSAGE_INVALID_REQUEST, "the message is no object");
	} else {
		g_autofree char *object = g_strndup(line, len);

		read_object(m, object);
	}
}

void message_clear(struct message *m)
{
	g_clear_pointer(&m->id, g_free);
	g_clear_pointer(&m->method, g_free);
	g_clear_pointer(&m->params, g_free);
}
