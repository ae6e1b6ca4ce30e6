/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* calls FILE: CPU time of a call that reads a byte of FILE from the cache, and of one that is none of files; the best of 60 rounds. */
#include <fcntl.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define ROUNDS 60
#define CALLS 20000

static double cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static void keep_least(double *least, double begin)
{
	double each = (cpu_ns() - begin) / CALLS;

	if (*least == 0 || each < *least)
		*least = each;
}

int main(int argc, char **argv)
{
	int fd = argc > 1 ? open(argv[1], O_RDONLY) : -1;
	double least_read = 0, least_other = 0, begin;
	char byte;

	if (fd < 0) {
		fprintf(stderr, "usage: calls FILE\n");
		return 1;
	}
	for (int round = 0; round < ROUNDS; round++) {
		begin = cpu_ns();
		for (int i = 0; i < CALLS; i++)
			if (pread(fd, &byte, 1, 0) < 0)
				return 1;
		keep_least(&least_read, begin);
		begin = cpu_ns();
		for (int i = 0; i < CALLS; i++)
			syscall(SYS_getppid);
		keep_least(&least_other, begin);
	}
	printf("pread %.0f ns, getppid %.0f ns\n", least_read, least_other);
	return 0;
}
