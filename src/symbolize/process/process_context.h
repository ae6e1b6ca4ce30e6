/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef SYMBOLIZE_PROCESS_CONTEXT_H
#define SYMBOLIZE_PROCESS_CONTEXT_H

#include <glib.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symbolize/process/maps.h"

/*
 * What OpenTelemetry's SDKs publish in their process's memory: a mapping named OTEL_CTX with a header that points to
 * resource attributes (OTEP 4719). The process controls all of it.
 */

struct process_context {
	char *service;		/* the attribute service.name; NULL: none */
	char *schema;		/* threadlocal.schema_version: how threads publish traces (OTEP 4947); or NULL */
	/* threadlocal.attribute_key_map: the attribute for each number in a thread's record; "": none */
	GPtrArray *keys;
};
typedef struct process_context process_context;
#define PROCESS_CONTEXT_KEYS_MAX 256

/* Is it the mapping of the context? */
bool process_context_is_line(const struct maps_line *line);
/* NULL: none is published. */
struct process_context *process_context_read(const char *proc_dir, uint32_t pid);
void process_context_free(struct process_context *c);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(process_context, process_context_free)
/* Only the service. NULL: none. */
char *process_context_service(const char *proc_dir, uint32_t pid);

/* Decodes the payload: a ProcessContext, or a Resource as in older SDKs. NULL: it has none of this. */
struct process_context *process_context_decode(const void *payload, size_t len_bytes);
/* For parser_start(): the question is the payload, the answer its texts. */
bool process_context_parse(int fd, const void *payload, size_t len_bytes, GByteArray *into);

#endif
