/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <glib.h>
#include <stdlib.h>
#include <string.h>

#include "symbolize/jit/perf_map.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A compiler's list of functions: the first 8 bytes are an address to look for, the rest the file. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint64_t addr = 0, off, step = MIN(size, 8);
	char *text = g_malloc(size - step + 1);
	struct perf_map *m;
	const char *name;

	memcpy(&addr, data, step);
	if (size > step)
		memcpy(text, data + step, size - step);
	m = perf_map_parse(text, size - step);
	for (uint64_t a = 0; a < 64; a++) {
		name = perf_map_find(m, a < 32 ? addr + a : a << 8, &off);
		if (name && (!*name || strpbrk(name, "\n\r\033")))
			abort();
	}
	perf_map_free(m);
	return 0;
}
