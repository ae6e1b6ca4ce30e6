/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Built without frame pointers, as distributions do.  Every function does something after its
 * call, so that none is a jump, and is not inlined.
 */
#include "frames.h"

#include <alloca.h>
#include <pthread.h>
#include <sched.h>
#include <search.h>
#include <signal.h>
#include <stdlib.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifdef __clang__
#define FRAME __attribute__((noinline, used)) static
#else
#define FRAME __attribute__((noinline, noipa, used)) static
#endif
#define AFTER() __asm__ volatile("" ::: "memory")
#define TOUCH(p) __asm__ volatile("" : : "r"(p) : "memory")

FRAME void sleep_here(void)
{
	for (;;)
		pause();
}

FRAME int plain_inner(int a)
{
	sleep_here();
	AFTER();
	return a;
}

/* Uses all registers that are saved, the frame pointer among them, as plain ones. */
FRAME long plain_outer(long a, long b, long c)
{
	long d = a * b, e = b * c, f = c * a, g = a + b + c;

	for (long i = 0; i < 2; i++)
		d += plain_inner((int)e) + f * i - g;
	return a + b + c + d + e + f + g;
}

FRAME void run_plain(void)
{
	plain_outer(1, 2, 3);
	AFTER();
}

FRAME void alloca_frame(size_t bytes)
{
	char *p = alloca(bytes);
	/* what earlier calls leave: a frame pointer that points up, and an address behind a call of this function */
	uintptr_t *left = (uintptr_t *)(((uintptr_t)p + 63) & ~(uintptr_t)15);

	TOUCH(p);
	memset(p, 1, bytes);
	left[0] = (uintptr_t)(left + 8);
	left[1] = (uintptr_t)__builtin_return_address(0);
	sleep_here();
	TOUCH(p);
}

FRAME void run_alloca(void)
{
	alloca_frame(12345);
	AFTER();
}

FRAME void aligned_frame(void)
{
	char p[256] __attribute__((aligned(64)));

	TOUCH(p);
	sleep_here();
	TOUCH(p);
}

/* With arguments on the stack the compiler keeps the incoming one in r10 and then in memory. */
FRAME long realigned_frame(size_t bytes, long b, long c, long d, long e, long f, long g, long h)
{
	char p[256] __attribute__((aligned(64)));
	char *q = alloca(bytes);

	TOUCH(q);
	TOUCH(p);
	aligned_frame();
	TOUCH(q);
	TOUCH(p);
	return b + c + d + e + f + g + h;
}

FRAME void run_realigned(void)
{
	realigned_frame(100, 2, 3, 4, 5, 6, 7, 8);
	AFTER();
}

FRAME void big_frame(void)
{
	char p[100000];

	TOUCH(p);
	sleep_here();
	TOUCH(p);
}

FRAME void run_big(void)
{
	big_frame();
	AFTER();
}

FRAME void on_signal(int sig)
{
	sleep_here();
	AFTER();
}

FRAME void run_signal(void)
{
	signal(SIGUSR1, on_signal);
	raise(SIGUSR1);
	AFTER();
}

static volatile int is_spinning;

FRAME void *send_signal(void *thread)
{
	while (!is_spinning)
		usleep(1000);
	pthread_kill(*(pthread_t *)thread, SIGUSR2);
	return NULL;
}

/* A signal on a stack of its own strikes between two instructions. */
FRAME void run_signal_stack(void)
{
	struct sigaction action = { .sa_handler = on_signal, .sa_flags = SA_ONSTACK };
	stack_t stack = { .ss_sp = malloc(65536), .ss_size = 65536 };
	pthread_t self = pthread_self(), sender;

	sigaltstack(&stack, NULL);
	sigaction(SIGUSR2, &action, NULL);
	pthread_create(&sender, NULL, send_signal, &self);
	asm_signal_spin(&is_spinning);
	AFTER();
}

FRAME int deep(int n)
{
	int v = n;

	if (n)
		v += deep(n - 1);
	else
		sleep_here();
	AFTER();
	return v;
}

FRAME void run_deep(void)
{
	deep(200);
	AFTER();
}

FRAME int compare(const void *a, const void *b)
{
	sleep_here();
	AFTER();
	return 0;
}

FRAME void run_callback(void)
{
	int v[2] = { 1, 2 };
	size_t cnt = 2;

	lfind(v, v, &cnt, sizeof(*v), compare);	/* which no sanitizer steps in for */
	AFTER();
}

/* A child that dies with its parent thread and touches nothing, for it may run on the parent's stack. */
FRAME int child_sleep(void *unused)
{
	syscall(SYS_prctl, PR_SET_PDEATHSIG, SIGKILL);
	for (;;)
		syscall(SYS_pause);
	return 0;
}

/* The parent sleeps until the child is gone. */
FRAME void run_vfork(void)
{
	if (!vfork())
		child_sleep(NULL);
	AFTER();
}

/* As posix_spawn and system do it. */
FRAME void run_clone(void)
{
	char *stack = malloc(65536);

	clone(child_sleep, stack + 65536, CLONE_VM | CLONE_VFORK | SIGCHLD, NULL);
	AFTER();
}

/* push %rbp; mov %rsp,%rbp; call *%rdi; pop %rbp; ret: as just-in-time compilers write it. */
FRAME void run_jit(void)
{
	static const unsigned char code[] = { 0x55, 0x48, 0x89, 0xe5, 0xff, 0xd7, 0x5d, 0xc3 };
	void *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		abort();
	memcpy(p, code, sizeof(code));
	((void (*)(void (*)(void)))p)(sleep_here);
	AFTER();
}

FRAME void run_no_info(void)
{
	asm_no_info(sleep_here);
	AFTER();
}

FRAME void run_complex(void)
{
	asm_complex(sleep_here);
	AFTER();
}

void *frames_thread(void *c)
{
	const struct frames_case *run = c;

	frames_tids[run - frames_cases] = (pid_t)syscall(SYS_gettid);
	run->run();
	AFTER();
	return NULL;
}

volatile pid_t *frames_tids;

const struct frames_case frames_cases[] = {
	{ "plain", run_plain, { "sleep_here", "plain_inner", "plain_outer", "run_plain" } },
	{ "alloca", run_alloca, { "sleep_here", "alloca_frame", "run_alloca" } },
	{ "realigned", run_realigned, { "sleep_here", "aligned_frame", "realigned_frame", "run_realigned" } },
	{ "big", run_big, { "sleep_here", "big_frame", "run_big" } },
	{ "signal", run_signal, { "sleep_here", "on_signal", "run_signal" } },
	{ "signal_stack", run_signal_stack, { "sleep_here", "on_signal", "asm_signal_spin", "run_signal_stack" } },
	{ "deep", run_deep, { "sleep_here", "deep", "deep", "deep", "deep", "deep" } },
	{ "callback", run_callback, { "sleep_here", "compare", "run_callback" } },
	{ "vfork", run_vfork, { "run_vfork" } },
	{ "clone", run_clone, { "run_clone" } },
	{ "jit", run_jit, { "sleep_here", "run_jit" } },
	{ "no_info", run_no_info, { "sleep_here", "asm_no_info" } },
	{ "complex", run_complex, { "sleep_here", "asm_complex" } },
};
const unsigned frames_case_cnt = sizeof(frames_cases) / sizeof(*frames_cases);
