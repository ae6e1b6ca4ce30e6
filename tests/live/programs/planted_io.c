/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * planted_io PROBLEM [FILE]: a program with one known reason to wait, in one known function, until it is ended.
 *
 * connect, connect_poll: the accept queue of a listening socket is full, so that the kernel drops all SYNs to it.
 * uring_pipe, uring_sync: a ring whose operation takes long.  epoll_herd: 32 threads wait for one listening socket.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "uring.h"

#define MUST(x) ((x) < 0 ? (perror(#x), exit(1)) : (void)0)
#define HERD 32

static struct sockaddr_in address = { .sin_family = AF_INET };
static int listener;

static void ready(void)
{
	puts("ready");
	fflush(stdout);
}

static void listen_here(int backlog)
{
	socklen_t length = sizeof(address);

	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
	MUST(bind(listener, (struct sockaddr *)&address, length));
	MUST(listen(listener, backlog));
	MUST(getsockname(listener, (struct sockaddr *)&address, &length));
}

static inline __attribute__((always_inline)) int new_connection(int flags)
{
	int fd = socket(AF_INET, SOCK_STREAM | flags, 0);

	MUST(fd);
	if (connect(fd, (struct sockaddr *)&address, sizeof(address)) && errno != EINPROGRESS)
		perror("connect");
	return fd;
}

/* Nobody accepts: the queue has room for one connection. */
static void be_a_blackhole(void)
{
	struct pollfd p = { .events = POLLOUT };

	listen_here(0);
	do
		p.fd = new_connection(SOCK_NONBLOCK);
	while (poll(&p, 1, 200) == 1);
}

SITE void open_session(void)
{
	close(new_connection(0));
}

SITE void dial_backend(void)
{
	struct pollfd p = { .fd = new_connection(SOCK_NONBLOCK), .events = POLLOUT };

	poll(&p, 1, 250);
	close(p.fd);
}

static void submit(uint8_t opcode, int fd, void *buffer, uint32_t bytes)
{
	ring.entries[0] = (struct io_uring_sqe){ .opcode = opcode, .fd = fd, .addr = (uintptr_t)buffer, .len = bytes };
	ring_push();
}

static inline __attribute__((always_inline)) void complete(void)
{
	uint32_t *head = ring_head(), before = *head;

	while (__atomic_load_n((uint32_t *)(void *)(ring.completed + ring.params.cq_off.tail), __ATOMIC_ACQUIRE) == before)
		sys4(SYS_io_uring_enter, ring.fd, *ring_tail() - *(uint32_t *)(void *)(ring.submitted + ring.params.sq_off.head), 1,
		     IORING_ENTER_GETEVENTS);
	__atomic_store_n(head, before + 1, __ATOMIC_RELEASE);
}

SITE void read_event(int fd)
{
	char event[1];

	submit(IORING_OP_READ, fd, event, sizeof(event));
	complete();
}

static void slow_pipe(void)
{
	int fds[2];

	MUST(pipe(fds));
	if (fork() == 0) {
		prctl(PR_SET_NAME, "slow-writer");
		for (prctl(PR_SET_PDEATHSIG, 9); getppid() != 1; usleep(100000))
			MUST(write(fds[1], "x", 1));
		_exit(0);
	}
	close(fds[1]);
	ready();
	for (;;)
		read_event(fds[0]);
}

SITE void commit_row(int fd)
{
	char row[128] = { 1 };

	MUST(pwrite(fd, row, sizeof(row), 0));
	submit(IORING_OP_FSYNC, fd, NULL, 0);
	complete();
}

SITE void serve_event(int file)
{
	struct epoll_event e;

	if (epoll_wait(file, &e, 1, -1) == 1)
		close(accept4(listener, NULL, NULL, SOCK_NONBLOCK));
}

static void *herd_main(void *arg)
{
	for (;;)
		serve_event((int)(intptr_t)arg);
	return arg;
}

static void epoll_herd(void)
{
	struct epoll_event e = { .events = EPOLLIN };
	pthread_t thread;

	listen_here(16);
	for (int i = 0; i < HERD; i++) {
		int file = epoll_create1(0);

		MUST(epoll_ctl(file, EPOLL_CTL_ADD, listener, &e));
		pthread_create(&thread, NULL, herd_main, (void *)(intptr_t)file);
	}
	if (fork() == 0) {
		prctl(PR_SET_NAME, "client");
		for (prctl(PR_SET_PDEATHSIG, 9);; usleep(5000))
			close(new_connection(0));
	}
	ready();
	pause();
}

int main(int argc, char **argv)
{
	const char *problem = argc > 1 ? argv[1] : "";
	int file = argc > 2 ? open(argv[2], O_RDWR | O_CREAT | O_CLOEXEC, 0600) : -1;

	if (strncmp(problem, "uring", 5) == 0 && !ring_open())
		return 77;
	if (strcmp(problem, "uring_pipe") == 0)
		slow_pipe();
	if (strcmp(problem, "epoll_herd") == 0)
		epoll_herd();
	if (strncmp(problem, "connect", 7) == 0)
		be_a_blackhole();
	ready();
	for (;;) {
		if (strcmp(problem, "connect") == 0)
			open_session();
		else if (strcmp(problem, "connect_poll") == 0)
			dial_backend();
		else if (strcmp(problem, "uring_sync") == 0)
			commit_row(file);
		else
			return 2;
	}
}
