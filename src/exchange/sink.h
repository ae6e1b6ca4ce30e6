/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef EXCHANGE_SINK_H
#define EXCHANGE_SINK_H

#include <glib.h>
#include <stdbool.h>

/* Where the bytes of an export go.  This layer opens no file: the caller gives a function that takes them. */
struct sink {
	bool (*put)(void *ctx, const void *bytes, gsize len_bytes, GError **error);
	void *ctx;
};

/* A sink that appends to a GString. */
struct sink sink_of_string(GString *s);

/*
 * Bytes on their way to a sink, packed by gzip on request.  Whatever writes text appends to `text` and calls
 * writer_flush() now and then, so that an export takes no more memory than its dictionaries.  After a failure
 * everything else is dropped; it is told by writer_end().
 */
struct writer;

struct writer *writer_new(const struct sink *sink, bool gzip);
/* Appended here; the bytes before belong to the writer after each writer_flush(). */
GString *writer_text(struct writer *w);
/* Hands the text on once there is enough of it. */
void writer_flush(struct writer *w);
/* Takes the error; a later one is dropped. */
void writer_fail(struct writer *w, GError *error);
/* Frees w in any case; false with a sentence after the first failure. */
bool writer_end(struct writer *w, GError **error);

#endif
