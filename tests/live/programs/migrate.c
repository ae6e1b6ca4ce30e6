/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* migrate OUT COUNT US: a thread that changes CPU before each sleep, and moves a second, spinning one as well. */
#include "truth.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static int spinner_tid;
static bool finished;

static void move(int tid, uint64_t turn)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(turn % (uint64_t)sysconf(_SC_NPROCESSORS_ONLN), &set);
	if (sched_setaffinity(tid, sizeof(set), &set))
		truth_die("sched_setaffinity", errno);
}

SITE void roam_site(struct truth *t, uint64_t us)
{
	struct timespec ts = { .tv_nsec = (long)us * 1000 };
	struct truth_bracket b;

	truth_begin(&b);
	sys2(SYS_nanosleep, &ts, 0);
	truth_end(t, &b);
}

SITE void roam_run(struct truth *t, uint64_t count, uint64_t us)
{
	for (uint64_t i = 0; i < count; i++) {
		move(0, i);
		move(spinner_tid, i / 2);
		roam_site(t, us);
	}
}

SITE void spin_site(void)
{
	while (!__atomic_load_n(&finished, __ATOMIC_ACQUIRE))
		for (volatile int i = 0; i < 1000; i++)
			;
}

SITE void *spin_main(void *arg)
{
	struct truth_thread all;

	__atomic_store_n(&spinner_tid, truth_gettid(), __ATOMIC_RELEASE);
	truth_gate_wait();
	truth_thread_begin(&all);
	spin_site();
	truth_thread_write(&all, "spinner");
	return arg;
}

int main(int argc, char **argv)
{
	struct truth t = { .kind = "roam", .state = 'S', .chain = { "main", "roam_run", "roam_site" } };
	pthread_t spinner;

	truth_open(truth_arg_string(argc, argv, 1));
	pthread_create(&spinner, NULL, spin_main, NULL);
	while (!__atomic_load_n(&spinner_tid, __ATOMIC_ACQUIRE))
		sched_yield();
	truth_ready(NULL, 0);
	truth_gate_open();
	roam_run(&t, truth_arg(argc, argv, 2), truth_arg(argc, argv, 3));
	__atomic_store_n(&finished, true, __ATOMIC_RELEASE);
	truth_write(&t);
	pthread_join(spinner, NULL);
	truth_done();
	return 0;
}
