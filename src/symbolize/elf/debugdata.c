/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <lzma.h>
#include <stdlib.h>

#include "symbolize/elf/reader.h"

/* What xz -9 needs; the file's owner chose the dictionary. */
#define DECODER_MAX_BYTES ((uint64_t)80 << 20)
#define FIRST_BYTES ((size_t)1 << 20)

void *elf_debugdata_unpack(const void *xz, size_t bytes, size_t *ret_bytes)
{
	lzma_stream stream = LZMA_STREAM_INIT;
	size_t room = MIN(MAX(4 * bytes, 4096), FIRST_BYTES);
	lzma_ret state = LZMA_OK;
	uint8_t *out;

	if (lzma_stream_decoder(&stream, DECODER_MAX_BYTES, LZMA_FAIL_FAST) != LZMA_OK)
		return NULL;
	out = g_malloc(room);
	stream.next_in = xz;
	stream.avail_in = bytes;
	stream.next_out = out;
	stream.avail_out = room;
	while ((state = lzma_code(&stream, LZMA_FINISH)) == LZMA_OK && !stream.avail_out &&
	       room < ELF_DEBUGDATA_MAX_BYTES) {
		size_t done = room;

		room = MIN(room * 2, ELF_DEBUGDATA_MAX_BYTES);
		out = g_realloc(out, room);
		stream.next_out = out + done;
		stream.avail_out = room - done;
	}
	*ret_bytes = room - stream.avail_out;
	lzma_end(&stream);
	if (state != LZMA_STREAM_END || !*ret_bytes)
		g_clear_pointer(&out, g_free);
	return out;
}
