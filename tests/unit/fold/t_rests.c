/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Looks at a server in memory: a process of that name has read one question, and computes while others have asked. */
#include "fold/targets/part.h"

#include <arpa/inet.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "profile/limits.h"

#define LOOKS 4
#define ASKED_BEFORE_US 60000
#define SECONDS_MAX 20

static struct sockaddr_in address;

static int listener_new(void)
{
	const int fd = socket(AF_INET, SOCK_STREAM, 0);
	socklen_t len = sizeof(address);

	address = (struct sockaddr_in){ .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	g_assert_cmpint(bind(fd, (struct sockaddr *)&address, len), ==, 0);
	g_assert_cmpint(listen(fd, 8), ==, 0);
	g_assert_cmpint(getsockname(fd, (struct sockaddr *)&address, &len), ==, 0);
	return fd;
}

static int client_new(void)
{
	const int fd = socket(AF_INET, SOCK_STREAM, 0);

	g_assert_cmpint(connect(fd, (struct sockaddr *)&address, sizeof(address)), ==, 0);
	return fd;
}

/* In a child: answers both once, reads the first one's next question, and computes, or stands still. */
static void G_GNUC_NORETURN serve(int listener, bool computes)
{
	char text[8];
	int fds[2];

	prctl(PR_SET_NAME, "redis-server");
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	alarm(SECONDS_MAX);
	for (int i = 0; i < 2; i++) {
		fds[i] = accept(listener, NULL, NULL);
		if (fds[i] < 0 || read(fds[i], text, sizeof(text)) <= 0 || write(fds[i], "+", 1) != 1)
			_exit(1);
	}
	if (read(fds[0], text, sizeof(text)) <= 0)
		_exit(1);
	for (volatile unsigned i = 0; computes;)
		i = i + 1;
	for (;;)
		pause();
}

static void ask(int fd)
{
	g_assert_cmpint(write(fd, "?", 1), ==, 1);
}

static void answered(int fd)
{
	char text[8];

	ask(fd);
	g_assert_cmpint(read(fd, text, sizeof(text)), ==, 1);
}

static void test_command(void)
{
	for (int computes = 0; computes < 2; computes++) {
		const int listener = listener_new(), first = client_new(), second = client_new();
		const pid_t pid = fork();
		struct server_held held;
		struct profile *p = profile_new();
		struct server_rests *r = server_rests_new("/proc");
		struct backends *b = backends_new("/proc");	/* of none that is here */

		if (!pid)
			serve(listener, computes);
		answered(first);
		answered(second);
		g_usleep(ASKED_BEFORE_US);
		ask(first);
		g_usleep(ASKED_BEFORE_US);
		ask(second);
		g_usleep(ASKED_BEFORE_US);
		for (int i = 0; i < LOOKS; i++)
			server_rests_look(r, b);
		server_rests_put(r, p);
		const struct profile_limit *l = profile_find_limit(p, LIMIT_RESTS, (uint32_t)pid, 0);

		g_test_message("%s", l ? l->text : "not seen");
		if (!l) {
			g_test_skip("there are many such servers, or /proc is hidden");
		} else {
			g_assert_cmpint(profile_server_held(p, (uint32_t)pid, &held), ==, computes);
			/* on a busy machine it may not get a CPU at each look */
			g_assert_cmpuint(held.pid, ==, computes ? (uint32_t)getpid() : 0);
		}
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
		close(listener);
		close(first);
		close(second);
		server_rests_free(r);
		backends_free(b);
		profile_free(p);
	}
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/rests/command", test_command);
	return g_test_run();
}
