/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* pipe OUT threads|processes ROUNDS: a byte goes to and fro between two threads or two processes. */
#include "truth.h"

#include <pthread.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static int there[2], back[2];
static uint64_t rounds;

SITE void ping_read(struct truth *t)
{
	struct truth_bracket b;
	char byte;

	truth_begin(&b);
	sys3(SYS_read, back[0], &byte, 1);
	truth_end(t, &b);
}

SITE void ping_main(void)
{
	struct truth t = { .kind = "pipe", .state = 'S', .chain = { "ping_main", "ping_read" } };

	for (uint64_t i = 0; i < rounds; i++) {
		sys3(SYS_write, there[1], "x", 1);
		ping_read(&t);
	}
	truth_write(&t);
}

SITE void pong_read(struct truth *t)
{
	struct truth_bracket b;
	char byte;

	truth_begin(&b);
	sys3(SYS_read, there[0], &byte, 1);
	truth_end(t, &b);
}

SITE void *pong_main(void *arg)
{
	struct truth t = { .kind = "pipe", .state = 'S', .chain = { "pong_main", "pong_read" } };

	truth_gate_wait();
	for (uint64_t i = 0; i < rounds; i++) {
		pong_read(&t);
		sys3(SYS_write, back[1], "x", 1);
	}
	truth_write(&t);
	return arg;
}

static void in_threads(void)
{
	pthread_t thread;

	pthread_create(&thread, NULL, pong_main, NULL);
	truth_ready(NULL, 0);
	truth_gate_open();
	ping_main();
	pthread_join(thread, NULL);
}

static void in_processes(void)
{
	int pids[2] = { getpid(), fork() };

	if (!pids[1]) {
		pong_main(NULL);
		_exit(0);
	}
	truth_ready(pids, 2);
	truth_gate_open();
	ping_main();
	waitpid(pids[1], NULL, 0);
}

int main(int argc, char **argv)
{
	truth_open(truth_arg_string(argc, argv, 1));
	rounds = truth_arg(argc, argv, 3);
	if (pipe(there) || pipe(back))
		truth_die("pipe", 0);
	if (strcmp(argv[2], "threads") == 0)
		in_threads();
	else
		in_processes();
	truth_done();
	return 0;
}
