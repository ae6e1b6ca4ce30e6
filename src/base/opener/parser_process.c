/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <errno.h>
#include <malloc.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/opener/confine.h"
#include "base/opener/parser.h"
#include "base/opener/wire.h"

#define MEMORY_MAX_BYTES (UINT64_C(2) << 30)
#define ANSWER_LARGE_BYTES (1 << 20)
#define NICE (-10)	/* the recorder waits for it */
#define ASK_FD 3
#define CONTROL_FD 4
#define PAUSE_US 100000		/* pause after that many deaths, so that nobody can make us fork all the time */
#define DEATHS_AT_ONCE 10
#define ENDS_WITHIN_MS 1000

static void send_answer(uint32_t seq, bool has, const GByteArray *a)
{
	int fd = has ? memfd_create("parsed", MFD_CLOEXEC) : -1;
	bool is_put = fd >= 0 && file_write_all(fd, a->data, a->len);
	const struct parser_reply reply = { .seq = seq,
					    .status = !has     ? PARSER_HAS_NOT
						     : is_put ? PARSER_HAS
							      : PARSER_LOST,
					    .bytes = is_put ? a->len : 0 };

	parser_send(ASK_FD, &reply, sizeof(reply), is_put ? fd : -1);
	if (fd >= 0)
		close(fd);
}

/* *busy: the current request, which the keeper reads if this process dies of it. */
static _Noreturn void run_parser(volatile uint32_t *busy, const parser_fn fns[PARSER_JOBS])
{
	static struct parser_request request;
	struct confine c = { .calls = CONFINE_PARSER, .memory_bytes = MEMORY_MAX_BYTES };
	long n;
	int fd;

	close(CONTROL_FD);
	mallopt(M_MMAP_THRESHOLD, 64 << 10);
	mallopt(M_TRIM_THRESHOLD, 512 << 10);
	if (!confine(&c, NULL))
		_exit(2);
	while ((n = parser_receive(ASK_FD, &request, sizeof(request), &fd)) >= (long)PARSER_REQUEST_BYTES) {
		parser_fn fn = request.job < PARSER_JOBS ? fns[request.job] : NULL;
		g_autoptr(GByteArray) a = g_byte_array_new();

		*busy = request.seq;
		bool has = fn && fn(fd, request.question, (size_t)n - PARSER_REQUEST_BYTES, a);

		send_answer(request.seq, has, a);
		*busy = PARSER_IDLE;
		if (fd >= 0)
			close(fd);
		if (a->len > ANSWER_LARGE_BYTES)
			malloc_trim(0);
	}
	_exit(0);
}

/*
 * Waits for the parser's end, and kills it when the recorder says so, or has ended. *ret_left: it does not end, since
 * it sleeps in a file system that does not answer, and is left behind. False: the recorder has ended.
 */
static bool watch_parser(pid_t parser, bool *ret_left)
{
	int pid_fd = (int)syscall(SYS_pidfd_open, parser, 0), status = 0;
	bool is_wanted = pid_fd >= 0;
	struct pollfd p[2] = { { .fd = CONTROL_FD, .events = POLLIN }, { .fd = pid_fd, .events = POLLIN } };
	int wait_ms = -1, n;
	char word;

	*ret_left = false;
	while (is_wanted && !*ret_left && !(p[1].revents & POLLIN)) {
		p[0].revents = p[1].revents = 0;
		n = poll(p, 2, wait_ms);
		if (n < 0)
			is_wanted = errno == EINTR;
		*ret_left = n == 0;
		if (!(p[0].revents & (POLLIN | POLLHUP)))
			continue;
		is_wanted = read(CONTROL_FD, &word, 1) == 1;
		kill(parser, SIGKILL);
		wait_ms = ENDS_WITHIN_MS;
	}
	if (!is_wanted)
		kill(parser, SIGKILL);
	while (waitpid(parser, &status, *ret_left || !is_wanted ? WNOHANG : 0) < 0 && errno == EINTR)
		;
	if (pid_fd >= 0)
		close(pid_fd);
	return is_wanted && (*ret_left || !(WIFEXITED(status) && !WEXITSTATUS(status)));
}

static volatile uint32_t *new_busy(void)
{
	return mmap(NULL, sizeof(uint32_t), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
}

_Noreturn void parser_keep(int ask_fd, int control_fd, const parser_fn fns[PARSER_JOBS])
{
	struct confine c = { .calls = CONFINE_NO_CALLS };
	volatile uint32_t *busy = new_busy();
	unsigned died_cnt = 0;
	bool is_left;

	confine_descriptors((const int[]){ ask_fd, control_fd }, 2);
	prctl(PR_SET_NAME, "offcpu-parser", 0, 0, 0);
	setpriority(PRIO_PROCESS, 0, NICE);
	if (busy == MAP_FAILED || !confine(&c, NULL))
		_exit(2);
	for (bool is_wanted = true; is_wanted;) {
		*busy = PARSER_IDLE;
		pid_t parser = fork();

		if (parser == 0)
			run_parser(busy, fns);
		is_wanted = parser > 0 && watch_parser(parser, &is_left);
		if (is_wanted) {
			const struct parser_reply lost = { .seq = *busy, .status = PARSER_LOST };

			parser_send(ASK_FD, &lost, sizeof(lost), -1);
			busy = is_left ? new_busy() : busy;	/* the previous one may still write to it */
			is_wanted = busy != MAP_FAILED;
		}
		if (is_wanted && ++died_cnt % DEATHS_AT_ONCE == 0)
			g_usleep(PAUSE_US);
	}
	_exit(0);
}
