/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef FOLD_PROCESS_CONTEXT_H
#define FOLD_PROCESS_CONTEXT_H

#include <glib.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * What OpenTelemetry's SDKs tell of their process to whoever may read its memory: a mapping called OTEL_CTX with a
 * header that points to the attributes of its resource (OTEP 4719).  All of it is the process's to write.
 */

/* The attribute service.name; NULL: none is published. */
char *process_context_service(const char *proc_dir, uint32_t pid);
/* The same of the payload: a ProcessContext, or a Resource as older SDKs publish it. */
char *process_context_decode(const void *payload, size_t len_bytes);
/* For parser_start(): the question is the payload, the answer that attribute. */
bool process_context_parse(int fd, const void *payload, size_t len_bytes, GByteArray *into);

#endif
