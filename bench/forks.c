/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* forks WORKERS: processes that each fork a child that exits, and wait for it, for ever. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static void fork_for_ever(void)
{
	for (;;) {
		pid_t pid = fork();

		if (pid == 0)
			_exit(0);
		if (pid < 0 || waitpid(pid, NULL, 0) != pid)
			_exit(1);
	}
}

int main(int argc, char **argv)
{
	int cnt = argc > 1 ? atoi(argv[1]) : 0, status;

	if (cnt < 1) {
		fprintf(stderr, "usage: forks WORKERS\n");
		return 2;
	}
	for (int i = 0; i < cnt; i++)
		if (fork() == 0)
			fork_for_ever();
	/* A worker that ends is an error: then the load is not what it should be. */
	wait(&status);
	return 1;
}
