/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Preloaded into a CPython: how long its threads waited on conditions, which in CPython on Linux are waits for the GIL, by what gil_truth_phase was as each began.  The interpreter's own clock, from outside of the kernel.
 */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define PHASES 4

int gil_truth_phase;	/* set by the program */

static atomic_ullong waited_ns[PHASES], pieces[PHASES], waits[PHASES];
static _Thread_local int timed_out;	/* this thread's last wait was, so the next one goes on with it */

static unsigned long long now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (unsigned long long)t.tv_sec * 1000000000 + (unsigned long long)t.tv_nsec;
}

static void add(int phase, unsigned long long began, int err)
{
	waited_ns[phase] += now_ns() - began;
	pieces[phase]++;
	waits[phase] += !timed_out;
	timed_out = err == ETIMEDOUT;
}

static void *next(const char *name)
{
	void *found = dlvsym(RTLD_NEXT, name, "GLIBC_2.3.2");

	if (!found)
		abort();
	return found;
}

int pthread_cond_timedwait(pthread_cond_t *cond, pthread_mutex_t *mutex, const struct timespec *until)
{
	static int (*real)(pthread_cond_t *, pthread_mutex_t *, const struct timespec *);
	int phase = gil_truth_phase & (PHASES - 1), err;
	unsigned long long began;

	if (!real)
		real = (int (*)(pthread_cond_t *, pthread_mutex_t *, const struct timespec *))next("pthread_cond_timedwait");
	began = now_ns();
	err = real(cond, mutex, until);
	add(phase, began, err);
	return err;
}

/* A thread that was asked to let go waits until another one has the lock. */
int pthread_cond_wait(pthread_cond_t *cond, pthread_mutex_t *mutex)
{
	static int (*real)(pthread_cond_t *, pthread_mutex_t *);
	unsigned long long began;
	int err;

	if (!real)
		real = (int (*)(pthread_cond_t *, pthread_mutex_t *))next("pthread_cond_wait");
	began = now_ns();
	err = real(cond, mutex);
	add(0, began, err);
	return err;
}

__attribute__((destructor)) static void tell(void)
{
	const char *path = getenv("GIL_TRUTH");
	FILE *file = path ? fopen(path, "w") : NULL;

	if (!file)
		return;
	fprintf(file, "[");
	for (int i = 0; i < PHASES; i++)
		fprintf(file, "%s{\"waited_ns\": %llu, \"pieces\": %llu, \"waits\": %llu}", i ? ", " : "", waited_ns[i], pieces[i], waits[i]);
	fprintf(file, "]\n");
	fclose(file);
}

/* As if the machine were busy: all is mapped, and the interpreter has not begun. */
__attribute__((constructor)) static void begin_late(void)
{
	const char *ms = getenv("BEGIN_LATE_MS");

	if (ms)
		usleep((useconds_t)atoi(ms) * 1000);
}
