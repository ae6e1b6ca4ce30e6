/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "agent/log.h"

#include "base/text.h"

void log_say(log_fn log, enum log_level level, const char *format, ...)
{
	g_autofree char *text = NULL, *safe = NULL;
	va_list args;

	va_start(args, format);
	text = g_strdup_vprintf(format, args);
	va_end(args);
	safe = text_made_safe(text);
	log(level, safe);
}
