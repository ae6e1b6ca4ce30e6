/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "base/opener/parser.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/hurry.h"
#include "base/opener/wire.h"

#define TRIES_MAX 4
#define LOOK_MS 50	/* how often to check whether this process is to end */
#define CHANNELS 2
#define ANSWER_MAX_BYTES ((uint64_t)256 << 20)

/*
 * Each has a process. The unwind table of a program of hundreds of megabytes takes seconds on a busy machine, and
 * names must not wait that long.
 */
static const struct {
	enum parser_job first;
	int patience_ms;
} kinds[CHANNELS] = { { PARSER_SYMBOLS, 10000 }, { PARSER_UNWIND, 60000 } };

static struct channel {
	GMutex lock;
	int ask_fd, control_fd;
	pid_t keeper;
	uint32_t seq;
	struct parser_counts counts;
} channels[CHANNELS];
static bool is_apart;

/* Accepts one descriptor; further ones are closed, or a sender's messages would use up all that we may have. */
static int only_fd(struct msghdr *m)
{
	const struct cmsghdr *c = CMSG_FIRSTHDR(m);
	size_t cnt = c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS ?
			     (c->cmsg_len - CMSG_LEN(0)) / sizeof(int) : 0;
	int fd;

	for (size_t i = 0; i < cnt; i++) {
		memcpy(&fd, CMSG_DATA(c) + i * sizeof(fd), sizeof(fd));
		if (cnt > 1)
			close(fd);
	}
	return cnt == 1 ? fd : -1;
}

long parser_receive(int socket, void *message, size_t bytes, int *ret_fd)
{
	union {
		struct cmsghdr head;
		char space[CMSG_SPACE(sizeof(int))];	/* the padding has room for a second one */
	} control = { 0 };
	struct iovec part = { message, bytes };
	struct msghdr m = { .msg_iov = &part,
			    .msg_iovlen = 1,
			    .msg_control = &control,
			    .msg_controllen = sizeof(control) };
	const long n = TEMP_FAILURE_RETRY(recvmsg(socket, &m, MSG_CMSG_CLOEXEC));
	*ret_fd = n < 0 ? -1 : only_fd(&m);
	return n;
}

bool parser_send(int socket, const void *message, size_t bytes, int fd)
{
	union {
		struct cmsghdr head;
		char space[CMSG_SPACE(sizeof(int))];
	} control = { 0 };
	struct iovec part = { (void *)(uintptr_t)message, bytes };
	struct msghdr m = { .msg_iov = &part, .msg_iovlen = 1 };

	if (fd >= 0) {
		m.msg_control = &control;
		m.msg_controllen = sizeof(control);
		control.head = (struct cmsghdr){ .cmsg_level = SOL_SOCKET,
						 .cmsg_type = SCM_RIGHTS,
						 .cmsg_len = CMSG_LEN(sizeof(int)) };
		memcpy(CMSG_DATA(&control.head), &fd, sizeof(int));
	}
	return TEMP_FAILURE_RETRY(sendmsg(socket, &m, MSG_NOSIGNAL)) == (long)bytes;
}

/* The first reply to this request: earlier ones that were given up may still be answered. False: none came in time. */
static bool await_reply(struct channel *c, int wait_ms, struct parser_reply *ret, int *ret_fd)
{
	const gint64 until_us = g_get_monotonic_time() + (gint64)wait_ms * 1000;

	for (;;) {
		struct pollfd p = { .fd = c->ask_fd, .events = POLLIN };
		gint64 left_us = until_us - g_get_monotonic_time();

		*ret_fd = -1;
		if (left_us <= 0 || hurry_is_over())
			return false;
		int n = poll(&p, 1, (int)MIN(left_us / 1000 + 1, LOOK_MS));

		if (n == 0 || (n < 0 && errno == EINTR))
			continue;
		if (n < 0 || parser_receive(c->ask_fd, ret, sizeof(*ret), ret_fd) != (long)sizeof(*ret)) {
			if (*ret_fd >= 0)
				close(*ret_fd);
			*ret_fd = -1;
			return false;
		}
		if (ret->seq == c->seq || ret->seq == PARSER_IDLE)
			return true;
		if (*ret_fd >= 0)
			close(*ret_fd);
	}
}

/* The descriptor may be of any file: it is read, not mapped, so that truncating it cannot harm us. */
static GByteArray *read_answer(int fd, uint64_t bytes)
{
	GByteArray *a;
	struct stat st;

	if (fd < 0 || bytes > ANSWER_MAX_BYTES || fstat(fd, &st) || !S_ISREG(st.st_mode) ||
	    (uint64_t)st.st_size != bytes)
		return NULL;
	a = g_byte_array_new();
	g_byte_array_set_size(a, (guint)bytes);
	if (file_read_at(fd, 0, a->data, bytes))
		return a;
	g_byte_array_unref(a);
	return NULL;
}

struct question {
	enum parser_job job;
	int fd;
	const void *question;
	size_t question_bytes;
};

static bool send_request(struct channel *c, const struct question *q)
{
	const uint32_t head[] = { ++c->seq == PARSER_IDLE ? ++c->seq : c->seq, q->job };
	g_autofree uint8_t *message = g_malloc(PARSER_REQUEST_BYTES + q->question_bytes);

	_Static_assert(sizeof(head) == PARSER_REQUEST_BYTES, "it is the request's beginning");
	memcpy(message, head, sizeof(head));
	if (q->question_bytes)
		memcpy(message + sizeof(head), q->question, q->question_bytes);
	return parser_send(c->ask_fd, message, sizeof(head) + q->question_bytes, q->fd);
}

/*
 * Sends a request. A parser that died while idle may have taken the request with it, or not: then it is sent once
 * more.
 */
static void try_to_ask(struct channel *c, const struct question *q, int wait_ms, struct parser_reply *ret, int *ret_fd)
{
	for (unsigned tries = 0; tries < TRIES_MAX; tries++) {
		*ret_fd = -1;
		*ret = (struct parser_reply){ .status = PARSER_LOST };
		if (!send_request(c, q))
			return;
		if (!await_reply(c, wait_ms, ret, ret_fd)) {
			parser_send(c->control_fd, "k", 1, -1);	/* its keeper ends it, and starts another one */
			ret->status = PARSER_LOST;
			return;
		}
		if (ret->seq != PARSER_IDLE)
			return;
		if (*ret_fd >= 0)
			close(*ret_fd);
		ret->status = PARSER_LOST;
		*ret_fd = -1;
	}
}

static GByteArray *ask_and_count(struct channel *c, const struct question *q, int wait_ms)
{
	struct parser_reply reply;
	GByteArray *answer = NULL;
	int answer_fd;

	c->counts.asked++;
	try_to_ask(c, q, wait_ms, &reply, &answer_fd);
	if (reply.status == PARSER_HAS)
		answer = read_answer(answer_fd, reply.bytes);
	c->counts.lost += reply.status == PARSER_HAS ? !answer : reply.status != PARSER_HAS_NOT;
	if (answer_fd >= 0)
		close(answer_fd);
	return answer;
}

GByteArray *parser_ask(enum parser_job job, int fd, const void *question, size_t question_bytes)
{
	const struct question q = { job, fd, question, question_bytes };
	unsigned i = job == PARSER_UNWIND;
	GByteArray *answer;

	if (question_bytes > PARSER_QUESTION_MAX || hurry_is_over())
		return NULL;
	g_mutex_lock(&channels[i].lock);
	answer = ask_and_count(&channels[i], &q, kinds[i].patience_ms);
	g_mutex_unlock(&channels[i].lock);
	return answer;
}

GByteArray *parser_ask_or_do(enum parser_job job, parser_fn fn, int fd, const void *question, size_t question_bytes)
{
	GByteArray *answer;

	if (is_apart)
		return parser_ask(job, fd, question, question_bytes);
	answer = g_byte_array_new();
	if (!fn(fd, question, question_bytes, answer))
		g_clear_pointer(&answer, g_byte_array_unref);
	return answer;
}

struct parser_counts parser_counts(void)
{
	struct parser_counts all = { 0 };

	for (int i = 0; i < CHANNELS; i++) {
		struct channel *c = &channels[i];

		g_mutex_lock(&c->lock);
		all.asked += c->counts.asked;
		all.lost += c->counts.lost;
		g_mutex_unlock(&c->lock);
	}
	return all;
}

bool parser_is_apart(void)
{
	return is_apart;
}

static bool start_keeper(struct channel *c, const parser_fn fns[PARSER_JOBS])
{
	int asks[2] = { -1, -1 }, controls[2] = { -1, -1 };
	bool is_well = socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, asks) == 0 &&
		       socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, controls) == 0;

	c->ask_fd = asks[0];
	c->control_fd = controls[0];
	c->keeper = is_well ? fork() : -1;
	if (is_well && c->keeper == 0)
		parser_keep(asks[1], controls[1], fns);
	if (asks[1] >= 0)
		close(asks[1]);
	if (controls[1] >= 0)
		close(controls[1]);
	return c->keeper > 0;
}

/* Tests it with our own program, a file that it must be able to read. */
static bool is_able(struct channel *c, enum parser_job job)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	const struct question q = { job, fd, NULL, 0 };
	GByteArray *answer = fd >= 0 ? ask_and_count(c, &q, 10000) : NULL;
	bool is_so = answer != NULL;

	if (answer)
		g_byte_array_unref(answer);
	if (fd >= 0)
		close(fd);
	return is_so;
}

bool parser_start(const parser_fn fns[PARSER_JOBS], GError **error)
{
	bool is_well = true;

	for (int i = 0; i < CHANNELS; i++)
		is_well = start_keeper(&channels[i], fns) && is_able(&channels[i], kinds[i].first) && is_well;
	is_apart = is_well;
	if (is_well)
		return true;
	parser_stop();
	g_set_error_literal(error, G_FILE_ERROR, G_FILE_ERROR_FAILED,
			    "a process without rights for parsing files cannot be had");
	return false;
}

/*
 * All callers that wait get no answer, and later ones neither: what was confined is not parsed in this process
 * instead.
 */
void parser_stop(void)
{
	for (int i = 0; i < CHANNELS; i++) {
		struct channel *c = &channels[i];

		if (c->keeper <= 0)
			continue;
		shutdown(c->control_fd, SHUT_RDWR);
		g_mutex_lock(&c->lock);
		close(c->ask_fd);
		close(c->control_fd);
		waitpid(c->keeper, NULL, 0);
		c->ask_fd = c->control_fd = -1;
		c->keeper = 0;
		g_mutex_unlock(&c->lock);
	}
}
