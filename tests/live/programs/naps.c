/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * naps OUT THREADS NAPS: each thread sleeps as shortly as can be, so that its waking often comes before it has gone off CPU, and then
 * for good.
 */
#include "truth.h"

#include <errno.h>
#include <pthread.h>
#include <sys/prctl.h>
#include <time.h>

static uint64_t naps;
static uint32_t begun_cnt;

SITE void pause_site(void)
{
	for (;;)
		sys4(SYS_ppoll, 0, 0, 0, 0);
}

SITE void *napper_main(void *arg)
{
	struct timespec ts = { .tv_nsec = 1 };

	prctl(PR_SET_TIMERSLACK, 1);
	truth_gate_wait();
	for (uint64_t i = 0; i < naps; i++)
		sys2(SYS_nanosleep, &ts, 0);
	__atomic_fetch_add(&begun_cnt, 1, __ATOMIC_SEQ_CST);
	pause_site();
	return arg;
}

int main(int argc, char **argv)
{
	struct timespec ts = { .tv_nsec = 1000000 };
	uint64_t cnt;

	truth_open(truth_arg_string(argc, argv, 1));
	cnt = truth_arg(argc, argv, 2);
	naps = truth_arg(argc, argv, 3);
	for (uint64_t i = 0; i < cnt; i++) {
		pthread_t thread;

		if (pthread_create(&thread, NULL, napper_main, NULL))
			truth_die("pthread_create", EAGAIN);
	}
	truth_ready(NULL, 0);
	truth_gate_open();
	while (__atomic_load_n(&begun_cnt, __ATOMIC_SEQ_CST) < cnt)
		sys2(SYS_nanosleep, &ts, 0);
	truth_done();
	return 0;
}
