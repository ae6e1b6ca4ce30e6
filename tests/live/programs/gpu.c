/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "gpu.h"

#include <pthread.h>
#include <stdatomic.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t has_work = PTHREAD_COND_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static _Atomic uint64_t queued, done;
static unsigned work_us;
static uint64_t waited_ns;

static void *gpu(void *unused)
{
	(void)unused;
	for (;;) {
		pthread_mutex_lock(&lock);
		while (queued == done)
			pthread_cond_wait(&has_work, &lock);
		uint64_t last = queued;
		pthread_mutex_unlock(&lock);
		usleep(work_us);
		done = last;
	}
	return NULL;
}

static void begin(void)
{
	pthread_t thread;

	pthread_create(&thread, NULL, gpu, NULL);
}

static uint64_t cpu_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

int LAUNCH(unsigned us)
{
	pthread_once(&once, begin);
	pthread_mutex_lock(&lock);
	work_us = us;
	queued++;
	pthread_cond_signal(&has_work);
	pthread_mutex_unlock(&lock);
	return 0;
}

int SYNC(void)
{
	uint64_t from_ns = cpu_ns();

	while (done != queued)
		for (volatile int i = 0; i < 100; i++)
			;
	waited_ns += cpu_ns() - from_ns;
	return 0;
}

uint64_t WAITED(void)
{
	return waited_ns;
}
