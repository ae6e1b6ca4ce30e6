/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef EXCHANGE_SOURCE_H
#define EXCHANGE_SOURCE_H

#include <glib.h>
#include <stdbool.h>

/*
 * Bytes of a file that somebody else wrote, as a stream: the caller gives a function that reads.  What is packed by
 * gzip or zstd is unpacked on the way.  A few kilobytes can unpack to any number of gigabytes, so what comes out is
 * bounded by what went in: 64 MiB and 200 bytes for each.  Text is read line by line, and takes no more memory than
 * its longest line.
 */
struct source;

/* The number of bytes put into `buffer`, 0 at the end, -1 with *error. */
typedef gssize (*source_read_fn)(void *ctx, void *buffer, gsize size_bytes, GError **error);

#define SOURCE_LINE_MAX_BYTES (1 << 20)
#define SOURCE_ALL_MAX_BYTES (UINT64_C(1) << 30) /* of what must be in memory as a whole */
#define SOURCE_FREE_BYTES (UINT64_C(64) << 20)
#define SOURCE_RATIO_MAX 200

struct source *source_new(source_read_fn read, void *ctx);
/* The same of bytes in memory, which must stay. */
struct source *source_of_bytes(const void *bytes, gsize len_bytes);
void source_free(struct source *s);

/* The first bytes, unpacked, up to 64 KiB; they stay to be read.  NULL with *error. */
const char *source_peek(struct source *s, gsize *ret_len_bytes, GError **error);
/*
 * The next line without its newline, ended by a 0 byte, valid until the next call; NULL at the end, and with *error
 * on failure.  A 0 byte within becomes a blank.  One longer than SOURCE_LINE_MAX_BYTES is EXCHANGE_ERROR_LINE, and the
 * call after it has the one behind it.
 */
char *source_line(struct source *s, gsize *ret_len_bytes, GError **error);
/* All that is left; free with g_byte_array_unref(). */
GByteArray *source_all(struct source *s, GError **error);

#endif
