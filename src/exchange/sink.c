/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "exchange/sink.h"

#include <zlib.h>

#define FLUSH_BYTES (256 * 1024)
#define PACKED_BYTES (64 * 1024)
#define GZIP_WINDOW_BITS (15 + 16) /* the maximum window, with a gzip header */
#define GZIP_LEVEL 3	/* takes a third of the time of 6 for a few percent more bytes */
#define GZIP_MEMORY 8

struct writer {
	struct sink sink;
	GString *text;
	bool gzip;
	z_stream z;
	unsigned char packed[PACKED_BYTES];
	GError *error;
};

static bool put_string(void *ctx, const void *bytes, gsize len_bytes, GError **error)
{
	g_string_append_len(ctx, bytes, (gssize)len_bytes);
	return true;
}

struct sink sink_of_string(GString *s)
{
	return (struct sink){ put_string, s };
}

struct writer *writer_new(const struct sink *sink, bool gzip)
{
	struct writer *w = g_new0(struct writer, 1);

	w->sink = *sink;
	w->text = g_string_sized_new(FLUSH_BYTES);
	w->gzip = gzip;
	if (gzip &&
	    deflateInit2(&w->z, GZIP_LEVEL, Z_DEFLATED, GZIP_WINDOW_BITS, GZIP_MEMORY, Z_DEFAULT_STRATEGY) != Z_OK)
		g_set_error_literal(&w->error, G_FILE_ERROR, G_FILE_ERROR_NOMEM, "gzip: no memory");
	return w;
}

GString *writer_text(struct writer *w)
{
	return w->text;
}

static void compress_text(struct writer *w, int flush)
{
	w->z.next_in = (unsigned char *)w->text->str;
	w->z.avail_in = (uInt)w->text->len;
	do {
		w->z.next_out = w->packed;
		w->z.avail_out = PACKED_BYTES;
		deflate(&w->z, flush);
		if (!w->error)
			w->sink.put(w->sink.ctx, w->packed, PACKED_BYTES - w->z.avail_out, &w->error);
	} while (w->z.avail_out == 0 && !w->error);
}

static void hand_on(struct writer *w, int flush)
{
	/* zlib counts in 32 bits; no text between two flushes comes near. */
	if (!w->error && w->text->len > G_MAXUINT32)
		g_set_error_literal(&w->error, G_FILE_ERROR, G_FILE_ERROR_NOMEM,
				    "one part of the export is above 4 GiB");
	if (!w->error && w->gzip)
		compress_text(w, flush);
	else if (!w->error)
		w->sink.put(w->sink.ctx, w->text->str, w->text->len, &w->error);
	g_string_truncate(w->text, 0);
}

void writer_flush(struct writer *w)
{
	if (w->text->len >= FLUSH_BYTES)
		hand_on(w, Z_NO_FLUSH);
}

void writer_fail(struct writer *w, GError *error)
{
	if (w->error)
		g_error_free(error);
	else
		w->error = error;
}

bool writer_end(struct writer *w, GError **error)
{
	bool ok;

	hand_on(w, Z_FINISH);
	if (w->gzip)
		deflateEnd(&w->z);
	ok = !w->error;
	if (!ok)
		g_propagate_error(error, w->error);
	g_string_free(w->text, TRUE);
	g_free(w);
	return ok;
}
