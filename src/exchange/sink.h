/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef EXCHANGE_SINK_H
#define EXCHANGE_SINK_H

#include <glib.h>
#include <stdbool.h>

/* Where the bytes of an export go.  This layer opens no file: the caller provides a function that receives them. */
struct sink {
	bool (*put)(void *ctx, const void *bytes, gsize len_bytes, GError **error);
	void *ctx;
};

/* A sink that appends to a GString. */
struct sink sink_of_string(GString *s);

/*
 * Writes to a sink, compressed by gzip on request.  Formats append to `text` and call writer_flush() regularly, so
 * that an export needs no more memory than its dictionaries.  After a failure the rest is dropped; writer_end()
 * returns the error.
 */
struct writer;

struct writer *writer_new(const struct sink *sink, bool gzip);
/* The text to append to.  writer_flush() may empty it. */
GString *writer_text(struct writer *w);
/* Writes the text once there is enough of it. */
void writer_flush(struct writer *w);
/* Takes ownership of the error; only the first one is kept. */
void writer_fail(struct writer *w, GError *error);
/* Always frees w; false with the first error. */
bool writer_end(struct writer *w, GError **error);

#endif
