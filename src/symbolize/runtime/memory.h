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
void memory_keep_anew(uint32_t pid);	/* between these: what was read counts no more */
void memory_keep_around(bool around);	/* between these, for who goes through most of it: pages come with their neighbours */

/*
 * The same while the calling thread names what is in stacks, of any process: the pages stay for the next stack, for 20
 * ms.  Then they are read anew, as code and its names may move.  These may lie within each other.
 */
void memory_begin_names(void);
void memory_end_names(void);
/* Within these: pages that are up to 200 ms old will do, for what stays where it is for longer. */
void memory_names_may_be_old(bool may);

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
