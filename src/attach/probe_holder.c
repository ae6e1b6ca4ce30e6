/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */

#include <errno.h>
#include <glib.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "attach/probe.h"
#include "base/hurry.h"
#include "base/opener/confine.h"
#include "base/opener/parser.h"

#define SOCKET_FD 3
#define LOOK_MS 20	/* how often to check whether an end was requested */
#define AWAIT_MS 8000	/* the guard is done by then */
#define AWAIT_PLACE_MS 20	/* added for each place: some kernels take that long for one */
#define LEAVE_MS 8000

struct probe_holder {
	int socket;	/* -1: the helper did not come back */
	pid_t pid;
};

/* Messages about a file: each with the next one's descriptor, in this order. */
enum part { PART_PROGRAM, PART_FILE, PART_NUMBERS, PART_COUNT };
struct request {
	uint32_t cnt;
	bool has_semaphores;
};

/* -- the helper process; nothing here may take a lock that another thread may have held at the fork -- */

static int add_here(const struct request *r, const int fds[PART_COUNT])
{
	size_t bytes = 3 * sizeof(uint64_t) * r->cnt;
	const uint64_t *numbers = mmap(NULL, bytes, PROT_READ, MAP_SHARED, fds[PART_NUMBERS], 0);
	int link;

	if (numbers == MAP_FAILED)
		return -errno;
	link = probe_link(fds[PART_PROGRAM], fds[PART_FILE], numbers, r->has_semaphores, r->cnt);
	munmap((void *)(uintptr_t)numbers, bytes);
	return MIN(link, 0);	/* it stays open as long as this process lives */
}

static _Noreturn void run_holder(int socket)
{
	confine_descriptors((const int[]){ socket }, 1);
	prctl(PR_SET_NAME, "offcpu-probes", 0, 0, 0);
	for (;;) {
		int fds[PART_COUNT], result;
		struct request r;

		for (unsigned i = 0; i < PART_COUNT; i++)
			if (parser_receive(SOCKET_FD, &r, sizeof(r), &fds[i]) != (long)sizeof(r))
				_exit(0);
		result = add_here(&r, fds);
		for (unsigned i = 0; i < PART_COUNT; i++)
			close(fds[i]);
		parser_send(SOCKET_FD, &result, sizeof(result), -1);
	}
}

/* -- its callers -- */

struct probe_holder *probe_holder_new(void)
{
	struct probe_holder *h;
	int sockets[2];
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets))
		return NULL;
	pid = fork();
	if (pid == 0)
		run_holder(sockets[1]);
	close(sockets[1]);
	if (pid < 0) {
		close(sockets[0]);
		return NULL;
	}
	h = g_new(struct probe_holder, 1);
	*h = (struct probe_holder){ .socket = sockets[0], .pid = pid };
	return h;
}

static bool await_reply(const struct probe_holder *h, int64_t ms)
{
	struct pollfd p = { .fd = h->socket, .events = POLLIN };

	for (int64_t end_us = g_get_monotonic_time() + ms * 1000; poll(&p, 1, LOOK_MS) <= 0;)
		if (hurry_is_asked() || g_get_monotonic_time() > end_us)
			return false;
	return true;
}

static void leave_behind(struct probe_holder *h)
{
	kill(h->pid, SIGKILL);
	close(h->socket);
	h->socket = -1;
}

static int numbers_file(const uint64_t *numbers, uint32_t cnt, bool *ret_has_semaphores)
{
	const size_t bytes = 3 * sizeof(*numbers) * cnt;
	int fd = memfd_create("probes", MFD_CLOEXEC);
	uint64_t *to = MAP_FAILED;

	*ret_has_semaphores = false;
	for (uint32_t i = cnt; i < 2 * cnt; i++)
		*ret_has_semaphores |= numbers[i] != 0;
	if (fd >= 0 && ftruncate(fd, (off_t)bytes) == 0)
		to = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (to != MAP_FAILED) {
		memcpy(to, numbers, bytes);
		munmap(to, bytes);
		return fd;
	}
	if (fd >= 0)
		close(fd);
	return -1;
}

int probe_holder_add(struct probe_holder *h, int prog_fd, int file_fd, const uint64_t *numbers, uint32_t cnt)
{
	struct request r = { .cnt = cnt };
	int result = -ETIMEDOUT, fd, fds[PART_COUNT] = { prog_fd, file_fd, -1 };
	bool is_sent = true;

	if (h->socket < 0)
		return -ETIMEDOUT;
	fds[PART_NUMBERS] = numbers_file(numbers, cnt, &r.has_semaphores);
	if (fds[PART_NUMBERS] < 0)
		return -ENOMEM;
	for (unsigned i = 0; i < PART_COUNT; i++)
		is_sent = is_sent && parser_send(h->socket, &r, sizeof(r), fds[i]);
	close(fds[PART_NUMBERS]);
	if (is_sent && await_reply(h, AWAIT_MS + (int64_t)cnt * AWAIT_PLACE_MS) &&
	    parser_receive(h->socket, &result, sizeof(result), &fd) == (long)sizeof(result))
		return result;
	leave_behind(h);
	return -ETIMEDOUT;
}

void probe_holder_free(struct probe_holder *h)
{
	if (!h)
		return;
	if (h->socket >= 0)
		close(h->socket);
	/* the kernel removes its links when it ends */
	for (int64_t end_us = g_get_monotonic_time() + LEAVE_MS * 1000;
	     waitpid(h->pid, NULL, WNOHANG) == 0 && g_get_monotonic_time() < end_us;)
		g_usleep(1000);
	g_free(h);
}
