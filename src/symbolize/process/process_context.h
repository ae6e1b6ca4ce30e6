/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef SYMBOLIZE_PROCESS_CONTEXT_H
#define SYMBOLIZE_PROCESS_CONTEXT_H

#include <glib.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symbolize/process/maps.h"

/*
 * What OpenTelemetry's SDKs tell of their process to whoever may read its memory: a mapping called OTEL_CTX with a
 * header that points to the attributes of its resource (OTEP 4719).  All of it is the process's to write.
 */

struct process_context {
	char *service;		/* the attribute service.name; NULL: it does not say */
	char *schema;		/* threadlocal.schema_version: how its threads tell their traces (OTEP 4947); or NULL */
	/* threadlocal.attribute_key_map: what attribute a number in a thread's record is; "": it does not say */
	GPtrArray *keys;
};
typedef struct process_context process_context;
#define PROCESS_CONTEXT_KEYS_MAX 256

/* Is that the mapping? */
bool process_context_is_line(const struct maps_line *line);
/* NULL: none is published. */
struct process_context *process_context_read(const char *proc_dir, uint32_t pid);
void process_context_free(struct process_context *c);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(process_context, process_context_free)
/* The service alone; NULL: it is not said. */
char *process_context_service(const char *proc_dir, uint32_t pid);

/* Of the payload: a ProcessContext, or a Resource as older SDKs publish it.  NULL: it says nothing of these. */
struct process_context *process_context_decode(const void *payload, size_t len_bytes);
/* For parser_start(): the question is the payload, the answer its texts. */
bool process_context_parse(int fd, const void *payload, size_t len_bytes, GByteArray *into);

#endif
