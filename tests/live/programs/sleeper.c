/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* sleeper OUT: threads that sleep for ever, each in another system call, each some calls deep. */
#include "truth.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static uint32_t word;
static int dry[2];
static int tids[3];

SITE void futex_site(void)
{
	for (;;)
		sys4(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, 0);
}

SITE void poll_site(void)
{
	for (;;)
		sys4(SYS_ppoll, 0, 0, 0, 0);
}

SITE void read_site(void)
{
	char byte;

	for (;;)
		sys3(SYS_read, dry[0], &byte, 1);
}

SITE void deep_two(int which)
{
	if (which == 0)
		futex_site();
	else if (which == 1)
		poll_site();
	else
		read_site();
}

SITE void deep_one(int which)
{
	deep_two(which);
}

SITE void *sleeper_main(void *arg)
{
	int which = (int)(intptr_t)arg;

	__atomic_store_n(&tids[which], truth_gettid(), __ATOMIC_RELEASE);
	deep_one(which);
	return arg;
}

static bool asleep(int tid)
{
	char path[64], text[256] = "";

	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", tid);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	ssize_t length = read(fd, text, sizeof(text) - 1);
	close(fd);
	char *end = length > 0 ? strrchr(text, ')') : NULL;
	return end && end[1] == ' ' && end[2] == 'S';
}

int main(int argc, char **argv)
{
	static const char *const sites[] = { "futex_site", "poll_site", "read_site" };
	struct timespec ts = { .tv_nsec = 1000000 };

	truth_open(truth_arg_string(argc, argv, 1));
	if (pipe(dry))
		truth_die("pipe", errno);
	for (int i = 0; i < 3; i++) {
		pthread_t thread;

		pthread_create(&thread, NULL, sleeper_main, (void *)(intptr_t)i);
		while (!__atomic_load_n(&tids[i], __ATOMIC_ACQUIRE) || !asleep(tids[i]))
			nanosleep(&ts, NULL);
		truth_printf("{\"kind\":\"sleeper\",\"pid\":%d,\"tid\":%d,\"state\":\"S\",\"chain\":"
			     "[\"sleeper_main\",\"deep_one\",\"deep_two\",\"%s\"]}\n",
			     (int)getpid(), tids[i], sites[i]);
	}
	truth_ready(NULL, 0);
	truth_done();
	exit(0);
}
