/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * windows OUT: threads of every kind until stdin is closed: such as sleep all the time, such as pass a byte to and fro, such as are
 * born and end, processes that exec and end, and one that never sleeps.
 */
#include "truth.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define SLEEPERS 20
#define BATCH 20

static volatile bool is_over;

SITE void sleeper_site(void)
{
	struct timespec ts = { .tv_sec = 1000 };

	sys2(SYS_nanosleep, &ts, 0);
}

SITE void *sleeper_main(void *arg)
{
	sleeper_site();
	return arg;
}

SITE void *nap_main(void *arg)
{
	struct timespec ts = { .tv_nsec = 300000 };

	sys2(SYS_nanosleep, &ts, 0);
	return arg;
}

SITE void *births_main(void *arg)
{
	pthread_t threads[BATCH];

	while (!is_over) {
		for (unsigned i = 0; i < BATCH; i++)
			if (pthread_create(&threads[i], NULL, nap_main, NULL))
				truth_die("pthread_create", errno);
		for (unsigned i = 0; i < BATCH; i++)
			pthread_join(threads[i], NULL);
	}
	return arg;
}

SITE void *execs_main(void *arg)
{
	while (!is_over) {
		pid_t pid = fork();

		if (!pid) {
			execl("/bin/sh", "sh", "-c", "exec /bin/true", NULL);
			_exit(1);
		}
		waitpid(pid, NULL, 0);
	}
	return arg;
}

SITE void *spin_main(void *arg)
{
	while (!is_over)
		;
	return arg;
}

static int ends[2][2];

SITE void *pass_main(void *arg)
{
	bool is_first = arg != NULL;
	char byte = 0;

	if (is_first && write(ends[0][1], &byte, 1) != 1)
		truth_die("write", errno);
	while (!is_over && read(ends[is_first][0], &byte, 1) == 1)
		if (write(ends[!is_first][1], &byte, 1) != 1)
			break;
	return NULL;
}

int main(int argc, char **argv)
{
	void *(*const mains[])(void *) = { births_main, execs_main, spin_main, pass_main, pass_main };
	struct pollfd input = { .fd = STDIN_FILENO, .events = POLLIN };
	pthread_t thread;

	truth_open(argv[1]);
	if (pipe(ends[0]) || pipe(ends[1]))
		truth_die("pipe", errno);
	for (unsigned i = 0; i < SLEEPERS; i++)
		if (pthread_create(&thread, NULL, sleeper_main, NULL))
			truth_die("pthread_create", errno);
	for (unsigned i = 0; i < sizeof(mains) / sizeof(mains[0]); i++)
		if (pthread_create(&thread, NULL, mains[i], i == 4 ? argv : NULL))
			truth_die("pthread_create", errno);
	truth_ready(NULL, 0);
	poll(&input, 1, -1);
	is_over = true;
	_exit(0);
}
