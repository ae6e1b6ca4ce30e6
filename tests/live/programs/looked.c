/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * looked OUT: threads of known shares for those who look now and then, until stdin is closed: one that sleeps 7 ms here and 2 ms there,
 * three that queue for one lock, one that computes, and threads that live for 60 ms.
 */
#include "truth.h"

#include <errno.h>
#include <pthread.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void nap_us(long us)
{
	struct timespec ts = { .tv_sec = us / 1000000, .tv_nsec = us % 1000000 * 1000 };

	sys2(SYS_nanosleep, &ts, 0);
}

static void compute_us(uint64_t us)
{
	uint64_t end = truth_now_ns() + us * 1000;

	while (truth_now_ns() < end)
		;
}

SITE void long_site(void)
{
	nap_us(7000);
}

SITE void short_site(void)
{
	nap_us(2000);
}

SITE void *sleeper_main(void *arg)
{
	prctl(PR_SET_NAME, "sleeper");
	for (;;) {
		long_site();
		short_site();
		compute_us(300);
	}
	return arg;
}

SITE void held_site(void)
{
	nap_us(5000);
}

SITE void convoy_site(void)
{
	pthread_mutex_lock(&lock);
	held_site();
	pthread_mutex_unlock(&lock);
}

SITE void *convoy_main(void *arg)
{
	prctl(PR_SET_NAME, "convoy");
	for (;;)
		convoy_site();
	return arg;
}

SITE void *spinner_main(void *arg)
{
	prctl(PR_SET_NAME, "spinner");
	for (;;) {
		compute_us(10000);
		nap_us(20000);
	}
	return arg;
}

SITE void *short_main(void *arg)
{
	nap_us(60000);
	return arg;
}

SITE void *bearer_main(void *arg)
{
	prctl(PR_SET_NAME, "bearer");
	for (;;) {
		pthread_t thread;

		if (pthread_create(&thread, NULL, short_main, NULL))
			truth_die("pthread_create", EAGAIN);
		pthread_join(thread, NULL);
	}
	return arg;
}

static void start(void *(*main_of)(void *))
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, main_of, NULL))
		truth_die("pthread_create", EAGAIN);
}

int main(int argc, char **argv)
{
	char byte;

	truth_open(truth_arg_string(argc, argv, 1));
	start(sleeper_main);
	for (int i = 0; i < 3; i++)
		start(convoy_main);
	start(spinner_main);
	start(bearer_main);
	truth_ready(NULL, 0);
	while (read(STDIN_FILENO, &byte, 1) == 1)
		;
	return 0;
}
