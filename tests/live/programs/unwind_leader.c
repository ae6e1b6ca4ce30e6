/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* unwind_leader OUT COUNT US: the first thread exits, and another one sleeps COUNT times for US. */
#include "truth.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static struct truth t = { .kind = "unwind", .state = 'S', .chain = { "leader_thread", "leader_site", "nap_site" } };
static uint64_t count, nap_us;

SITE void nap_site(void)
{
	struct timespec ts = { .tv_nsec = (long)nap_us * 1000 };

	nanosleep(&ts, NULL);
}

SITE void leader_site(void)
{
	struct truth_bracket b;

	for (uint64_t i = 0; i < count; i++) {
		truth_begin(&b);
		nap_site();
		truth_end(&t, &b);
	}
}

static int first_thread_lives(void)
{
	char text[512] = "", path[64];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", (int)getpid());
	f = fopen(path, "r");
	if (!f)
		return 0;
	if (!fgets(text, sizeof(text), f))
		text[0] = 0;
	fclose(f);
	return !strstr(text, ") Z");
}

SITE void *leader_thread(void *arg)
{
	while (first_thread_lives())
		usleep(1000);
	truth_ready(NULL, 0);
	leader_site();
	truth_write(&t);
	truth_done();
	_exit(0);
	return arg;
}

int main(int argc, char **argv)
{
	pthread_t thread;

	truth_open(truth_arg_string(argc, argv, 1));
	count = truth_arg(argc, argv, 2);
	nap_us = truth_arg(argc, argv, 3);
	if (pthread_create(&thread, NULL, leader_thread, NULL))
		truth_die("pthread_create", 0);
	pthread_exit(NULL);
}
