/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* sleepers THREADS MILLISECONDS: threads that sleep so long each, for ever.  Prints "ready" when they begin. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define STACK_BYTES (64 << 10)

static struct timespec pause_time;
/* Held until all are there: those that sleep already would keep the others from being made. */
static pthread_rwlock_t gate = PTHREAD_RWLOCK_INITIALIZER;

static void *sleep_for_ever(void *arg)
{
	pthread_rwlock_rdlock(&gate);
	pthread_rwlock_unlock(&gate);
	for (;;)
		nanosleep(&pause_time, NULL);
	return arg;
}

int main(int argc, char **argv)
{
	unsigned cnt = argc > 1 ? (unsigned)atoi(argv[1]) : 0, ms = argc > 2 ? (unsigned)atoi(argv[2]) : 0;
	pthread_attr_t attr;
	pthread_t thread;

	if (!cnt || !ms) {
		fprintf(stderr, "usage: sleepers THREADS MILLISECONDS\n");
		return 2;
	}
	pause_time = (struct timespec){ ms / 1000, (long)(ms % 1000) * 1000000 };
	pthread_rwlock_wrlock(&gate);
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK_BYTES);
	for (unsigned i = 0; i < cnt; i++) {
		int err = pthread_create(&thread, &attr, sleep_for_ever, NULL);

		if (err) {
			fprintf(stderr, "sleepers: thread %u of %u: %s\n", i + 1, cnt, strerror(err));
			return 1;
		}
	}
	puts("ready");
	fflush(stdout);
	pthread_rwlock_unlock(&gate);
	pthread_join(thread, NULL);
	return 1;
}
