/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* gpu_user TRUTH GPU_US LOOPS MS: gives a GPU work, computes, and waits for the rest; writes its CPU time, and that of the waits. */
#include "gpu.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

static __attribute__((noinline)) void integrate(unsigned loops)
{
	for (volatile unsigned i = 0; i < loops; i++)
		;
}

static __attribute__((noinline)) int await_forces(void)
{
	int status = SYNC();

	__asm__ volatile("" ::: "memory");	/* no tail call */
	return status;
}

int main(int argc, char **argv)
{
	if (argc < 5)
		return 2;
	uint64_t end_ns = clock_ns(CLOCK_MONOTONIC) + strtoull(argv[4], NULL, 10) * 1000000;
	unsigned gpu_us = (unsigned)strtoul(argv[2], NULL, 10), loops = (unsigned)strtoul(argv[3], NULL, 10);

	while (clock_ns(CLOCK_MONOTONIC) < end_ns) {
		LAUNCH(gpu_us);
		integrate(loops);
		await_forces();
	}
	FILE *truth = fopen(argv[1], "w");
	if (!truth)
		return 1;
	fprintf(truth, "{\"cpu_ns\": %" PRIu64 ", \"waited_ns\": %" PRIu64 "}\n", clock_ns(CLOCK_THREAD_CPUTIME_ID), WAITED());
	return fclose(truth) != 0;
}
