/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* A parser that falls over what it reads, is killed, or is damaged: whoever asked goes on. */
#include "base/opener/parser.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define LARGE_BYTES (5 << 20)

/* What the file's first letter says. */
static bool parse(int fd, const void *question, size_t question_bytes, GByteArray *into)
{
	char letter = 0;

	if (pread(fd, &letter, 1, 0) != 1)
		return false;
	if (letter == 'c')
		abort();
	if (letter == 'o') {	/* what a file can make it do: open another one */
		int other = open("/etc/passwd", O_RDONLY | O_CLOEXEC);

		letter = other >= 0 ? '!' : 'o';
	}
	g_byte_array_set_size(into, letter == 'l' ? LARGE_BYTES : 1);
	memset(into->data, letter, into->len);
	return true;
}

static GByteArray *ask(const char *text)
{
	g_autofree char *path = NULL;
	int fd = g_file_open_tmp("parser-XXXXXX", &path, NULL);
	GByteArray *answer;

	g_assert_cmpint(write(fd, text, strlen(text)), ==, (ssize_t)strlen(text));
	answer = parser_ask(PARSER_SYMBOLS, fd, NULL, 0);
	close(fd);
	unlink(path);
	return answer;
}

static void expect(const char *text, guint bytes)
{
	g_autoptr(GByteArray) a = ask(text);

	g_assert_nonnull(a);
	g_assert_cmpuint(a->len, ==, bytes);
	g_assert_cmpint(a->data[0], ==, text[0]);
	g_assert_cmpint(a->data[a->len - 1], ==, text[0]);
}

static void answers(void)
{
	expect("x", 1);
	expect("large", LARGE_BYTES);
	g_assert_null(ask(""));	/* it is none: not lost */
	g_assert_cmpuint(parser_counts().lost, ==, 0);
}

/* A question without a file. */
static bool repeat(int fd, const void *question, size_t question_bytes, GByteArray *into)
{
	if (fd >= 0 || !question_bytes)
		return false;
	g_byte_array_append(into, question, (guint)question_bytes);
	return true;
}

static void questions(void)
{
	g_autofree char *longest = g_strnfill(PARSER_QUESTION_MAX + 1, 'q');
	static const size_t sizes[] = { 1, 5, PARSER_QUESTION_MAX };

	for (size_t i = 0; i < G_N_ELEMENTS(sizes); i++) {
		g_autoptr(GByteArray) a = parser_ask(PARSER_CONTEXT, -1, longest, sizes[i]);

		g_assert_nonnull(a);
		g_assert_cmpmem(a->data, a->len, longest, sizes[i]);
	}
	g_assert_null(parser_ask(PARSER_CONTEXT, -1, longest, PARSER_QUESTION_MAX + 1));
	g_assert_null(parser_ask(PARSER_CONTEXT, -1, NULL, 0));
	g_assert_null(parser_ask(PARSER_DATA, -1, "x", 1));	/* nobody knows that */
	g_assert_cmpuint(parser_counts().lost, ==, 0);
}

static void walls(void)
{
	expect("open", 1);
}

static void crashes(void)
{
	uint64_t lost = parser_counts().lost;

	for (unsigned i = 1; i <= 3; i++) {
		g_assert_null(ask("crash"));
		g_assert_cmpuint(parser_counts().lost, ==, lost + i);
		expect("x", 1);
	}
}

/* The children of this process are the keepers; theirs are the parsers. */
static pid_t child_of(pid_t pid)
{
	g_autofree char *path = g_strdup_printf("/proc/%d/task/%d/children", pid, pid);
	g_autofree char *text = NULL;

	return g_file_get_contents(path, &text, NULL, NULL) ? (pid_t)strtol(text, NULL, 10) : 0;
}

static void killed(void)
{
	for (unsigned i = 0; i < 3; i++) {
		pid_t parser = child_of(child_of(getpid()));

		if (parser <= 0 || geteuid() != 0) {
			g_test_skip("the parser's number cannot be read here, or it cannot be killed");
			return;
		}
		g_assert_cmpint(kill(parser, SIGKILL), ==, 0);
		expect("x", 1);
	}
}

static gpointer ask_many(gpointer data)
{
	for (unsigned i = 0; i < 200; i++)
		expect(data, 1);
	return NULL;
}

static void threads(void)
{
	static const char *const letters[] = { "a", "b", "d" };
	GThread *all[G_N_ELEMENTS(letters)];

	for (size_t i = 0; i < G_N_ELEMENTS(letters); i++)
		all[i] = g_thread_new("asks", ask_many, (gpointer)letters[i]);
	for (size_t i = 0; i < G_N_ELEMENTS(letters); i++)
		g_thread_join(all[i]);
}

static void stopped(void)
{
	pid_t keeper = child_of(getpid());

	parser_stop();
	g_assert_true(parser_is_apart());
	g_assert_null(ask("x"));
	g_assert_true(keeper <= 0 || kill(keeper, 0) != 0);
}

/* From a sender that was taken over: of more than one descriptor none stays open, and one without a byte is told. */
static void sends(int from, size_t bytes, const int *fds, size_t cnt)
{
	union {
		struct cmsghdr head;
		char space[CMSG_SPACE(2 * sizeof(int))];
	} control = { .head = { .cmsg_level = SOL_SOCKET,
				.cmsg_type = SCM_RIGHTS,
				.cmsg_len = CMSG_LEN(cnt * sizeof(int)) } };
	struct iovec part = { (char[]){ 'x' }, bytes };
	struct msghdr m = { .msg_iov = &part, .msg_iovlen = 1, .msg_control = &control,
			    .msg_controllen = CMSG_SPACE(cnt * sizeof(int)) };

	memcpy(CMSG_DATA(&control.head), fds, cnt * sizeof(int));
	g_assert_cmpint(sendmsg(from, &m, 0), ==, (ssize_t)bytes);
}

static int lowest_free(void)
{
	int fd = dup(STDERR_FILENO);

	close(fd);
	return fd;
}

static void descriptors(void)
{
	int sockets[2], fd, before;
	char byte;

	g_assert_cmpint(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets), ==, 0);
	before = lowest_free();
	sends(sockets[0], 1, sockets, 2);
	g_assert_cmpint(parser_receive(sockets[1], &byte, 1, &fd), ==, 1);
	g_assert_cmpint(fd, ==, -1);
	g_assert_cmpint(lowest_free(), ==, before);
	sends(sockets[0], 0, sockets, 1);
	g_assert_cmpint(parser_receive(sockets[1], &byte, 1, &fd), ==, 0);
	g_assert_cmpint(fd, ==, before);
	close(fd);
	sends(sockets[0], 1, sockets, 1);
	g_assert_cmpint(parser_receive(sockets[1], &byte, 1, &fd), ==, 1);
	g_assert_cmpint(fd, ==, before);
	close(fd);
	close(sockets[0]);
	close(sockets[1]);
}

int main(int argc, char **argv)
{
	static const parser_fn fns[PARSER_JOBS] = { [PARSER_SYMBOLS] = parse, [PARSER_UNWIND] = parse, [PARSER_CONTEXT] = repeat };
	g_autoptr(GError) error = NULL;

	g_test_init(&argc, &argv, NULL);
	g_assert_true(parser_start(fns, &error));
	g_test_add_func("/parser/answers", answers);
	g_test_add_func("/parser/questions", questions);
	g_test_add_func("/parser/walls", walls);
	g_test_add_func("/parser/crashes", crashes);
	g_test_add_func("/parser/killed", killed);
	g_test_add_func("/parser/threads", threads);
	g_test_add_func("/parser/stopped", stopped);
	g_test_add_func("/parser/descriptors", descriptors);
	return g_test_run();
}
