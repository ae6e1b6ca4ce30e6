/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "push/pyroscope.h"

#include "exchange/wire.h"

enum push_field { PUSH_SERIES = 1, SERIES_LABEL = 1, SERIES_SAMPLE = 2, LABEL_NAME = 1, LABEL_VALUE = 2, RAW_PROFILE = 1 };

static void label(GString *series, const char *name, const char *value)
{
	g_autoptr(GString) out = g_string_new(NULL);
	g_autofree char *valid = series_value(value);

	wire_string(out, LABEL_NAME, name);
	wire_string(out, LABEL_VALUE, valid);
	wire_message(series, SERIES_LABEL, out);
}

static bool body(const struct series_part *part, bool is_last, GString *ret_body)
{
	g_autoptr(GString) series = g_string_new(NULL), sample = g_string_new(NULL), packed = g_string_new(NULL);
	struct series_label labels[SERIES_LABELS];

	if (!series_pprof(part, is_last ? G_MAXSIZE : PYROSCOPE_BYTES_MAX, packed))
		return false;
	series_labels(part, labels);
	for (int i = 0; i < SERIES_LABELS; i++)
		label(series, labels[i].name, labels[i].value);
	label(series, "__delta__", "false");
	wire_bytes(sample, RAW_PROFILE, packed->str, packed->len);
	wire_message(series, SERIES_SAMPLE, sample);
	wire_message(ret_body, PUSH_SERIES, series);
	return true;
}

const struct series_format pyroscope_series = { .engine = "Pyroscope", .samples_max = PYROSCOPE_SAMPLES_MAX, .body = body };
