/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * pool OUT JOBS: a healthy pool.  Four workers wait for jobs, each of which takes 3 ms of sleep; a collector waits for results, and
 * hands out the next job then and now.  All wait for one another, and nobody is held up.
 */
#include "truth.h"

#include <pthread.h>
#include <sys/prctl.h>
#include <time.h>

#define WORKERS 4
#define AT_ONCE 2	/* jobs, so half of the workers have none */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t work = PTHREAD_COND_INITIALIZER, done = PTHREAD_COND_INITIALIZER;
static uint64_t jobs, results, left;

static void nap_ms(long ms)
{
	struct timespec ts = { 0, ms * 1000000 };

	nanosleep(&ts, NULL);
}

SITE void *worker_main(void *arg)
{
	prctl(PR_SET_NAME, "pool-worker");
	pthread_mutex_lock(&lock);
	for (;;) {
		while (!jobs && left)
			pthread_cond_wait(&work, &lock);
		if (!jobs)
			break;
		jobs--;
		pthread_mutex_unlock(&lock);
		nap_ms(3);
		pthread_mutex_lock(&lock);
		results++;
		pthread_cond_signal(&done);
	}
	pthread_mutex_unlock(&lock);
	return arg;
}

SITE void *collector_main(void *arg)
{
	prctl(PR_SET_NAME, "pool-collector");
	pthread_mutex_lock(&lock);
	while (left) {
		while (!results)
			pthread_cond_wait(&done, &lock);
		results--;
		left--;
		jobs++;
		pthread_cond_signal(&work);
	}
	pthread_cond_broadcast(&work);
	pthread_mutex_unlock(&lock);
	return arg;
}

int main(int argc, char **argv)
{
	pthread_t threads[WORKERS + 1];

	truth_open(truth_arg_string(argc, argv, 1));
	left = truth_arg(argc, argv, 2);
	for (int i = 0; i <= WORKERS; i++)
		if (pthread_create(&threads[i], NULL, i ? worker_main : collector_main, NULL))
			truth_die("pthread_create", 0);
	truth_ready(NULL, 0);
	pthread_mutex_lock(&lock);
	jobs = AT_ONCE;
	pthread_cond_broadcast(&work);
	pthread_mutex_unlock(&lock);
	for (int i = 0; i <= WORKERS; i++)
		pthread_join(threads[i], NULL);
	truth_done();
	return 0;
}
