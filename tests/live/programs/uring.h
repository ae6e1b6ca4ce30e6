/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef LIVE_URING_H
#define LIVE_URING_H

/* A ring of io_uring's of one entry, without a library: for programs that know what they submit. */
#include <linux/io_uring.h>
#include <sys/mman.h>

#include "truth.h"

static struct {
	int fd;
	struct io_uring_params params;
	char *submitted, *completed;
	struct io_uring_sqe *entries;
} ring;

static inline void *ring_map(size_t bytes, off_t what)
{
	void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, ring.fd, what);

	if (at == MAP_FAILED)
		truth_die("mmap", 0);
	return at;
}

/* False: there is no io_uring here. */
static inline bool ring_open(void)
{
	struct io_uring_params *p = &ring.params;

	ring.fd = (int)sys2(SYS_io_uring_setup, 1, p);
	if (ring.fd < 0)
		return false;
	ring.submitted = ring_map(p->sq_off.array + p->sq_entries * sizeof(uint32_t), IORING_OFF_SQ_RING);
	ring.completed = ring_map(p->cq_off.cqes + p->cq_entries * sizeof(struct io_uring_cqe), IORING_OFF_CQ_RING);
	ring.entries = ring_map(p->sq_entries * sizeof(*ring.entries), (off_t)IORING_OFF_SQES);
	return true;
}

/* The words that program and kernel share: where entries are put, and where results are taken. */
static inline uint32_t *ring_tail(void)
{
	return (void *)(ring.submitted + ring.params.sq_off.tail);
}

static inline uint32_t *ring_head(void)
{
	return (void *)(ring.completed + ring.params.cq_off.head);
}

/* The one entry is handed in. */
static inline void ring_push(void)
{
	*(uint32_t *)(void *)(ring.submitted + ring.params.sq_off.array) = 0;
	__atomic_store_n(ring_tail(), *ring_tail() + 1, __ATOMIC_RELEASE);
}

#endif
