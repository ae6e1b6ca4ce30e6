/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "store/blob.h"

#include <stdarg.h>
#include <zstd.h>

G_DEFINE_QUARK(store-error, store_error)

void *blob_pack(const GByteArray *plain, int level, size_t *ret_bytes)
{
	size_t room = ZSTD_compressBound(plain->len);
	void *packed = g_malloc(room);
	size_t got = ZSTD_compress(packed, room, plain->data, plain->len, level);

	if (ZSTD_isError(got)) {
		g_free(packed);
		return NULL;
	}
	*ret_bytes = got;
	return packed;
}

uint8_t *blob_unpack(const void *packed, size_t packed_bytes, size_t plain_bytes)
{
	if (plain_bytes > STORE_BLOB_MAX_BYTES || ZSTD_getFrameContentSize(packed, packed_bytes) != plain_bytes)
		return NULL;
	uint8_t *plain = g_try_malloc(plain_bytes + 1);
	size_t got = plain ? ZSTD_decompress(plain, plain_bytes, packed, packed_bytes) : 0;

	if (plain && got == plain_bytes)
		return plain;
	g_free(plain);
	return NULL;
}
