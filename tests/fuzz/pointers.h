/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef FUZZ_POINTERS_H
#define FUZZ_POINTERS_H

#include <glib.h>
#include <stdint.h>
#include <string.h>

/* Memory made of the bytes: words that are small multiples of 8, or one more than such, point into the memory itself. */
static inline void pointers_fill(uint64_t *memory, size_t words, const uint8_t *data, size_t size)
{
	memset(memory, 0, words * sizeof(*memory));
	memcpy(memory, data, MIN(size, words * sizeof(*memory)));
	for (size_t i = 0; i < words; i++)
		if (memory[i] > 1 && memory[i] < words * sizeof(*memory) && !(memory[i] & 6))
			memory[i] += (uint64_t)(uintptr_t)memory;
}

#endif
