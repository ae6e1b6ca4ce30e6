/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "cmd/types_memory.h"

#include <malloc.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>

#define HUGE_PAGE_BYTES (2u << 20)
#define TYPES_AT_ONCE 4	/* two objects are loaded at a time, and libbpf has the types of each twice */

void types_memory_take(void)
{
	struct stat st;

	mallopt(M_ARENA_MAX, 1);
	mallopt(M_MMAP_THRESHOLD, 32 << 20);
	mallopt(M_TRIM_THRESHOLD, 128 << 20);
	if (stat("/sys/kernel/btf/vmlinux", &st))
		return;
	size_t bytes = ((size_t)st.st_size * TYPES_AT_ONCE / HUGE_PAGE_BYTES + 1) * HUGE_PAGE_BYTES;
	void *room = aligned_alloc(HUGE_PAGE_BYTES, bytes);

	if (room)
		madvise(room, bytes, MADV_HUGEPAGE);
	free(room);
}

void types_memory_give_back(void)
{
	mallopt(M_MMAP_THRESHOLD, 1 << 20);
	mallopt(M_TRIM_THRESHOLD, 4 << 20);
	malloc_trim(0);
}
