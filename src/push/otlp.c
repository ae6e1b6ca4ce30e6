/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "push/series.h"

#include "exchange/format.h"
#include "base/wire.h"

enum response_field { RESPONSE_PARTIAL_SUCCESS = 1, PARTIAL_REJECTED = 1, PARTIAL_MESSAGE = 2, STATUS_MESSAGE = 2 };

static bool body(const struct series_part *part, bool is_last, GString *ret_body)
{
	g_autofree char *service = series_value(part->service);
	const struct export_plan plan = { .folded = { .weight = WEIGHT_OFF_CPU },
					  .service = service,
					  .idle = part->is_idle ? "yes" : "no" };
	const struct sink sink = sink_of_string(ret_body);
	struct writer *w = writer_new(&sink, false);

	write_otlp(w, part->p, &plan);
	writer_end(w, NULL);
	if (ret_body->len <= OTLP_BYTES_MAX || is_last)
		return true;
	g_string_truncate(ret_body, 0);
	return false;
}

const struct series_format otlp_series = { .engine = "an OTLP collector",
					   .samples_max = OTLP_SAMPLES_MAX,
					   .is_gzip = true,
					   .body = body };

static char *text_in(const struct wire_field *f)
{
	return g_strndup((const char *)f->bytes.at, cursor_left(&f->bytes));
}

uint64_t otlp_rejected(const void *bytes, gsize len_bytes, char **ret_words)
{
	struct cursor c = { .at = bytes, .end = (const uint8_t *)bytes + len_bytes };
	struct wire_field f, of;
	uint64_t rejected = 0;

	*ret_words = NULL;
	while (wire_next(&c, &f)) {
		if (f.number != RESPONSE_PARTIAL_SUCCESS || f.type != WIRE_BYTES)
			continue;
		while (wire_next(&f.bytes, &of)) {
			if (of.number == PARTIAL_REJECTED && of.type == WIRE_VARINT) {
				rejected = of.value;
			} else if (of.number == PARTIAL_MESSAGE && of.type == WIRE_BYTES) {
				g_free(*ret_words);
				*ret_words = text_in(&of);
			}
		}
	}
	return rejected;
}

char *otlp_words(const void *bytes, gsize len_bytes)
{
	struct cursor c = { .at = bytes, .end = (const uint8_t *)bytes + len_bytes };
	struct wire_field f;
	char *words = NULL;

	while (wire_next(&c, &f)) {
		if (f.number != STATUS_MESSAGE || f.type != WIRE_BYTES)
			continue;
		g_free(words);
		words = text_in(&f);
	}
	if (!c.bad)
		return words;
	g_free(words);
	return NULL;
}
