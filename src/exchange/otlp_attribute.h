/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef EXCHANGE_OTLP_ATTRIBUTE_H
#define EXCHANGE_OTLP_ATTRIBUTE_H

#include "base/wire.h"

/* Shared by all OpenTelemetry signals. */
enum { OTLP_RESOURCE_ATTRIBUTE = 1, OTLP_SCOPE_NAME = 1, OTLP_SCOPE_VERSION };

/* Appends a KeyValue with a text; nothing if that is NULL or "". */
static inline void otlp_attribute(GString *out, unsigned field, const char *name, const char *text)
{
	enum { KEY = 1, VALUE, ANY_STRING = 1 };
	g_autoptr(GString) any = g_string_new(NULL), pair = g_string_new(NULL);

	if (!text || !*text)
		return;
	wire_string(any, ANY_STRING, text);
	wire_string(pair, KEY, name);
	wire_message(pair, VALUE, any);
	wire_message(out, field, pair);
}

#endif
