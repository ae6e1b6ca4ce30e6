/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* A process's context: that its threads have contexts, and what the numbers of their attributes mean. */
#include "trace_writer.h"
#include "truth.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Messages of protocol buffers: a number and a length of one byte each are enough here. */
static uint8_t *message(uint8_t *at, unsigned field, const uint8_t *bytes, size_t len)
{
	*at++ = (uint8_t)(field << 3 | 2);
	*at++ = (uint8_t)len;
	memcpy(at, bytes, len);
	return at + len;
}

static uint8_t *text(uint8_t *at, unsigned field, const char *s)
{
	return message(at, field, (const uint8_t *)s, strlen(s));
}

static uint8_t *attribute(uint8_t *at, const char *key, const uint8_t *value, size_t len)
{
	uint8_t pair[120], *end = text(pair, 1, key);

	end = message(end, 2, value, len);
	return message(at, 2, pair, (size_t)(end - pair));
}

static size_t write_context(uint8_t *into)
{
	static const char *const keys[] = { "enduser.id", "http.request.method", "http.route" };
	uint8_t value[120], list[100], item[60], *end = into, *in = text(value, 1, "tlsdesc_v1_dev");

	end = attribute(end, "threadlocal.schema_version", value, (size_t)(in - value));
	uint8_t *at = list;

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		at = message(at, 1, item, (size_t)(text(item, 1, keys[i]) - item));
	in = message(value, 5, list, (size_t)(at - list));
	end = attribute(end, "threadlocal.attribute_key_map", value, (size_t)(in - value));
	return (size_t)(end - into);
}

/* As OTEP 4719 has it. */
void trace_publish(void)
{
	static uint8_t payload[400];
	struct {
		char signature[8];
		uint32_t version, payload_bytes;
		uint64_t published_at_ns, payload;
	} *head;
	int fd = memfd_create("OTEL_CTX", 0);

	if (fd < 0 || ftruncate(fd, 4096))
		truth_die("memfd_create", -1);
	head = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
	if (head == MAP_FAILED)
		truth_die("mmap", -1);
	head->version = 2;
	head->payload_bytes = (uint32_t)write_context(payload);
	head->payload = (uintptr_t)payload;
	head->published_at_ns = truth_now_ns();
	memcpy(head->signature, "OTEL_CTX", 8);
}
