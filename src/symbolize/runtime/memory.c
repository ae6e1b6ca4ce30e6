/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "symbolize/runtime/memory.h"

#include <string.h>
#include <sys/uio.h>

#define PAGE_BYTES 4096
#define PIECES_AT_ONCE 256

bool memory_read(uint32_t pid, uint64_t addr, void *ret, size_t bytes)
{
	struct iovec here = { ret, bytes }, there = { (void *)(uintptr_t)addr, bytes };

	return bytes && process_vm_readv((int)pid, &here, 1, &there, 1, 0) == (ssize_t)bytes;
}

/* What lies behind the text may be unreadable, but only from another page on. */
bool memory_text(uint32_t pid, uint64_t addr, char *ret, size_t room)
{
	size_t first = PAGE_BYTES - addr % PAGE_BYTES;
	struct iovec here = { ret, room };
	struct iovec there[] = { { (void *)(uintptr_t)addr, first < room ? first : room },
				 { (void *)(uintptr_t)(addr + first), first < room ? room - first : 0 } };
	ssize_t n = process_vm_readv((int)pid, &here, 1, there, first < room ? 2 : 1, 0);

	return n > 0 && memchr(ret, 0, (size_t)n);
}

/* How many of the first pieces could be read. */
static size_t read_some(uint32_t pid, const struct memory_piece *pieces, size_t cnt)
{
	struct iovec here[PIECES_AT_ONCE], there[PIECES_AT_ONCE];
	size_t done = 0;
	ssize_t n;

	for (size_t i = 0; i < cnt; i++) {
		here[i] = (struct iovec){ pieces[i].ret, pieces[i].bytes };
		there[i] = (struct iovec){ (void *)(uintptr_t)pieces[i].addr, pieces[i].bytes };
	}
	n = process_vm_readv((int)pid, here, cnt, there, cnt, 0);
	for (; done < cnt && n >= (ssize_t)pieces[done].bytes; done++)
		n -= (ssize_t)pieces[done].bytes;
	return done;
}

void memory_read_pieces(uint32_t pid, const struct memory_piece *pieces, size_t cnt, bool *is_read)
{
	memset(is_read, 0, cnt * sizeof(*is_read));
	for (size_t at = 0; at < cnt;) {
		size_t now = cnt - at < PIECES_AT_ONCE ? cnt - at : PIECES_AT_ONCE,
		       done = read_some(pid, pieces + at, now);

		memset(is_read + at, 1, done * sizeof(*is_read));
		at += done < now ? done + 1 : now;	/* one that cannot be read is left out */
	}
}
