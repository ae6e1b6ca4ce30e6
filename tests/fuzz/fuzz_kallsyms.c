/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <stdlib.h>
#include <string.h>

#include "symbolize/names/kernel.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The text of /proc/kallsyms: the kernel's own, yet names in it come from modules and BPF programs. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = g_malloc(size + 2);
	struct kallsyms *k;

	if (size)
		memcpy(text, data, size);
	k = kallsyms_parse(text, size);
	for (size_t i = 0; i < k->table.cnt; i++) {
		const char *name = NULL, *module = NULL;
		uint64_t off;

		if (!kallsyms_find(k, k->table.entries[i].addr, &name, &module, &off) || off || !*name || *module != '[')
			abort();
	}
	kallsyms_free(k);
	return 0;
}
