/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "push/series.h"

#include <string.h>

#include "base/parse.h"
#include "base/wire.h"

enum write_raw_field {
	WRITE_SERIES = 2,
	WRITE_NORMALIZED = 3,
	SERIES_LABEL_SET = 1,
	SERIES_SAMPLE = 2,
	SET_LABEL = 1,
	RAW_PROFILE = 1
};

/* A gRPC-Web message and a trailer begin with a byte of flags and a big-endian length of four bytes. */
#define FRAME_HEAD_BYTES 5
#define FRAME_IS_TRAILER 0x80
#define TRAILER_MAX_BYTES 4096
#define STATUS_MAX 16	/* of google.rpc.Code */

static void append_frame(GString *out, const GString *message)
{
	const uint32_t len = GUINT32_TO_BE((uint32_t)message->len);

	g_string_append_c(out, 0);
	g_string_append_len(out, (const char *)&len, sizeof(len));
	g_string_append_len(out, message->str, (gssize)message->len);
}

/*
 * Parca's storage rejects duplicate labels and a series without __name__, and drops labels of samples: we send none.
 */
static bool body(const struct series_part *part, bool is_last, GString *ret_body)
{
	g_autoptr(GString) packed = g_string_new(NULL), set = g_string_new(NULL), one = g_string_new(NULL),
			   series = g_string_new(NULL), request = g_string_new(NULL);
	struct series_label labels[SERIES_LABELS];

	if (!series_pprof(part, is_last ? G_MAXSIZE : PARCA_BYTES_MAX, packed))
		return false;
	series_labels(part, labels);
	for (int i = 0; i < SERIES_LABELS; i++)
		series_append_label(set, SET_LABEL, &labels[i]);
	wire_message(series, SERIES_LABEL_SET, set);
	wire_bytes(one, RAW_PROFILE, packed->str, packed->len);
	wire_message(series, SERIES_SAMPLE, one);
	wire_message(request, WRITE_SERIES, series);
	wire_uint(request, WRITE_NORMALIZED, 1);
	append_frame(ret_body, request);
	return true;
}

const struct series_format parca_series = { .engine = "Parca", .samples_max = PARCA_SAMPLES_MAX, .body = body };

/* The value of a header in a trailer; free with g_free().  NULL: not found. */
static char *header_in(const char *trailer, const char *name)
{
	g_auto(GStrv) lines = g_strsplit(trailer, "\n", -1);
	gsize len = strlen(name);

	for (char **l = lines; *l; l++)
		if (g_ascii_strncasecmp(*l, name, len) == 0 && (*l)[len] == ':')
			return g_strdup(g_strstrip(*l + len + 1));
	return NULL;
}

long parca_status(const void *bytes, gsize len_bytes, const char *headers, char **ret_words)
{
	struct cursor c = { .at = bytes, .end = (const uint8_t *)bytes + len_bytes };
	g_autoptr(GString) lines = g_string_new(headers);
	const uint8_t *head;

	*ret_words = NULL;
	while ((head = cursor_take(&c, FRAME_HEAD_BYTES))) {
		uint32_t len = (uint32_t)head[1] << 24 | (uint32_t)head[2] << 16 | (uint32_t)head[3] << 8 | head[4];
		const uint8_t *text = cursor_take(&c, len);

		if (text && head[0] & FRAME_IS_TRAILER)
			g_string_append_len(lines, (const char *)text, MIN(len, TRAILER_MAX_BYTES));
	}
	g_autofree char *status = header_in(lines->str, "grpc-status");
	uint32_t number;

	if (!status || !parse_u32(status, &number, NULL))
		return -1;
	*ret_words = header_in(lines->str, "grpc-message");
	return number > STATUS_MAX ? -1 : (long)number;
}
