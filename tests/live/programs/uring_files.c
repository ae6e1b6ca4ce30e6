/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* uring_files OUT FILE COUNT: direct reads, direct writes and fsyncs by io_uring, each with its own clock from the call to its return. */
#include "truth.h"

#include <fcntl.h>
#include <linux/io_uring.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define BLOCK 4096
#define BLOCKS 256

static struct {
	int fd;
	struct io_uring_params params;
	char *submitted, *completed;
	struct io_uring_sqe *entries;
} ring;

static char buffer[BLOCK] __attribute__((aligned(BLOCK)));

static void *map(size_t bytes, off_t what)
{
	void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, ring.fd, what);

	if (at == MAP_FAILED)
		truth_die("mmap", 0);
	return at;
}

static bool ring_open(void)
{
	struct io_uring_params *p = &ring.params;

	ring.fd = (int)sys2(SYS_io_uring_setup, 1, p);
	if (ring.fd < 0)
		return false;
	ring.submitted = map(p->sq_off.array + p->sq_entries * sizeof(uint32_t), IORING_OFF_SQ_RING);
	ring.completed = map(p->cq_off.cqes + p->cq_entries * sizeof(struct io_uring_cqe), IORING_OFF_CQ_RING);
	ring.entries = map(p->sq_entries * sizeof(*ring.entries), (off_t)IORING_OFF_SQES);
	return true;
}

/* One operation, waited for; how long it took. */
static uint64_t run(int fd, uint8_t opcode, uint64_t at)
{
	uint32_t *tail = (void *)(ring.submitted + ring.params.sq_off.tail);
	uint32_t *head = (void *)(ring.completed + ring.params.cq_off.head), before = *head;
	uint64_t start_ns;

	ring.entries[0] = (struct io_uring_sqe){ .opcode = opcode, .fd = fd };
	if (opcode != IORING_OP_FSYNC) {
		ring.entries[0].addr = (uintptr_t)buffer;
		ring.entries[0].len = sizeof(buffer);
		ring.entries[0].off = at;
	}
	*(uint32_t *)(void *)(ring.submitted + ring.params.sq_off.array) = 0;
	start_ns = truth_now_ns();
	__atomic_store_n(tail, *tail + 1, __ATOMIC_RELEASE);
	while (__atomic_load_n((uint32_t *)(void *)(ring.completed + ring.params.cq_off.tail), __ATOMIC_ACQUIRE) == before)
		sys4(SYS_io_uring_enter, ring.fd, *tail - *(uint32_t *)(void *)(ring.submitted + ring.params.sq_off.head), 1,
		     IORING_ENTER_GETEVENTS);
	__atomic_store_n(head, before + 1, __ATOMIC_RELEASE);
	return truth_now_ns() - start_ns;
}

static bool fill(int fd)
{
	memset(buffer, 1, sizeof(buffer));
	for (off_t i = 0; i < BLOCKS; i++)
		if (pwrite(fd, buffer, sizeof(buffer), i * BLOCK) != BLOCK)
			return false;
	return fsync(fd) == 0;
}

int main(int argc, char **argv)
{
	static const struct { uint8_t opcode; const char *name; } ops[] = {
		{ IORING_OP_READ, "uring_read" }, { IORING_OP_WRITE, "uring_write" }, { IORING_OP_FSYNC, "uring_fsync" },
	};
	const char *path = truth_arg_string(argc, argv, 2);
	uint64_t count = truth_arg(argc, argv, 3);
	int fd = open(path, O_RDWR | O_CREAT | O_DIRECT | O_CLOEXEC, 0600);
	bool works = fd >= 0 && fill(fd) && ring_open();

	truth_open(truth_arg_string(argc, argv, 1));
	truth_ready(NULL, 0);
	for (size_t k = 0; works && k < sizeof(ops) / sizeof(ops[0]); k++) {
		uint64_t ns = 0;

		for (uint64_t i = 0; i < count; i++)
			ns += run(fd, ops[k].opcode, i * 7919 % BLOCKS * BLOCK);
		truth_printf("{\"kind\": \"uring\", \"op\": \"%s\", \"calls\": %llu, \"ns\": %llu}\n", ops[k].name, (unsigned long long)count,
			     (unsigned long long)ns);
	}
	unlink(path);
	truth_done();
	return 0;
}
