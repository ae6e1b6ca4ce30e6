/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef SYMBOLIZE_MEMORY_H
#define SYMBOLIZE_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* All bytes of another process's memory at addr; false when they are not there, or may not be read. */
bool memory_read(uint32_t pid, uint64_t addr, void *ret, size_t bytes);

/*
 * For a calling thread that reads many small things of one process: between these two it asks for whole pages, each
 * once, since a question to the opener costs two switches.  memory_read_pieces() reads what is there by then.
 */
void memory_keep_pages(uint32_t pid);
void memory_drop_pages(void);
/*
 * The same for one thing after the other that was seen at some time (CLOCK_MONOTONIC), of any process: a page that was
 * read after that time is as good as now.  Between memory_leave_pages() and the next one nothing kept is read.
 */
void memory_keep_pages_since(uint32_t pid, uint64_t seen_ns);
void memory_leave_pages(void);

/* A text that ends with a 0 byte within `room` bytes; false where there is none. */
bool memory_text(uint32_t pid, uint64_t addr, char *ret, size_t room);

struct memory_piece {
	uint64_t addr;
	void *ret;
	size_t bytes;
};

/* Many pieces at once; is_read: which were. */
void memory_read_pieces(uint32_t pid, const struct memory_piece *pieces, size_t cnt, bool *is_read);

/* Of what was read, at any place. */
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
