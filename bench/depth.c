/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* depth DEPTH: two threads hand a byte to and fro for ever, each below DEPTH frames of its own. */
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

static int there[2], back[2];
static volatile unsigned sink;

static __attribute__((noinline, noipa)) void pass(int in, int out)
{
	char byte = 'x';

	while (write(out, &byte, 1) == 1 && read(in, &byte, 1) == 1)
		sink++;
}

static __attribute__((noinline, noipa)) void descend(unsigned depth, int in, int out)
{
	if (depth > 1)
		descend(depth - 1, in, out);
	else
		pass(in, out);
	sink++;
}

static unsigned depth;

static void *answer(void *arg)
{
	descend(depth, there[0], back[1]);
	return arg;
}

int main(int argc, char **argv)
{
	pthread_t thread;

	depth = argc > 1 ? (unsigned)atoi(argv[1]) : 1;
	if (pipe(there) || pipe(back) || pthread_create(&thread, NULL, answer, NULL))
		return 1;
	descend(depth, back[0], there[1]);
	return 0;
}
