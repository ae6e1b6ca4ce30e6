/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "exchange/source.h"

#include <string.h>
#include <zlib.h>
#include <zstd.h>

#include "base/each.h"
#include "base/refuse.h"
#include "exchange/format.h"

#define CHUNK_BYTES (64 * 1024)
#define GZIP_WINDOW_BITS (15 + 16)
#define ZSTD_WINDOW_LOG_MAX 27 /* 128 MiB, zstd's default limit */

enum packing { PACKED_UNKNOWN, PACKED_NOT, PACKED_GZIP, PACKED_ZSTD };

struct source {
	source_read_fn read;
	void *ctx;
	/* input as read */
	unsigned char *in;
	gsize in_at, in_len;
	bool in_ended;
	uint64_t in_bytes, out_bytes;
	enum packing packing;
	z_stream z;
	ZSTD_DStream *zstd;
	bool frame_ended; /* the compressed frame has ended; another may follow */
	/* unpacked data; from `at` on not consumed yet */
	GByteArray *out; /* unpacked data; from `at` on not consumed yet */
	gsize at;
	bool ended;
	/* for source_of_bytes() */
	const char *bytes;
	gsize left;
};

static gssize read_bytes(void *ctx, void *buffer, gsize size_bytes, GError **error)
{
	struct source *s = ctx;
	gsize n = MIN(size_bytes, s->left);

	memcpy(buffer, s->bytes, n);
	s->bytes += n;
	s->left -= n;
	return (gssize)n;
}

struct source *source_new(source_read_fn read, void *ctx)
{
	struct source *s = g_new0(struct source, 1);

	s->read = read;
	s->ctx = ctx;
	s->in = g_malloc(CHUNK_BYTES);
	s->out = g_byte_array_sized_new(CHUNK_BYTES);
	return s;
}

struct source *source_of_bytes(const void *bytes, gsize len_bytes)
{
	struct source *s = source_new(read_bytes, NULL);

	s->ctx = s;
	s->bytes = bytes;
	s->left = len_bytes;
	return s;
}

FREES(source_free, struct source, s, if (s->packing == PACKED_GZIP) inflateEnd(&s->z); ZSTD_freeDStream(s->zstd);
      g_byte_array_unref(s->out); g_free(s->in))

static bool bad_source(GError **error, enum exchange_error code, const char *message)
{
	return refuse(error, EXCHANGE_ERROR, (int)code, "%s", message);
}

/* Appends input to what is left. */
static bool fill_in(struct source *s, GError **error)
{
	memmove(s->in, s->in + s->in_at, s->in_len - s->in_at);
	s->in_len -= s->in_at;
	s->in_at = 0;
	while (!s->in_ended && s->in_len < CHUNK_BYTES) {
		gssize n = s->read(s->ctx, s->in + s->in_len, CHUNK_BYTES - s->in_len, error);

		if (n < 0)
			return false;
		s->in_ended = n == 0;
		s->in_len += (gsize)n;
		s->in_bytes += (gsize)n;
	}
	return true;
}

static bool detect_packing(struct source *s, GError **error)
{
	static const unsigned char gzip[] = { 0x1f, 0x8b }, zstd[] = { 0x28, 0xb5, 0x2f, 0xfd };

	if (!fill_in(s, error))
		return false;
	s->packing = PACKED_NOT;
	if (s->in_len >= sizeof(gzip) && memcmp(s->in, gzip, sizeof(gzip)) == 0) {
		if (inflateInit2(&s->z, GZIP_WINDOW_BITS) != Z_OK)
			return bad_source(error, EXCHANGE_ERROR_TOO_MUCH, "no memory to unpack it");
		s->packing = PACKED_GZIP;
	} else if (s->in_len >= sizeof(zstd) && memcmp(s->in, zstd, sizeof(zstd)) == 0) {
		s->zstd = ZSTD_createDStream();
		if (!s->zstd || ZSTD_isError(ZSTD_DCtx_setParameter(s->zstd, ZSTD_d_windowLogMax, ZSTD_WINDOW_LOG_MAX)))
			return bad_source(error, EXCHANGE_ERROR_TOO_MUCH, "no memory to unpack it");
		s->packing = PACKED_ZSTD;
	}
	return true;
}

/* Decompresses into `to`; the number of bytes, or -1 if damaged. */
static gssize unpack_gzip(struct source *s, unsigned char *to, gsize size_bytes)
{
	if (s->frame_ended && inflateReset(&s->z) != Z_OK)
		return -1;
	s->frame_ended = false;
	s->z.next_in = s->in + s->in_at;
	s->z.avail_in = (uInt)(s->in_len - s->in_at);
	s->z.next_out = to;
	s->z.avail_out = (uInt)size_bytes;
	int rc = inflate(&s->z, Z_NO_FLUSH);

	s->in_at = s->in_len - s->z.avail_in;
	s->frame_ended = rc == Z_STREAM_END;
	if (rc != Z_OK && rc != Z_STREAM_END && rc != Z_BUF_ERROR)
		return -1;
	return (gssize)(size_bytes - s->z.avail_out);
}

static gssize unpack_zstd(struct source *s, unsigned char *to, gsize size_bytes)
{
	ZSTD_inBuffer in = { s->in, s->in_len, s->in_at };
	ZSTD_outBuffer out = { to, size_bytes, 0 };
	size_t rc = ZSTD_decompressStream(s->zstd, &out, &in);

	s->in_at = in.pos;
	s->frame_ended = rc == 0;
	return ZSTD_isError(rc) ? -1 : (gssize)out.pos;
}

static gssize take_plain(struct source *s, unsigned char *to, gsize size_bytes)
{
	gsize n = MIN(size_bytes, s->in_len - s->in_at);

	memcpy(to, s->in + s->in_at, n);
	s->in_at += n;
	return (gssize)n;
}

/* Whether only zero bytes are left, which some programs write as padding. */
static bool packed_end(const struct source *s)
{
	if (s->packing == PACKED_NOT)
		return false;
	for (gsize i = s->in_at; i < s->in_len; i++)
		if (s->in[i])
			return false;
	return true;
}

/* Whether all output was produced.  A decompressor may have more output after the last input. */
static bool is_over(const struct source *s)
{
	return (s->packing == PACKED_NOT || s->frame_ended) && s->in_ended &&
	       (s->in_at == s->in_len || packed_end(s));
}

/* Appends a chunk to `out`, or notes the end.  `out` grows only if there is more. */
static bool fill_out(struct source *s, GError **error)
{
	gsize from = s->out->len;
	gssize n = 0;

	if (s->packing == PACKED_UNKNOWN && !detect_packing(s, error))
		return false;
	while (n == 0) {
		if (s->in_at == s->in_len && !s->in_ended && !fill_in(s, error))
			return false;
		s->ended = is_over(s);
		if (s->ended)
			return true;
		gsize before = s->in_at;

		g_byte_array_set_size(s->out, (guint)(from + CHUNK_BYTES));
		n = s->packing == PACKED_GZIP   ? unpack_gzip(s, s->out->data + from, CHUNK_BYTES)
		    : s->packing == PACKED_ZSTD ? unpack_zstd(s, s->out->data + from, CHUNK_BYTES)
						: take_plain(s, s->out->data + from, CHUNK_BYTES);
		g_byte_array_set_size(s->out, (guint)(from + (gsize)MAX(n, 0)));
		if (n < 0)
			return bad_source(error, EXCHANGE_ERROR_BAD, "its packed bytes are damaged");
		if (n == 0 && s->in_at == before && s->in_ended && !s->frame_ended)
			return bad_source(error, EXCHANGE_ERROR_BAD, "its packed bytes are cut off");
	}
	s->out_bytes += (gsize)n;
	if (s->packing != PACKED_NOT && s->out_bytes > SOURCE_FREE_BYTES + SOURCE_RATIO_MAX * s->in_bytes)
		return bad_source(error, EXCHANGE_ERROR_TOO_MUCH,
				  "it unpacks to far more than it is: more than 200 times as much");
	return true;
}

/* Drops consumed data once it is worth the move. */
static void drop_read(struct source *s)
{
	if (s->at < CHUNK_BYTES)
		return;
	g_byte_array_remove_range(s->out, 0, (guint)s->at);
	s->at = 0;
}

const char *source_peek(struct source *s, gsize *ret_len_bytes, GError **error)
{
	while (!s->ended && s->out->len - s->at < CHUNK_BYTES)
		if (!fill_out(s, error))
			return NULL;
	*ret_len_bytes = MIN(s->out->len - s->at, CHUNK_BYTES);
	return *ret_len_bytes ? (const char *)s->out->data + s->at : "";
}

/* Terminates the line at `end` (in `out`) and moves behind it. */
static char *take_line(struct source *s, gsize end, gsize *ret_len_bytes)
{
	char *line = (char *)s->out->data + s->at;
	gsize len = end - s->at;

	for (gsize i = 0; i < len; i++)
		if (line[i] == '\0')
			line[i] = ' ';
	if (len && line[len - 1] == '\r')
		len--;
	line[len] = '\0';
	s->at = end + 1;
	*ret_len_bytes = len;
	return line;
}

/* Skips the rest of a line, up to the newline or the end. */
static bool drop_line(struct source *s, GError **error)
{
	for (;;) {
		unsigned char *newline = memchr(s->out->data + s->at, '\n', s->out->len - s->at);

		s->at = newline ? (gsize)(newline - s->out->data) + 1 : s->out->len;
		if (newline || s->ended)
			return true;
		drop_read(s);
		if (!fill_out(s, error))
			return false;
	}
}

char *source_line(struct source *s, gsize *ret_len_bytes, GError **error)
{
	gsize seen = 0;

	drop_read(s);
	for (;;) {
		gsize left = s->out->len - s->at;
		unsigned char *from = s->out->data + s->at;
		unsigned char *newline = left > seen ? memchr(from + seen, '\n', left - seen) : NULL;

		if (newline)
			return take_line(s, (gsize)(newline - s->out->data), ret_len_bytes);
		seen = left;
		if (seen > SOURCE_LINE_MAX_BYTES) {
			if (drop_line(s, error))
				bad_source(error, EXCHANGE_ERROR_LINE, "a line of it is longer than 1 MiB");
			return NULL;
		}
		if (s->ended && !left)
			return NULL;
		if (s->ended)
			g_byte_array_append(s->out, (const guint8 *)"\n", 1);
		else if (!fill_out(s, error))
			return NULL;
	}
}

GByteArray *source_all(struct source *s, GError **error)
{
	while (!s->ended) {
		if (s->out->len - s->at > SOURCE_ALL_MAX_BYTES) {
			bad_source(error, EXCHANGE_ERROR_TOO_MUCH, "it is larger than 1 GiB");
			return NULL;
		}
		if (!fill_out(s, error))
			return NULL;
	}
	GByteArray *all = s->out;

	if (s->at)
		g_byte_array_remove_range(all, 0, (guint)s->at);
	s->out = g_byte_array_new();
	s->at = 0;
	return all;
}
