/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Preloaded into a CPython: how long its threads waited on conditions, which in CPython on Linux are waits for the GIL, by what byte the file GIL_TRUTH_PHASE began with as each did.  The interpreter's own clock, from outside of the kernel.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define PHASES 4

static unsigned char no_phase;
static volatile unsigned char *phase_now = &no_phase;	/* the program has the same page mapped */
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
#ifdef __GLIBC__
	void *found = dlvsym(RTLD_NEXT, name, "GLIBC_2.3.2");
#else
	void *found = dlsym(RTLD_NEXT, name);
#endif

	if (!found)
		abort();
	return found;
}

int pthread_cond_timedwait(pthread_cond_t *cond, pthread_mutex_t *mutex, const struct timespec *until)
{
	static int (*real)(pthread_cond_t *, pthread_mutex_t *, const struct timespec *);
	int phase = *phase_now & (PHASES - 1), err;
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

__attribute__((constructor)) static void find_phase(void)
{
	const char *path = getenv("GIL_TRUTH_PHASE");
	int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
	void *page = fd >= 0 ? mmap(NULL, 1, PROT_READ, MAP_SHARED, fd, 0) : MAP_FAILED;

	if (page != MAP_FAILED)
		phase_now = page;
	if (fd >= 0)
		close(fd);
}

/* As on a machine where whoever maps an interpreter gets no CPU to begin it. */
__attribute__((constructor)) static void begin_late(void)
{
	const char *late_us = getenv("GIL_TRUTH_LATE_US");

	if (late_us)
		usleep((useconds_t)atoi(late_us));
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
