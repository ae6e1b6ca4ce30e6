/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* uring_files OUT FILE COUNT: direct reads, direct writes and fsyncs by io_uring, each with its own clock from the call to its return. */
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "uring.h"

#define BLOCK 4096
#define BLOCKS 256

static char buffer[BLOCK] __attribute__((aligned(BLOCK)));

/* One operation, waited for; how long it took. */
static uint64_t run(int fd, uint8_t opcode, uint64_t at)
{
	uint32_t *head = ring_head(), before = *head;
	uint64_t start_ns;

	ring.entries[0] = (struct io_uring_sqe){ .opcode = opcode, .fd = fd };
	if (opcode != IORING_OP_FSYNC) {
		ring.entries[0].addr = (uintptr_t)buffer;
		ring.entries[0].len = sizeof(buffer);
		ring.entries[0].off = at;
	}
	start_ns = truth_now_ns();
	ring_push();
	while (__atomic_load_n((uint32_t *)(void *)(ring.completed + ring.params.cq_off.tail), __ATOMIC_ACQUIRE) == before)
		sys4(SYS_io_uring_enter, ring.fd, *ring_tail() - *(uint32_t *)(void *)(ring.submitted + ring.params.sq_off.head), 1,
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
