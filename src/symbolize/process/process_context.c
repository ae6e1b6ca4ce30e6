/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "symbolize/process/process_context.h"

#include <inttypes.h>
#include <string.h>

#include "base/each.h"
#include "base/find.h"
#include "base/opener/opener.h"
#include "base/opener/parser.h"
#include "base/wire.h"
#include "symbolize/runtime/memory.h"

#define MAPS_MAX_BYTES (1u << 20)	/* about 10,000 mappings */
#define PAYLOAD_MAX_BYTES PARSER_QUESTION_MAX
#define VERSION 2
#define ATTEMPTS 3	/* retries while it is being written */

struct header {
	char signature[8];
	uint32_t version, payload_bytes;
	uint64_t published_at_ns;	/* 0: it is being written */
	uint64_t payload;
};

/* The first length-delimited field with this number. False: none. */
static bool find_field(struct cursor message, unsigned wanted, struct cursor *ret)
{
	struct wire_field field;

	while (wire_next(&message, &field)) {
		if (field.number != wanted || !field.bytes.at)
			continue;
		*ret = field.bytes;
		return true;
	}
	return false;
}

/* The text of an AnyValue. NULL: not a text, or empty. */
static char *text_value(struct cursor value)
{
	struct cursor text;

	if (!find_field(value, 1, &text) || !cursor_left(&text) || memchr(text.at, 0, cursor_left(&text)))
		return NULL;
	return g_utf8_make_valid((const char *)text.at, (gssize)cursor_left(&text));
}

/* The list in an AnyValue. Elements that are no text become empty ones, because indexes count. */
static void take_keys(struct cursor value, GPtrArray *keys)
{
	struct wire_field item;
	struct cursor list;

	if (!find_field(value, 5, &list))
		return;
	g_ptr_array_set_size(keys, 0);
	while (wire_next(&list, &item) && keys->len < PROCESS_CONTEXT_KEYS_MAX) {
		char *text = item.number == 1 && item.bytes.at ? text_value(item.bytes) : NULL;

		if (item.number == 1)
			g_ptr_array_add(keys, text ? text : g_strdup(""));
	}
}

static bool is_key(const struct cursor *key, const char *wanted)
{
	return cursor_left(key) == strlen(wanted) && !memcmp(key->at, wanted, strlen(wanted));
}

static void take_text(struct cursor value, char **into)
{
	if (!*into)
		*into = text_value(value);
}

static void take_attribute(struct cursor attribute, struct process_context *c)
{
	struct cursor key, value;

	if (!find_field(attribute, 1, &key) || !find_field(attribute, 2, &value))
		return;
	if (is_key(&key, "service.name"))
		take_text(value, &c->service);
	else if (is_key(&key, "threadlocal.schema_version"))
		take_text(value, &c->schema);
	else if (is_key(&key, "threadlocal.attribute_key_map"))
		take_keys(value, c->keys);
}

/* The attributes in a message's fields with this number. */
static void take_attributes(struct cursor message, unsigned number, struct process_context *c)
{
	struct wire_field attribute;

	while (wire_next(&message, &attribute))
		if (attribute.number == number && attribute.bytes.at)
			take_attribute(attribute.bytes, c);
}

static struct process_context *context_new(void)
{
	struct process_context *c = g_new0(struct process_context, 1);

	c->keys = g_ptr_array_new_with_free_func(g_free);
	return c;
}

static bool says_something(const struct process_context *c)
{
	return c->service || c->schema || c->keys->len;
}

FREES(process_context_free, struct process_context, c, g_free(c->service); g_free(c->schema);
      g_ptr_array_unref(c->keys))

struct process_context *process_context_decode(const void *payload, size_t len_bytes)
{
	struct cursor whole = { .at = payload, .end = (const uint8_t *)payload + len_bytes }, resource;
	struct process_context *c = context_new();

	if (find_field(whole, 1, &resource))
		take_attributes(resource, 1, c);
	take_attributes(whole, 2, c);
	if (!says_something(c))
		take_attributes(whole, 1, c);
	if (says_something(c))
		return c;
	process_context_free(c);
	return NULL;
}

/* Consecutive NUL-terminated texts: the service, the version, the keys. */
static void put_text(GByteArray *into, const char *text)
{
	g_byte_array_append(into, (const guint8 *)(text ? text : ""), (guint)(text ? strlen(text) : 0) + 1);
}

bool process_context_parse(int fd, const void *payload, size_t len_bytes, GByteArray *into)
{
	g_autoptr(process_context) c = process_context_decode(payload, len_bytes);

	if (!c)
		return false;
	put_text(into, c->service);
	put_text(into, c->schema);
	for (guint i = 0; i < c->keys->len; i++)
		put_text(into, g_ptr_array_index(c->keys, i));
	return true;
}

/* NULL: it is empty. The answer is NUL-terminated. */
static char *next_text(const GByteArray *a, size_t *at)
{
	const char *text = (const char *)a->data + *at;

	*at += strlen(text) + 1;
	return *text ? g_utf8_make_valid(text, -1) : NULL;
}

static struct process_context *decode(const void *payload, size_t len_bytes)
{
	g_autoptr(GByteArray) a = parser_ask_or_do(PARSER_CONTEXT, process_context_parse, -1, payload, len_bytes);
	struct process_context *c;
	size_t at = 0;

	if (!a || !a->len || a->data[a->len - 1])
		return NULL;
	c = context_new();
	c->service = next_text(a, &at);
	c->schema = at < a->len ? next_text(a, &at) : NULL;
	while (at < a->len && c->keys->len < PROCESS_CONTEXT_KEYS_MAX) {
		char *text = next_text(a, &at);

		g_ptr_array_add(c->keys, text ? text : g_strdup(""));
	}
	return c;
}

static struct process_context *read_at(uint32_t pid, uint64_t addr)
{
	g_autofree uint8_t *payload = NULL;
	struct header h, after;

	for (unsigned i = 0; i < ATTEMPTS; i++) {
		if (!memory_read(pid, addr, &h, sizeof(h)) || memcmp(h.signature, "OTEL_CTX", 8) != 0 ||
		    h.version != VERSION || !h.payload_bytes || h.payload_bytes > PAYLOAD_MAX_BYTES)
			return NULL;
		g_free(payload);
		payload = g_malloc(h.payload_bytes);
		if (h.published_at_ns && memory_read(pid, h.payload, payload, h.payload_bytes) &&
		    memory_read(pid, addr, &after, sizeof(after)) && after.published_at_ns == h.published_at_ns)
			return decode(payload, h.payload_bytes);
	}
	return NULL;
}

bool process_context_is_line(const struct maps_line *m)
{
	return g_str_has_prefix(m->path, "/memfd:OTEL_CTX") || g_str_has_prefix(m->path, "[anon_shmem:OTEL_CTX]") ||
	       g_str_has_prefix(m->path, "[anon:OTEL_CTX]");
}

struct process_context *process_context_read(const char *proc_dir, uint32_t pid)
{
	g_autofree char *path = g_strdup_printf("%s/%" PRIu32 "/maps", proc_dir, pid);
	struct process_context *c = NULL;
	size_t len;
	g_autofree char *text = opener_text(path, MAPS_MAX_BYTES, &len);

	if (!text || !strstr(text, "OTEL_CTX"))
		return NULL;
	g_autoptr(GArray) lines = maps_lines(text);

	EACH_ROW_WHILE(i, const struct maps_line, m, lines, !c)
		if (process_context_is_line(m))
			c = read_at(pid, m->start);
	return c;
}

char *process_context_service(const char *proc_dir, uint32_t pid)
{
	g_autoptr(process_context) c = process_context_read(proc_dir, pid);

	return c ? g_steal_pointer(&c->service) : NULL;
}
