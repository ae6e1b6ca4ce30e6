/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "base/process_ids.h"

#include <stdint.h>

GArray *process_ids(void)
{
	GArray *pids = g_array_new(FALSE, FALSE, sizeof(uint32_t));
	g_autoptr(GDir) dir = g_dir_open("/proc", 0, NULL);
	const char *name;

	while (dir && (name = g_dir_read_name(dir))) {
		uint64_t number;

		if (g_ascii_string_to_unsigned(name, 10, 1, UINT32_MAX, &number, NULL)) {
			uint32_t pid = (uint32_t)number;

			g_array_append_val(pids, pid);
		}
	}
	return pids;
}
