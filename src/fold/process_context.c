/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "fold/process_context.h"

#include <inttypes.h>
#include <string.h>

#include "base/parser.h"
#include "base/wire.h"
#include "symbolize/process/fileopen.h"
#include "symbolize/process/maps.h"
#include "symbolize/runtime/memory.h"

#define MAPS_MAX_BYTES (1u << 20)	/* some 10,000 mappings */
#define PAYLOAD_MAX_BYTES PARSER_QUESTION_MAX
#define VERSION 2
#define ATTEMPTS 3	/* while it is being written */

struct header {
	char signature[8];
	uint32_t version, payload_bytes;
	uint64_t published_at_ns;	/* 0: it is being written */
	uint64_t payload;
};

/* The first field of that number which has a length; false: there is none. */
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

/* The value where the message is a KeyValue of that key with a text. */
static char *service_name(struct cursor message)
{
	static const char wanted[] = "service.name";
	struct cursor key, value, text;

	if (!find_field(message, 1, &key) || cursor_left(&key) != strlen(wanted) ||
	    memcmp(key.at, wanted, strlen(wanted)) != 0 || !find_field(message, 2, &value) ||
	    !find_field(value, 1, &text) || !cursor_left(&text) || memchr(text.at, 0, cursor_left(&text)))
		return NULL;
	return g_utf8_make_valid((const char *)text.at, (gssize)cursor_left(&text));
}

/* Of the attributes of a Resource. */
static char *of_resource(struct cursor resource)
{
	struct wire_field attribute;
	char *name = NULL;

	while (!name && wire_next(&resource, &attribute))
		if (attribute.number == 1 && attribute.bytes.at)
			name = service_name(attribute.bytes);
	return name;
}

char *process_context_decode(const void *payload, size_t len_bytes)
{
	struct cursor whole = { .at = payload, .end = (const uint8_t *)payload + len_bytes }, resource;
	char *name = find_field(whole, 1, &resource) ? of_resource(resource) : NULL;

	return name ? name : of_resource(whole);
}

bool process_context_parse(int fd, const void *payload, size_t len_bytes, GByteArray *into)
{
	g_autofree char *name = process_context_decode(payload, len_bytes);

	if (name)
		g_byte_array_append(into, (const guint8 *)name, (guint)strlen(name));
	return name;
}

static char *decode(const void *payload, size_t len_bytes)
{
	g_autoptr(GByteArray) a = parser_ask_or_do(PARSER_CONTEXT, process_context_parse, -1, payload, len_bytes);

	return a && a->len ? g_utf8_make_valid((const char *)a->data, a->len) : NULL;
}

static char *read_at(uint32_t pid, uint64_t addr)
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

static bool is_context(const struct maps_line *m)
{
	return g_str_has_prefix(m->path, "/memfd:OTEL_CTX") || g_str_has_prefix(m->path, "[anon_shmem:OTEL_CTX]") ||
	       g_str_has_prefix(m->path, "[anon:OTEL_CTX]");
}

char *process_context_service(const char *proc_dir, uint32_t pid)
{
	g_autofree char *path = g_strdup_printf("%s/%" PRIu32 "/maps", proc_dir, pid);
	size_t len;
	g_autofree char *text = file_read_text(path, MAPS_MAX_BYTES, &len);

	char *name = NULL, *next;

	if (!text || !strstr(text, "OTEL_CTX"))
		return NULL;
	for (char *line = text; line && !name; line = next) {
		struct maps_line m;

		next = strchr(line, '\n');
		if (next)
			*next++ = '\0';
		if (maps_parse_line(line, &m) && is_context(&m))
			name = read_at(pid, m.start);
	}
	return name;
}
