/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef EXCHANGE_SOURCE_H
#define EXCHANGE_SOURCE_H

#include <glib.h>

/*
 * A stream of an untrusted file's bytes; the caller provides a function that reads.  gzip and zstd are decompressed.
 * A few kilobytes can decompress to gigabytes, so output is bounded by input: 64 MiB plus 200 bytes per byte.  Text is
 * read line by line and takes no more memory than its longest line.
 */
struct source;

/* Returns the number of bytes read, 0 at the end, -1 with *error. */
typedef gssize (*source_read_fn)(void *ctx, void *buffer, gsize size_bytes, GError **error);

#define SOURCE_LINE_MAX_BYTES (1 << 20)
#define SOURCE_ALL_MAX_BYTES (UINT64_C(1) << 30) /* for what must be in memory as a whole */
#define SOURCE_FREE_BYTES (UINT64_C(64) << 20)
#define SOURCE_RATIO_MAX 200

struct source *source_new(source_read_fn read, void *ctx);
/* The same for bytes in memory, which must stay valid. */
struct source *source_of_bytes(const void *bytes, gsize len_bytes);
void source_free(struct source *s);

/* The first bytes, decompressed, up to 64 KiB, without consuming them.  NULL with *error. */
const char *source_peek(struct source *s, gsize *ret_len_bytes, GError **error);
/*
 * The next line without its newline, NUL-terminated, valid until the next call.  NULL at the end, or with *error on
 * failure.  NUL bytes become blanks.  A line longer than SOURCE_LINE_MAX_BYTES is EXCHANGE_ERROR_LINE; the next call
 * returns the line after it.
 */
char *source_line(struct source *s, gsize *ret_len_bytes, GError **error);
/* The rest of the stream.  Free with g_byte_array_unref(). */
GByteArray *source_all(struct source *s, GError **error);

#endif
