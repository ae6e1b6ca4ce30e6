/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* io_worker OUT COUNT: reads by io_uring, each by a worker of the kernel's in this process, which wakes who waits for it. */
#include "truth.h"

#include <fcntl.h>
#include <linux/io_uring.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static struct {
	int fd;
	struct io_uring_params params;
	char *submitted, *completed;
	struct io_uring_sqe *entries;
} ring;

static void *map(size_t bytes, off_t what)
{
	void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, ring.fd, what);

	if (at == MAP_FAILED)
		truth_die("mmap", 0);
	return at;
}

static void ring_open(void)
{
	struct io_uring_params *p = &ring.params;

	ring.fd = (int)sys2(SYS_io_uring_setup, 1, p);
	if (ring.fd < 0)
		truth_die("io_uring_setup", ring.fd);
	ring.submitted = map(p->sq_off.array + p->sq_entries * sizeof(uint32_t), IORING_OFF_SQ_RING);
	ring.completed = map(p->cq_off.cqes + p->cq_entries * sizeof(struct io_uring_cqe), IORING_OFF_CQ_RING);
	ring.entries = map(p->sq_entries * sizeof(*ring.entries), (off_t)IORING_OFF_SQES);
}

SITE void read_site(struct truth *t, int fd)
{
	uint32_t *tail = (void *)(ring.submitted + ring.params.sq_off.tail);
	uint32_t *head = (void *)(ring.completed + ring.params.cq_off.head);
	static char buffer[4096];
	struct truth_bracket b;

	ring.entries[0] = (struct io_uring_sqe){ .opcode = IORING_OP_READ, .flags = IOSQE_ASYNC, .fd = fd,
						 .addr = (uintptr_t)buffer, .len = sizeof(buffer) };
	*(uint32_t *)(void *)(ring.submitted + ring.params.sq_off.array) = 0;
	__atomic_store_n(tail, *tail + 1, __ATOMIC_RELEASE);
	truth_begin(&b);
	sys4(SYS_io_uring_enter, ring.fd, 1, 1, IORING_ENTER_GETEVENTS);
	truth_end(t, &b);
	__atomic_store_n(head, *head + 1, __ATOMIC_RELEASE);
}

int main(int argc, char **argv)
{
	struct truth t = { .kind = "io_uring", .state = 'S', .chain = { "main", "read_site" } };
	uint64_t count = truth_arg(argc, argv, 2);
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

	truth_open(truth_arg_string(argc, argv, 1));
	ring_open();
	truth_ready(NULL, 0);
	for (uint64_t i = 0; i < count; i++)
		read_site(&t, fd);
	truth_write(&t);
	truth_done();
	return 0;
}
