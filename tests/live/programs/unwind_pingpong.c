/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * unwind_pingpong OUT ROUNDS: two threads hand a byte to and fro, ROUNDS times, from places
 * whose frames look alike: the same code at other depths, frames of changing size, stack
 * words left by the call before.  Each place is entered again and again with the same stack pointer.
 */
#include "truth.h"

#include <alloca.h>
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

static int there[2], back[2];
static volatile unsigned sink;

SITE void pass(int in, int out)
{
	char byte = 'x';

	if (write(out, &byte, 1) != 1 || read(in, &byte, 1) != 1)
		truth_die("pipe", errno);
}

SITE void place_one(int in, int out)
{
	pass(in, out);
	sink++;
}

SITE void place_two(int in, int out)
{
	pass(in, out);
	sink += 2;
}

SITE void place_sized(int in, int out, unsigned bytes)
{
	char *p = alloca(bytes);

	memset(p, 1, bytes);
	pass(in, out);
	sink += (unsigned)*p;
}

SITE void place_aligned(int in, int out)
{
	char block[64] __attribute__((aligned(64)));

	memset(block, 1, sizeof(block));
	__asm__ volatile("" : : "r"(block) : "memory");
	pass(in, out);
	sink += (unsigned)block[3];
}

SITE void one_round(int in, int out, uint64_t i)
{
	switch (i * 2654435761u >> 7 & 7) {
	case 0:
		place_sized(in, out, 16);
		break;
	case 1:
		place_sized(in, out, 64);
		break;
	case 2:
		place_aligned(in, out);
		break;
	case 3:
	case 4:
		place_two(in, out);
		break;
	default:
		place_one(in, out);
	}
}

SITE void *answer(void *arg)
{
	uint64_t rounds = *(uint64_t *)arg;
	char byte;

	if (read(there[0], &byte, 1) != 1)
		truth_die("pipe", errno);
	for (uint64_t i = 1; i < rounds; i++)
		one_round(there[0], back[1], i * 7);
	if (write(back[1], &byte, 1) != 1)
		truth_die("pipe", errno);
	return NULL;
}

int main(int argc, char **argv)
{
	uint64_t rounds;
	pthread_t thread;

	truth_open(truth_arg_string(argc, argv, 1));
	rounds = truth_arg(argc, argv, 2);
	truth_ready(NULL, 0);
	if (pipe(there) || pipe(back) || pthread_create(&thread, NULL, answer, &rounds))
		truth_die("pipe", errno);
	for (uint64_t i = 0; i < rounds; i++)
		one_round(back[0], there[1], i);
	pthread_join(thread, NULL);
	truth_done();
	return 0;
}
