/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "attach/packed_object.h"

#include <glib.h>
#include <zlib.h>

const void *packed_object(size_t *at, const char *packed, size_t packed_bytes, size_t bytes)
{
	if (g_once_init_enter(at)) {
		uLongf got = bytes;
		void *object = g_malloc(bytes);

		g_assert(uncompress(object, &got, (const Bytef *)packed, packed_bytes) == Z_OK && got == bytes);
		g_once_init_leave(at, (gsize)object);
	}
	return (const void *)*at;
}
