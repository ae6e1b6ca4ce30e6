/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * The self-test's workload.  It makes system calls itself: in most distributions libc has no frame pointers, and the
 * waiting function must be in the stack.
 */
#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "cmd/doctor/selftest.h"

#define ROUNDS 5

#if defined(__x86_64__)
static inline long raw_syscall(long nr, long a, long b, long c, long d, long e, long f)
{
	register long r10 __asm__("r10") = d;
	register long r8 __asm__("r8") = e;
	register long r9 __asm__("r9") = f;
	long ret;

	__asm__ volatile("syscall" : "=a"(ret) : "a"(nr), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
			 : "rcx", "r11", "memory");
	return ret;
}
#elif defined(__aarch64__)
static inline long raw_syscall(long nr, long a, long b, long c, long d, long e, long f)
{
	register long x8 __asm__("x8") = nr;
	register long x0 __asm__("x0") = a;
	register long x1 __asm__("x1") = b;
	register long x2 __asm__("x2") = c;
	register long x3 __asm__("x3") = d;
	register long x4 __asm__("x4") = e;
	register long x5 __asm__("x5") = f;

	__asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5) : "memory");
	return x0;
}
#endif

static struct selftest_shared *shared;
static uint32_t held_lock, never;
static int pipe_fds[2];

static void sleep_ms(long ms)
{
	struct timespec ts = { 0, ms * 1000000 };

	nanosleep(&ts, NULL);
}

static void await_word(uint32_t *word)
{
	while (!__atomic_load_n(word, __ATOMIC_ACQUIRE))
		syscall(SYS_futex, word, FUTEX_WAIT, 0, NULL, NULL, 0);
}

static void set(uint32_t *word, uint32_t value)
{
	__atomic_store_n(word, value, __ATOMIC_RELEASE);
	syscall(SYS_futex, word, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
}

/* Exported, so that stripped binaries keep their names. */
void selftest_sleep(void);
void selftest_futex(void);
void selftest_pipe(void);
void selftest_fsync(int fd);
void selftest_preempt(uint64_t until_ns);
void selftest_blocked(void);

#ifdef __clang__
#define WAIT_SITE __attribute__((noinline))
#else
#define WAIT_SITE __attribute__((noinline, noclone))
#endif

WAIT_SITE void selftest_sleep(void)
{
	struct timespec ts = { 0, 20000000 };

	raw_syscall(SYS_nanosleep, (long)&ts, 0, 0, 0, 0, 0);
}

WAIT_SITE void selftest_futex(void)
{
	while (__atomic_load_n(&held_lock, __ATOMIC_ACQUIRE))
		raw_syscall(SYS_futex, (long)&held_lock, FUTEX_WAIT, 1, 0, 0, 0);
}

WAIT_SITE void selftest_pipe(void)
{
	char byte;

	raw_syscall(SYS_read, pipe_fds[0], (long)&byte, 1, 0, 0, 0);
}

WAIT_SITE void selftest_fsync(int fd)
{
	raw_syscall(SYS_fsync, fd, 0, 0, 0, 0, 0);
}

WAIT_SITE void selftest_preempt(uint64_t until_ns)
{
	/* Rarely in clock_gettime(): the vdso has no frame pointers. */
	while (clock_ns(CLOCK_MONOTONIC) < until_ns)
		for (volatile int i = 0; i < 500000; i++)
			;
}

WAIT_SITE void selftest_blocked(void)
{
	while (!__atomic_load_n(&never, __ATOMIC_ACQUIRE))
		raw_syscall(SYS_futex, (long)&never, FUTEX_WAIT, 0, 0, 0, 0);
}

static struct selftest_truth *truth_of(enum selftest_case which)
{
	struct selftest_truth *t = &shared->truth[which];

	t->tid = (uint32_t)syscall(SYS_gettid);
	return t;
}

/* One measured wait. */
#define MEASURE(truth, call)                                                                       \
	do {                                                                                       \
		uint64_t cpu_ = clock_ns(CLOCK_THREAD_CPUTIME_ID), wall_ = clock_ns(CLOCK_MONOTONIC); \
		call;                                                                              \
		wall_ = clock_ns(CLOCK_MONOTONIC) - wall_;                                         \
		cpu_ = clock_ns(CLOCK_THREAD_CPUTIME_ID) - cpu_;                                   \
		(truth)->wall_ns += wall_;                                                         \
		(truth)->cpu_ns += cpu_;                                                           \
		(truth)->waits_cnt++;                                                              \
	} while (0)

static void *sleeper(void *arg)
{
	struct selftest_truth *t = truth_of(SELFTEST_SLEEP);

	await_word(&shared->go);
	for (int i = 0; i < ROUNDS; i++)
		MEASURE(t, selftest_sleep());
	set(&t->done, 1);
	return NULL;
}

static void *lock_waiter(void *arg)
{
	struct selftest_truth *t = truth_of(SELFTEST_FUTEX);

	await_word(&shared->go);
	for (int i = 0; i < ROUNDS; i++) {
		await_word(&held_lock);	/* held by the other thread */
		MEASURE(t, selftest_futex());
	}
	set(&t->done, 1);
	return NULL;
}

static void *lock_holder(void *arg)
{
	await_word(&shared->go);
	while (!__atomic_load_n(&shared->truth[SELFTEST_FUTEX].done, __ATOMIC_ACQUIRE)) {
		set(&held_lock, 1);
		sleep_ms(15);
		set(&held_lock, 0);
		sleep_ms(2);
	}
	return NULL;
}

static void *pipe_reader(void *arg)
{
	struct selftest_truth *t = truth_of(SELFTEST_PIPE);

	await_word(&shared->go);
	for (int i = 0; i < ROUNDS; i++)
		MEASURE(t, selftest_pipe());
	set(&t->done, 1);
	return NULL;
}

static void *pipe_writer(void *arg)
{
	await_word(&shared->go);
	for (int i = 0; i < ROUNDS; i++) {
		sleep_ms(10);
		if (write(pipe_fds[1], "x", 1) != 1)
			break;
	}
	return NULL;
}

static void *syncer(void *arg)
{
	struct selftest_truth *t = truth_of(SELFTEST_FSYNC);
	char path[] = "/var/tmp/offcpu-selftest-XXXXXX", block[4096] = { 1 };
	int fd = mkstemp(path);

	await_word(&shared->go);
	if (fd >= 0) {
		unlink(path);
		for (int i = 0; i < ROUNDS; i++) {
			if (write(fd, block, sizeof(block)) != sizeof(block))
				break;
			MEASURE(t, selftest_fsync(fd));
		}
		close(fd);
	}
	set(&t->done, 1);
	return NULL;
}

static void pin_to_first_cpu(void)
{
	cpu_set_t allowed, one;

	CPU_ZERO(&one);
	if (sched_getaffinity(0, sizeof(allowed), &allowed))
		return;
	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
		if (!CPU_ISSET(cpu, &allowed))
			continue;
		CPU_SET(cpu, &one);
		sched_setaffinity(0, sizeof(one), &one);
		return;
	}
}

static void *hog(void *arg)
{
	struct selftest_truth *t = arg ? truth_of(SELFTEST_PREEMPT) : NULL;

	pin_to_first_cpu();
	await_word(&shared->go);
	uint64_t until = clock_ns(CLOCK_MONOTONIC) + 200000000;
	if (!t) {
		selftest_preempt(until);
		return NULL;
	}
	MEASURE(t, selftest_preempt(until));
	set(&t->done, 1);
	return NULL;
}

static void *blocked(void *arg)
{
	truth_of(SELFTEST_BLOCKED);
	selftest_blocked();
	return NULL;
}

void selftest_workload(struct selftest_shared *memory)
{
	static void *(*const bodies[])(void *) = {
		sleeper, lock_waiter, lock_holder, pipe_reader, pipe_writer, syncer, hog, blocked, hog,
	};
	const unsigned cnt = sizeof(bodies) / sizeof(bodies[0]);
	pthread_t threads[sizeof(bodies) / sizeof(bodies[0])];

	shared = memory;
	if (pipe2(pipe_fds, O_CLOEXEC))
		_exit(1);
	for (unsigned i = 0; i < cnt; i++)	/* the last one is the thread that competes for the CPU */
		if (pthread_create(&threads[i], NULL, bodies[i], i < cnt - 1 ? memory : NULL))
			_exit(1);
	sleep_ms(20);	/* until all are ready to begin */
	set(&shared->ready, 1);
	for (int i = 0; i < SELFTEST_BLOCKED; i++)
		await_word(&shared->truth[i].done);
}
