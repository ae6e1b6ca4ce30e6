/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* hog OUT THREADS MS: threads that want the CPU all the time. */
#include "truth.h"

#include <linux/futex.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

static uint64_t span_ms;
static uint32_t never;

/* A system call now and then, in this frame: the vdso would hide it from a frame-pointer walk. */
SITE void spin_site(uint64_t until_ns)
{
	struct timespec ts;

	do {
		for (volatile int i = 0; i < 20000; i++)
			;
		sys2(SYS_clock_gettime, CLOCK_MONOTONIC, &ts);
	} while ((uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec < until_ns);
}

SITE void rest_site(void)
{
	for (;;)
		sys4(SYS_futex, &never, FUTEX_WAIT_PRIVATE, 0, 0);
}

static uint32_t finished;

SITE void *hog_main(void *arg)
{
	struct truth_thread t;

	truth_gate_wait();
	truth_thread_begin(&t);
	spin_site(truth_now_ns() + span_ms * 1000000);
	truth_thread_write(&t, "hog");
	__atomic_add_fetch(&finished, 1, __ATOMIC_ACQ_REL);
	rest_site();
	return arg;
}

int main(int argc, char **argv)
{
	uint64_t threads = truth_arg(argc, argv, 2);
	struct timespec ts = { .tv_nsec = 5000000 };

	span_ms = truth_arg(argc, argv, 3);
	truth_open(truth_arg_string(argc, argv, 1));
	for (uint64_t i = 0; i < threads; i++) {
		pthread_t thread;

		pthread_create(&thread, NULL, hog_main, NULL);
	}
	truth_ready(NULL, 0);
	truth_gate_open();
	while (__atomic_load_n(&finished, __ATOMIC_ACQUIRE) < threads)
		sys2(SYS_nanosleep, &ts, 0);
	truth_done();
	exit(0);
}
