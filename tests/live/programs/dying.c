/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * dying OUT THREADS: threads that sleep once and die one by one, 150 us apart.  The first thread
 * says "done" as soon as they begin to, so some die before the end of the window, some just after it.
 */
#include "truth.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <time.h>

#define THREADS_MAX 2000
#define APART_US 150

static uint64_t threads_cnt, slept_cnt;

static inline __attribute__((always_inline)) void nap_us(uint64_t us)
{
	struct timespec ts = { (time_t)(us / 1000000), (long)(us % 1000000) * 1000 };

	sys2(SYS_nanosleep, &ts, 0);
}

SITE void nap_site(struct truth *t)
{
	struct truth_bracket b;

	truth_begin(&b);
	nap_us(10000);
	truth_end(t, &b);
}

SITE void *dying_main(void *arg)
{
	struct truth t = { .kind = "nanosleep", .state = 'S', .chain = { "dying_main", "nap_site" } };

	prctl(PR_SET_NAME, "dying");
	truth_gate_wait();
	nap_site(&t);
	truth_write(&t);
	__atomic_add_fetch(&slept_cnt, 1, __ATOMIC_ACQ_REL);
	nap_us(5000 + (uint64_t)arg * APART_US);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t threads[THREADS_MAX] = { 0 };

	threads_cnt = truth_arg(argc, argv, 2);
	if (threads_cnt > THREADS_MAX)
		truth_die("too many threads", 0);
	truth_open(truth_arg_string(argc, argv, 1));
	for (uint64_t i = 0; i < threads_cnt; i++)
		if (pthread_create(&threads[i], NULL, dying_main, (void *)i))
			truth_die("pthread_create", 0);
	truth_ready(NULL, 0);
	truth_gate_open();
	while (__atomic_load_n(&slept_cnt, __ATOMIC_ACQUIRE) < threads_cnt)
		nap_us(1000);
	truth_done();
	for (uint64_t i = 0; i < threads_cnt; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
