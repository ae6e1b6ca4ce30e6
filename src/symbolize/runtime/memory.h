/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef SYMBOLIZE_MEMORY_H
#define SYMBOLIZE_MEMORY_H

#include <glib.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Reads another process's memory. False: not all mapped, or access is denied. */
bool memory_read(uint32_t pid, uint64_t addr, void *ret, size_t bytes);

/*
 * For a thread that reads many small things of a process: in between, whole pages are read once and cached, because
 * each request to the opener costs two switches. memory_read_pieces() reads current data.
 */
void memory_keep_pages(uint32_t pid);
void memory_drop_pages(void);
void memory_keep_anew(uint32_t pid);	/* in between: drops the cache */
void memory_keep_around(bool around);	/* in between: read neighbouring pages, too, for reading most of the memory */
/*
 * For looks that are repeated: in between, reads pages (uint64_t numbers) together, and tells which were needed so far,
 * at most 1 MiB, which will most likely be needed again.
 */
void memory_keep_ahead(const GArray *numbers);
void memory_needed(GArray *ret_numbers);

/*
 * Likewise while the thread names stacks, of any process: pages are kept for later stacks for 20 ms. Then they are
 * read again, because code and its names may move. These calls may be nested.
 */
void memory_begin_names(void);
void memory_end_names(void);
/* In between: allows pages up to 200 ms old, for data that does not move within that time. */
void memory_names_may_be_old(bool may);

/* Reads a text that is NUL-terminated within `room` bytes. False: none. */
bool memory_text(uint32_t pid, uint64_t addr, char *ret, size_t room);

struct memory_piece {
	uint64_t addr;
	void *ret;
	size_t bytes;
};

/* Reads many pieces at once; is_read: which succeeded. */
void memory_read_pieces(uint32_t pid, const struct memory_piece *pieces, size_t cnt, bool *is_read);

/* A word at any offset of data that was read. */
static inline uint64_t memory_word(const uint8_t *bytes, size_t at)
{
	uint64_t word;

	memcpy(&word, bytes + at, sizeof(word));
	return word;
}

static inline uint32_t memory_half(const uint8_t *bytes, size_t at)
{
	uint32_t half;

	memcpy(&half, bytes + at, sizeof(half));
	return half;
}

#endif
