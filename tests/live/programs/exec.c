/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* exec OUT main|thread COUNT US AFTER: sleeps, then becomes the program AFTER, from its first thread or another. */
#include "truth.h"

#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static uint64_t count, nap_us;
static char **arguments;
static uint32_t never;

SITE void before_site(struct truth *t)
{
	struct timespec ts = { .tv_nsec = (long)nap_us * 1000 };
	struct truth_bracket b;

	truth_begin(&b);
	sys2(SYS_nanosleep, &ts, 0);
	truth_end(t, &b);
}

SITE void become(struct truth *t)
{
	for (uint64_t i = 0; i < count; i++)
		before_site(t);
	truth_write(t);
	execv(arguments[5], (char *[]){ arguments[5], arguments[1], arguments[3], arguments[4], NULL });
	truth_die(arguments[5], errno);
}

SITE void *other_main(void *arg)
{
	struct truth t = { .kind = "before", .state = 'S', .chain = { "other_main", "become", "before_site" } };

	truth_gate_wait();
	become(&t);
	return arg;
}

SITE void doomed_site(void)
{
	for (;;)
		sys4(SYS_futex, &never, FUTEX_WAIT_PRIVATE, 0, 0);
}

SITE void *doomed_main(void *arg)
{
	doomed_site();
	return arg;
}

int main(int argc, char **argv)
{
	struct truth t = { .kind = "before", .state = 'S', .chain = { "main", "become", "before_site" } };
	bool from_thread = strcmp(truth_arg_string(argc, argv, 2), "thread") == 0;
	pthread_t thread;

	truth_arg_string(argc, argv, 5);
	arguments = argv;
	count = truth_arg(argc, argv, 3);
	nap_us = truth_arg(argc, argv, 4);
	truth_open(argv[1]);
	if (from_thread) {
		pthread_create(&thread, NULL, other_main, NULL);
		pthread_create(&thread, NULL, doomed_main, NULL);
	}
	truth_ready(NULL, 0);
	truth_gate_open();
	if (from_thread)
		doomed_site();
	else
		become(&t);
	return 0;
}
