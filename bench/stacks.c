// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * A load with many distinct stacks: threads that sleep at the bottom of every path through a
 * binary tree of calls, DEPTH levels deep.  Each path is another user stack, 2^DEPTH in all.
 *
 * usage: stacks [THREADS [SLEEP_US]]     runs until killed
 *
 * Build with frame pointers.  The sleep is a system call in place, since libc's own frames have
 * no frame pointer and would end the walk.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define DEPTH 13
#define THREADS_MAX 256

/*
 * Keeps a call a call: what follows it is not moved before it, so it is no tail call.  The word
 * differs from function to function, so that no compiler folds the two into one.
 */
#define AFTER_CALL(word) __asm__ volatile("" ::"i"(word) : "memory")

/* Keeps the frame set up first: a compiler may put it off until after the sleep (shrink-wrapping). */
#define NEED_FRAME() __asm__ volatile("" ::"r"(__builtin_frame_address(0)))

static struct timespec pause_time;

static void descend_left(uint32_t path, int levels);
static void descend_right(uint32_t path, int levels);

/* nanosleep(&pause_time, NULL) without libc. */
static inline void sleep_in_place(void)
{
#if defined(__x86_64__)
	long ret = SYS_nanosleep;

	__asm__ volatile("syscall"
			 : "+a"(ret)
			 : "D"(&pause_time), "S"(NULL)
			 : "rcx", "r11", "memory");
#elif defined(__aarch64__)
	register long number __asm__("x8") = SYS_nanosleep;
	register const void *request __asm__("x0") = &pause_time;
	register void *rest __asm__("x1") = NULL;

	__asm__ volatile("svc 0" : "+r"(request) : "r"(number), "r"(rest) : "memory");
#else
#error "no system call in place for this machine"
#endif
}

static inline __attribute__((always_inline)) void descend(uint32_t path, int levels)
{
	if (levels == 0)
		sleep_in_place();
	else if (path & 1)
		descend_right(path >> 1, levels - 1);
	else
		descend_left(path >> 1, levels - 1);
	AFTER_CALL(0);
}

static __attribute__((noinline)) void descend_left(uint32_t path, int levels)
{
	NEED_FRAME();
	descend(path, levels);
	AFTER_CALL(1);
}

static __attribute__((noinline)) void descend_right(uint32_t path, int levels)
{
	NEED_FRAME();
	descend(path, levels);
	AFTER_CALL(2);
}

/* The threads share the paths out between them, so that all have been taken soon. */
struct share {
	uint32_t first;
	uint32_t step;
};

static void *walk_all(void *arg)
{
	const struct share *share = arg;

	for (;;) {
		for (uint32_t path = share->first; path < 1u << DEPTH; path += share->step)
			descend(path, DEPTH);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	static struct share shares[THREADS_MAX];
	long threads_cnt = argc > 1 ? strtol(argv[1], NULL, 10) : 8;
	long sleep_us = argc > 2 ? strtol(argv[2], NULL, 10) : 1000;

	if (threads_cnt < 1 || threads_cnt > THREADS_MAX || sleep_us < 1 || sleep_us >= 1000000) {
		fprintf(stderr, "usage: stacks [THREADS (1-%d) [SLEEP_US]]\n", THREADS_MAX);
		return 2;
	}
	pause_time.tv_nsec = sleep_us * 1000;
	for (long i = 0; i < threads_cnt; i++) {
		pthread_t thread;

		shares[i] = (struct share){ .first = (uint32_t)i, .step = (uint32_t)threads_cnt };
		if (pthread_create(&thread, NULL, walk_all, &shares[i]) != 0) {
			fprintf(stderr, "stacks: cannot start thread %ld\n", i);
			return 1;
		}
	}
	for (;;)
		pause();
}
