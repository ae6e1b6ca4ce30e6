/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * What an SDK does that tells readers outside which trace a thread works for (OTEP 4947): in a program of its own, or
 * in a library, under each model of thread-local storage.
 */
#include "trace_writer.h"

#include <string.h>

struct trace_record {
	uint8_t trace[16], span[8], valid, flags;
	uint16_t attribute_bytes;
	uint8_t attributes[100];
} __attribute__((packed, aligned(2)));

EXPORTED __thread struct trace_record *otel_thread_ctx_v1;
static __thread struct trace_record record;

static uint8_t *put(uint8_t *at, uint8_t key, const char *value)
{
	size_t len = strlen(value);

	*at++ = key;
	*at++ = (uint8_t)len;
	memcpy(at, value, len);
	return at + len;
}

void trace_attach(uint64_t number, const char *method, const char *route)
{
	uint8_t *at = record.attributes;
	char user[24] = "user-0000";

	otel_thread_ctx_v1 = &record;
	record.valid = 0;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	memset(record.trace, 0xab, sizeof(record.trace));
	memcpy(record.trace, &number, sizeof(number));
	memcpy(record.span, &number, sizeof(number));
	user[8] = (char)('0' + number % 10);
	at = put(at, 0, user);
	at = put(at, 1, method);
	at = put(at, 2, route);
	record.attribute_bytes = (uint16_t)(at - record.attributes);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	record.valid = 1;
}

void trace_point(void *at)
{
	otel_thread_ctx_v1 = at;
}

void trace_detach(void)
{
	otel_thread_ctx_v1 = 0;
}
