/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "base/size_text.h"

#include <inttypes.h>

void scaled_text(GString *s, double value, const char *unit)
{
	g_string_append_printf(s, "%.*f %s", value < 9.995 ? 2 : value < 99.95 ? 1 : 0, value, unit);
}

void size_text(GString *s, uint64_t bytes)
{
	static const char *const units[] = { "KiB", "MiB", "GiB", "TiB", "PiB", "EiB" };
	double value = (double)bytes / 1024;
	unsigned i = 0;

	if (bytes < 1024) {
		g_string_append_printf(s, "%" PRIu64 " B", bytes);
		return;
	}
	for (; value >= 999.5 && i + 1 < G_N_ELEMENTS(units); i++)
		value /= 1024;
	scaled_text(s, value, units[i]);
}
