/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* yield OUT COUNT: two threads on one CPU give it to each other. */
#include "truth.h"

#include <pthread.h>
#include <sched.h>

static uint64_t count;

SITE void yield_site(struct truth *t)
{
	struct truth_bracket b;

	truth_begin(&b);
	sys0(SYS_sched_yield);
	truth_end(t, &b);
}

SITE void *yield_main(void *arg)
{
	struct truth t = { .kind = "yield", .state = 'R', .chain = { "yield_main", "yield_site" } };
	struct truth_thread all;
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(0, &set);
	sched_setaffinity(0, sizeof(set), &set);
	truth_gate_wait();
	truth_thread_begin(&all);
	for (uint64_t i = 0; i < count; i++)
		yield_site(&t);
	truth_thread_write(&all, "thread");
	truth_write(&t);
	return arg;
}

int main(int argc, char **argv)
{
	pthread_t threads[2];

	count = truth_arg(argc, argv, 2);
	truth_open(truth_arg_string(argc, argv, 1));
	for (int i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, yield_main, NULL);
	truth_ready(NULL, 0);
	truth_gate_open();
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	truth_done();
	return 0;
}
