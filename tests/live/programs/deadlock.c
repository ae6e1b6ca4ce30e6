/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* deadlock OUT: before the word to go, two threads have each locked one mutex and wait for the other's for ever. */
#include "truth.h"

#include <pthread.h>
#include <stdio.h>

static pthread_mutex_t mutex_a = PTHREAD_MUTEX_INITIALIZER, mutex_b = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t both;
static int tids[2];

static void *lock_both(void *arg)
{
	const int own = arg != NULL;

	tids[own] = truth_gettid();
	pthread_mutex_lock(own ? &mutex_b : &mutex_a);
	pthread_barrier_wait(&both);
	truth_printf("{\"kind\":\"deadlock\",\"tid\":%d,\"name\":\"%s\",\"holder\":%d}\n", tids[own],
		     own ? "mutex_a" : "mutex_b", tids[!own]);
	pthread_mutex_lock(own ? &mutex_a : &mutex_b);
	return arg;
}

int main(int argc, char **argv)
{
	pthread_t threads[2];

	truth_open(truth_arg_string(argc, argv, 1));
	pthread_barrier_init(&both, NULL, 2);
	for (int i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, lock_both, i ? &both : NULL);
	truth_ready(NULL, 0);
	truth_done();
	return 0;
}
