/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "base/cpu_list.h"

#include <stdlib.h>

#define CPUS_MAX 65536

char *cpu_list_online(GError **error)
{
	char *online = NULL;

	return g_file_get_contents("/sys/devices/system/cpu/online", &online, NULL, error) ? online : NULL;
}

GArray *cpu_list_parse(const char *list)
{
	GArray *cpus = g_array_new(FALSE, FALSE, sizeof(int));

	for (const char *p = list; *p >= '0' && *p <= '9';) {
		char *end;
		long first = strtol(p, &end, 10), last = first;

		if (*end == '-')
			last = strtol(end + 1, &end, 10);
		for (long i = first; i <= last && i < CPUS_MAX; i++) {
			int cpu = (int)i;

			g_array_append_val(cpus, cpu);
		}
		p = *end == ',' ? end + 1 : "";
	}
	return cpus;
}

bool cpu_list_has(const GArray *cpus, int cpu)
{
	for (guint i = 0; i < cpus->len; i++)
		if (g_array_index(cpus, int, i) == cpu)
			return true;
	return false;
}
