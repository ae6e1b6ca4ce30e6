/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* The keeper starts openers. It touches nobody's files or memory, so it always answers. */
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/opener/confine.h"
#include "base/opener/parser.h"
#include "base/opener/wire.h"

#define CONTROL_FD 3
#define NICE (-20)	/* the recorder waits for it */
/* Maximal number left in an endless sleep, each some hundred KB: what they wait for may have more of these. */
#define LEFT_BEHIND_MAX 16

static void end_helper(pid_t *helper, unsigned *left_behind)
{
	if (*helper > 0) {
		kill(*helper, SIGKILL);
		++*left_behind;
	}
	*helper = 0;
	while (*left_behind && waitpid(-1, NULL, WNOHANG) > 0)
		--*left_behind;
}

static pid_t begin_helper(const uint64_t *kept)
{
	struct opener_begun begun = { 0 };
	int sockets[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets)) {
		parser_send(CONTROL_FD, &begun, sizeof(begun), -1);
		return 0;
	}
	begun.pid = fork();
	if (begun.pid == 0)
		opener_serve(sockets[1], kept);
	close(sockets[1]);
	parser_send(CONTROL_FD, &begun, sizeof(begun), begun.pid > 0 ? sockets[0] : -1);
	close(sockets[0]);
	return begun.pid;
}

/* A Ctrl-C is meant for the recorder, which ends with what it has: until then names are looked up. */
static void ignore_signals(void)
{
	static const int of_terminals[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP, SIGPIPE };

	for (size_t i = 0; i < G_N_ELEMENTS(of_terminals); i++)
		signal(of_terminals[i], SIG_IGN);
}

_Noreturn void opener_keep(int control, const uint64_t *kept)
{
	struct confine c = { .calls = CONFINE_OPENER_KEEPER, .kept = kept ? *kept : 0 };
	unsigned left_behind = 0;
	pid_t helper = 0;
	char word;
	int fd;

	ignore_signals();
	confine_descriptors((const int[]){ control }, 1);
	prctl(PR_SET_NAME, "offcpu-opener", 0, 0, 0);
	setpriority(PRIO_PROCESS, 0, NICE);
	if (kept && !confine(&c, NULL))
		_exit(2);
	while (parser_receive(CONTROL_FD, &word, 1, &fd) == 1) {
		const struct opener_begun none = { 0 };

		if (fd >= 0)
			close(fd);
		end_helper(&helper, &left_behind);
		if (left_behind < LEFT_BEHIND_MAX)
			helper = begin_helper(kept);
		else
			parser_send(CONTROL_FD, &none, sizeof(none), -1);
	}
	end_helper(&helper, &left_behind);
	_exit(0);
}
