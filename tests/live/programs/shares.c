// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * Known shares of CPU time: shares OUT ROUNDS.  One thread works in three functions, in each until its own CPU clock says that it is
 * enough, the last in the kernel, and sleeps after each round, never equally long: rounds in step with a sampler's timer would give
 * each sample the same place.  Another one only sleeps.  OUT gets, as JSON, the CPU time of each function.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define MS 1000000ULL

static volatile uint64_t sink;
static int zeros;
static char block[256 << 10];

static uint64_t cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static void sleep_ns(uint64_t ns)
{
	struct timespec t = { .tv_nsec = (long)ns };

	nanosleep(&t, NULL);
}

static __attribute__((noinline)) uint64_t work_three(uint64_t until_ns)
{
	while (cpu_ns() < until_ns)
		for (uint64_t i = 0; i < 20000; i++)
			sink += i;
	return cpu_ns();
}

static __attribute__((noinline)) uint64_t work_one(uint64_t until_ns)
{
	while (cpu_ns() < until_ns)
		for (uint64_t i = 0; i < 20000; i++)
			sink ^= i;
	return cpu_ns();
}

static __attribute__((noinline)) uint64_t work_kernel(uint64_t until_ns)
{
	while (cpu_ns() < until_ns)
		if (read(zeros, block, sizeof(block)) != sizeof(block))
			abort();
	return cpu_ns();
}

static void *only_sleep(void *arg)
{
	(void)arg;
	for (int i = 0; i < 40; i++)
		sleep_ns(20 * MS);
	return NULL;
}

int main(int argc, char **argv)
{
	uint64_t three = 0, one = 0, kernel = 0, begun = cpu_ns(), t;
	pthread_t sleeper;
	FILE *out;

	if (argc != 3)
		return 2;
	zeros = open("/dev/zero", O_RDONLY | O_CLOEXEC);
	if (zeros < 0 || pthread_create(&sleeper, NULL, only_sleep, NULL))
		return 1;
	for (int i = atoi(argv[2]); i > 0; i--) {
		t = cpu_ns();
		three += work_three(t + 30 * MS) - t;
		t = cpu_ns();
		one += work_one(t + 10 * MS) - t;
		t = cpu_ns();
		kernel += work_kernel(t + 10 * MS) - t;
		sleep_ns((unsigned)rand() % 16 * MS);
	}
	t = cpu_ns() - begun;
	pthread_join(sleeper, NULL);
	out = fopen(argv[1], "we");
	if (!out)
		return 1;
	fprintf(out, "{\"tid\": %ld, \"all_ns\": %llu, \"work_three\": %llu, \"work_one\": %llu, \"work_kernel\": %llu}\n", syscall(SYS_gettid),
		(unsigned long long)t, (unsigned long long)three, (unsigned long long)one, (unsigned long long)kernel);
	return fclose(out) != 0;
}
