/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "push/series.h"

#include "base/wire.h"

enum push_field { PUSH_SERIES = 1, SERIES_LABEL = 1, SERIES_SAMPLE = 2, RAW_PROFILE = 1 };

static bool body(const struct series_part *part, bool is_last, GString *ret_body)
{
	g_autoptr(GString) series = g_string_new(NULL), sample = g_string_new(NULL), packed = g_string_new(NULL);
	const struct series_label delta = { "__delta__", "false" };
	struct series_label labels[SERIES_LABELS];

	if (!series_pprof(part, is_last ? G_MAXSIZE : PYROSCOPE_BYTES_MAX, packed))
		return false;
	series_labels(part, labels);
	for (int i = 0; i < SERIES_LABELS; i++)
		series_append_label(series, SERIES_LABEL, &labels[i]);
	series_append_label(series, SERIES_LABEL, &delta);
	wire_bytes(sample, RAW_PROFILE, packed->str, packed->len);
	wire_message(series, SERIES_SAMPLE, sample);
	wire_message(ret_body, PUSH_SERIES, series);
	return true;
}

const struct series_format pyroscope_series = { .engine = "Pyroscope",
						.samples_max = PYROSCOPE_SAMPLES_MAX,
						.body = body };
