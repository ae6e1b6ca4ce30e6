/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* io_worker OUT COUNT: reads by io_uring, each by a worker of the kernel's in this process, which wakes who waits for it. */
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "uring.h"

SITE void read_site(struct truth *t, int fd)
{
	uint32_t *head = ring_head();
	static char buffer[4096];
	struct truth_bracket b;

	ring.entries[0] = (struct io_uring_sqe){ .opcode = IORING_OP_READ, .flags = IOSQE_ASYNC, .fd = fd,
						 .addr = (uintptr_t)buffer, .len = sizeof(buffer) };
	ring_push();
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
	if (!ring_open())
		truth_die("io_uring_setup", ring.fd);
	truth_ready(NULL, 0);
	for (uint64_t i = 0; i < count; i++)
		read_site(&t, fd);
	truth_write(&t);
	truth_done();
	return 0;
}
