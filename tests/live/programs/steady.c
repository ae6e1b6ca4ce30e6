/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * steady OUT THREADS HOLD_US: threads that think, take one lock, hold it asleep and let it go, and a pair of threads that pass
 * a byte to and fro; until stdin is closed.  Two runs are the same load but for chance; another HOLD_US is a lock that is held longer.
 * How often and how long it was held by the program's own clock: the line "steady" of OUT.
 */
#include "truth.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#define THINK_US 500	/* on average */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t hold_us;
static uint64_t held_cnt, held_ns;	/* under the lock */
static int there[2], back[2];

static uint64_t mix(uint64_t *seed)
{
	uint64_t z = *seed += 0x9e3779b97f4a7c15ULL;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
	return z ^ (z >> 31);
}

static void nap_us(uint64_t us)
{
	struct timespec ts = { .tv_sec = (time_t)(us / 1000000), .tv_nsec = (long)(us % 1000000 * 1000) };

	sys2(SYS_nanosleep, &ts, 0);
}

SITE void think_site(uint64_t *seed)
{
	double u = ((double)(mix(seed) >> 11) + 1) / 9007199254740993.0;

	nap_us((uint64_t)(-log(u) * THINK_US) + 1);
}

SITE void held_site(void)
{
	uint64_t from = truth_now_ns();

	nap_us(hold_us);
	held_ns += truth_now_ns() - from;
	held_cnt++;
}

SITE void commit_site(void)
{
	pthread_mutex_lock(&lock);
	held_site();
	pthread_mutex_unlock(&lock);
}

SITE void *worker_main(void *arg)
{
	uint64_t seed = truth_now_ns() + (uint64_t)truth_gettid();

	prctl(PR_SET_TIMERSLACK, 1);
	truth_gate_wait();
	for (;;) {
		think_site(&seed);
		commit_site();
	}
	return arg;
}

SITE void *echo_main(void *arg)
{
	char byte;

	while (read(there[0], &byte, 1) == 1 && write(back[1], &byte, 1) == 1)
		nap_us(500);
	return arg;
}

SITE void *caller_main(void *arg)
{
	char byte = 'x';

	truth_gate_wait();
	while (write(there[1], &byte, 1) == 1 && read(back[0], &byte, 1) == 1)
		;
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
	truth_open(truth_arg_string(argc, argv, 1));
	uint64_t cnt = truth_arg(argc, argv, 2);
	hold_us = truth_arg(argc, argv, 3);
	/* What else runs on the machine is no part of the load. */
	sched_setscheduler(0, SCHED_FIFO, &(struct sched_param){ .sched_priority = 1 });
	if (pipe(there) || pipe(back))
		truth_die("pipe", errno);
	for (uint64_t i = 0; i < cnt; i++)
		start(worker_main);
	start(echo_main);
	start(caller_main);
	truth_ready(NULL, 0);
	truth_gate_open();
	truth_done();
	pthread_mutex_lock(&lock);
	truth_printf("{\"kind\": \"steady\", \"held\": %llu, \"held_ns\": %llu}\n", (unsigned long long)held_cnt,
		     (unsigned long long)held_ns);
	return 0;
}
