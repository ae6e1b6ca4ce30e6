/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <glib.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "symbolize/names/demangle.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A symbol's name out of the traced user's file: what is shown for it is bounded. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	GLogLevelFlags before = g_log_set_always_fatal(G_LOG_LEVEL_CRITICAL | G_LOG_LEVEL_WARNING);
	g_autofree char *name = g_strndup((const char *)data, size);
	g_autofree char *rust = demangle_rust_v0(name);
	g_autofree char *shown = demangle(name);

	g_log_set_always_fatal(before);
	if (rust && (!*rust || strlen(rust) > 4096))
		abort();
	if (shown && strlen(shown) > 8192)
		abort();
	return 0;
}
