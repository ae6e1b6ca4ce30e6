/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <glib.h>
#include <stdlib.h>
#include <string.h>

#include "symbolize/jit/perf_map.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void look(const struct perf_map *m, uint64_t addr)
{
	uint64_t off;

	for (uint64_t a = 0; a < 64; a++) {
		const char *name = perf_map_find(m, a < 32 ? addr + a : a << 8, &off);

		if (name && (!*name || strpbrk(name, "\n\r\033")))
			abort();
	}
}

/*
 * A compiler's list of functions: the first 8 bytes are an address to look for, the rest the file.  The rest is tried
 * as a parser's answer, too; what was a file becomes one, which must be taken.
 */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint64_t addr = 0, step = MIN(size, 8);
	char *text = g_malloc(size - step + 1);
	g_autoptr(GByteArray) bytes = g_byte_array_new();
	struct perf_map *m, *answer = perf_map_from_bytes(data + step, size - step);

	if (answer)
		look(answer, addr);
	perf_map_free(answer);
	memcpy(&addr, data, step);
	if (size > step)
		memcpy(text, data + step, size - step);
	m = perf_map_parse(text, size - step);
	look(m, addr);
	perf_map_write(m, bytes);
	answer = perf_map_from_bytes(bytes->data, bytes->len);
	if (!answer || perf_map_cnt(answer) != perf_map_cnt(m))
		abort();
	look(answer, addr);
	perf_map_free(answer);
	perf_map_free(m);
	return 0;
}
