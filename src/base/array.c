/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "base/each.h"

#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

/* One fault for each page takes several times as long. Needs Linux 5.14; elsewhere pages come on demand. */
static void populate(void *from, size_t bytes)
{
#ifdef MADV_POPULATE_WRITE
	const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE) - 1;
	uintptr_t first = ((uintptr_t)from + page) & ~page, end = ((uintptr_t)from + bytes) & ~page;

	if (first < end)
		madvise((void *)first, end - first, MADV_POPULATE_WRITE);
#endif
}

void array_expect(GArray *array, guint cnt)
{
	const size_t element = g_array_get_element_size(array);
	const guint len = array->len;

	if (!cnt || cnt > G_MAXUINT - len)
		return;
	g_array_set_size(array, len + cnt);
	g_array_set_size(array, len);
	populate(array->data + len * element, cnt * element);
}
