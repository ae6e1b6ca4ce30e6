/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <lzma.h>
#include <unistd.h>

#include "symbolize/elf/functions.h"
#include "symbolize/elf/reader.h"

/* What xz -9 needs. The file's owner chose the dictionary's size. */
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

#define CHECKED_MAX_BYTES ((off_t)1 << 30)	/* a second or two of reading */
#define CRC32_POLYNOMIAL 0xedb88320u

static void make_crc_table(uint32_t table[256])
{
	for (uint32_t i = 0; i < 256; i++) {
		uint32_t crc = i;

		for (int bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? CRC32_POLYNOMIAL : 0);
		table[i] = crc;
	}
}

/* zlib's CRC-32 of the whole file. */
static bool file_crc(int fd, uint32_t *ret_crc)
{
	g_autofree uint8_t *bytes = g_malloc(65536);
	uint32_t table[256], crc = ~0u;
	off_t at = 0;
	ssize_t n;

	make_crc_table(table);
	while ((n = pread(fd, bytes, 65536, at)) > 0 && at < CHECKED_MAX_BYTES) {
		for (ssize_t i = 0; i < n; i++)
			crc = crc >> 8 ^ table[(crc ^ bytes[i]) & 0xff];
		at += n;
	}
	*ret_crc = ~crc;
	return n == 0;
}

GPtrArray *debug_file_paths(const struct elf_table *t, const char *path, const char *debug_dir)
{
	GPtrArray *paths = g_ptr_array_new_with_free_func(g_free);
	g_autofree char *dir = g_path_get_dirname(path);
	char *by_id = elf_debug_path(debug_dir, t->build_id, t->build_id_bytes);

	if (by_id)
		g_ptr_array_add(paths, by_id);
	if (!t->debuglink)
		return paths;
	g_ptr_array_add(paths, g_strdup_printf("%s/.debug/%s", dir, t->debuglink));
	g_ptr_array_add(paths, g_strdup_printf("%s%s/%s", debug_dir, dir, t->debuglink));
	g_ptr_array_add(paths, g_strdup_printf("%s/%s", dir, t->debuglink));
	return paths;
}

struct elf_table *debug_file_read(const struct elf_table *t, int fd)
{
	struct elf_table *debug;
	uint32_t crc;

	if (!t->build_id_bytes && !(t->debuglink && file_crc(fd, &crc) && crc == t->debuglink_crc))
		return NULL;
	debug = elf_table_read(fd, NULL);
	if (!debug)
		return NULL;
	debug->is_linked = !t->build_id_bytes;
	if (elf_table_is_same_build(t, debug))
		return debug;
	elf_table_free(debug);
	return NULL;
}
