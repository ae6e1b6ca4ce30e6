/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "symbolize/runtime/memory.h"

#include <glib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/opener.h"

#define PAGE_BYTES 4096
#define PIECES_AT_ONCE 256
#define HELD_CNT 64
#define HELD_NS UINT64_C(1000000000)

/*
 * Where another process opens what other users have, memory is read by descriptors that it gave: the right was asked
 * for as they were opened.  One shows the program that ran then, and nothing once that has ended.
 */
static struct {
	GMutex lock;
	struct held {
		uint32_t pid;	/* 0: none */
		int fd;
		uint64_t until_ns;
	} held[HELD_CNT];
} all;

static void let_go(struct held *h)
{
	if (h->pid)
		close(h->fd);
	h->pid = 0;
}

static bool hold(struct held *h, uint32_t pid)
{
	char path[32];

	let_go(h);
	g_snprintf(path, sizeof(path), "/proc/%u/mem", pid);
	h->fd = opener_open(path, 0);
	h->pid = h->fd < 0 ? 0 : pid;
	h->until_ns = clock_ns(CLOCK_MONOTONIC) + HELD_NS;
	return h->pid;
}

static ssize_t read_held(uint32_t pid, uint64_t addr, void *ret, size_t bytes)
{
	struct held *h = &all.held[pid % HELD_CNT];
	ssize_t n = 0;

	g_mutex_lock(&all.lock);
	if (h->pid == pid && clock_ns(CLOCK_MONOTONIC) < h->until_ns)
		n = pread(h->fd, ret, bytes, (off_t)addr);
	if (!n)
		n = hold(h, pid) ? pread(h->fd, ret, bytes, (off_t)addr) : -1;
	g_mutex_unlock(&all.lock);
	return n;
}

void memory_forget(uint32_t pid)
{
	struct held *h = &all.held[pid % HELD_CNT];

	g_mutex_lock(&all.lock);
	if (h->pid == pid)
		let_go(h);
	g_mutex_unlock(&all.lock);
}

bool memory_read(uint32_t pid, uint64_t addr, void *ret, size_t bytes)
{
	struct iovec here = { ret, bytes }, there = { (void *)(uintptr_t)addr, bytes };

	if (!bytes)
		return false;
	return (opener_is_apart() ? read_held(pid, addr, ret, bytes)
				  : process_vm_readv((int)pid, &here, 1, &there, 1, 0)) == (ssize_t)bytes;
}

/* What lies behind the text may be unreadable, but only from another page on. */
bool memory_text(uint32_t pid, uint64_t addr, char *ret, size_t room)
{
	size_t first = PAGE_BYTES - addr % PAGE_BYTES;
	struct iovec here = { ret, room };
	struct iovec there[] = { { (void *)(uintptr_t)addr, first < room ? first : room },
				 { (void *)(uintptr_t)(addr + first), first < room ? room - first : 0 } };
	ssize_t n = opener_is_apart() ? read_held(pid, addr, ret, room)
				      : process_vm_readv((int)pid, &here, 1, there, first < room ? 2 : 1, 0);

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
	if (opener_is_apart()) {
		for (size_t i = 0; i < cnt; i++)
			is_read[i] = memory_read(pid, pieces[i].addr, pieces[i].ret, pieces[i].bytes);
		return;
	}
	for (size_t at = 0; at < cnt;) {
		size_t now = cnt - at < PIECES_AT_ONCE ? cnt - at : PIECES_AT_ONCE,
		       done = read_some(pid, pieces + at, now);

		memset(is_read + at, 1, done * sizeof(*is_read));
		at += done < now ? done + 1 : now;	/* one that cannot be read is left out */
	}
}
