/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * unwind_calls OUT MODE COUNT US: sleeps COUNT times for US in libc's own wrappers, below frames
 * that only .eh_frame describes: this file is built without frame pointers.
 *
 * MODE: chain alloca align drap deep signal altstack interrupt vfork wrappers forever
 */
#include "truth.h"

#include <alloca.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define DEEP 200

static struct truth t = { .kind = "unwind", .state = 'S' };
static uint64_t count, nap_us;
static volatile unsigned sink;

SITE void nap_site(struct truth *to)
{
	struct timespec ts = { .tv_sec = (time_t)(nap_us / 1000000), .tv_nsec = (long)(nap_us % 1000000) * 1000 };
	struct truth_bracket b;

	truth_begin(&b);
	nanosleep(&ts, NULL);
	truth_end(to, &b);
}

/* A plain chain. */

SITE void chain_inner(void)
{
	for (uint64_t i = 0; i < count; i++)
		nap_site(&t);
	sink++;
}

SITE void chain_outer(void)
{
	chain_inner();
	sink++;
}

static void run_chain(void)
{
	chain_outer();
}

/* Frames whose size only the running program knows. */

SITE void alloca_inner(unsigned bytes)
{
	char *p = alloca(bytes);

	memset(p, 1, bytes);
	nap_site(&t);
	sink += (unsigned)p[bytes - 1];
}

SITE void alloca_outer(void)
{
	for (uint64_t i = 0; i < count; i++) {
		char *p = alloca(16 + i * 48 % 500);
		*p = 1;
		alloca_inner(1 + (unsigned)(i * 37 % 2000));
		sink += (unsigned)*p;
	}
}

/* A stack that the function realigns. */

SITE void align_inner(uint64_t i)
{
	char block[128] __attribute__((aligned(64)));

	memset(block, (int)i, sizeof(block));
	__asm__ volatile("" : : "r"(block) : "memory");
	nap_site(&t);
	sink += (unsigned)block[i & 127];
}

SITE void align_outer(void)
{
	/* called with the stack at each alignment */
	for (uint64_t i = 0; i < count; i++) {
		char *p = alloca(16 + i % 4 * 16);
		*p = 1;
		align_inner(i);
		sink += (unsigned)*p;
	}
}

/* Both at once, and arguments on the stack: the compiler keeps their place in another register. */

SITE void drap_inner(long a, long b, long c, long d, long e, long f, long g, long h)
{
	char block[64] __attribute__((aligned(64)));
	char *p = alloca((size_t)(g + 1));

	memset(block, (int)h, sizeof(block));
	memset(p, 1, (size_t)(g + 1));
	__asm__ volatile("" : : "r"(block), "r"(p) : "memory");
	nap_site(&t);
	sink += (unsigned)(a + b + c + d + e + f + g + h + block[h & 63] + *p);
}

SITE void drap_outer(void)
{
	for (uint64_t i = 0; i < count; i++)
		drap_inner(1, 2, 3, 4, 5, 6, (long)(i * 33 % 400), (long)i);
}

/* Deeper than any walk goes. */

SITE void descend(uint64_t depth)
{
	if (depth > 1)
		descend(depth - 1);
	else
		for (uint64_t i = 0; i < count; i++)
			nap_site(&t);
	sink++;
}

/* A handler that sleeps, in the middle of a function that makes no call at all. */

static volatile sig_atomic_t handled;

static void on_signal(int number)
{
	nap_site(&t);
	handled += number;
}

SITE void spin_site(void)
{
	sig_atomic_t before = handled;

	while (handled == before)
		sink++;
}

SITE void spin_outer(void)
{
	struct itimerval once = { .it_value.tv_usec = 3000 };

	for (uint64_t i = 0; i < count; i++) {
		setitimer(ITIMER_REAL, &once, NULL);
		spin_site();
	}
	sink++;
}

static void catch_alarm(int flags)
{
	struct sigaction act = { .sa_handler = on_signal, .sa_flags = flags };
	stack_t stack = { .ss_sp = malloc(65536), .ss_size = 65536 };

	if (sigaltstack(&stack, NULL) || sigaction(SIGALRM, &act, NULL))
		truth_die("sigaction", errno);
}

/* A handler that sleeps, in the middle of a system call. */

SITE void interrupted_site(void)
{
	struct itimerval once = { .it_value.tv_usec = 3000 };
	struct timespec ts = { .tv_sec = 100 };

	setitimer(ITIMER_REAL, &once, NULL);
	nanosleep(&ts, NULL);
	sink++;
}

SITE void interrupted_outer(void)
{
	for (uint64_t i = 0; i < count; i++)
		interrupted_site();
	sink++;
}

/* The parent stands still while its child runs on its stack. */

SITE void vfork_site(void)
{
	struct timespec ts = { .tv_nsec = (long)nap_us * 1000 };
	struct truth_bracket b;
	int status;

	truth_begin(&b);
	pid_t pid = vfork();
	if (!pid) {
		sys2(SYS_nanosleep, &ts, 0);
		_exit(0);
	}
	truth_end(&t, &b);
	waitpid(pid, &status, 0);
}

SITE void vfork_outer(void)
{
	for (uint64_t i = 0; i < count; i++)
		vfork_site();
	sink++;
}

/* Threads, each in another wrapper. */

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t never = PTHREAD_COND_INITIALIZER;
static int dry[2];
static bool for_ever;

static long wait_ms(void)
{
	return for_ever ? 1000000 : (long)nap_us / 1000;
}

SITE void cond_site(struct truth *to)
{
	struct timespec at;
	struct truth_bracket b;

	clock_gettime(CLOCK_REALTIME, &at);
	long ns = at.tv_nsec + wait_ms() % 1000 * 1000000;
	at.tv_sec += wait_ms() / 1000 + ns / 1000000000;
	at.tv_nsec = ns % 1000000000;
	pthread_mutex_lock(&mutex);
	truth_begin(&b);
	if (for_ever)
		pthread_cond_wait(&never, &mutex);
	else
		pthread_cond_timedwait(&never, &mutex, &at);
	truth_end(to, &b);
	pthread_mutex_unlock(&mutex);
}

SITE void poll_site(struct truth *to)
{
	struct pollfd fd = { .fd = dry[0], .events = POLLIN };
	struct truth_bracket b;

	truth_begin(&b);
	poll(&fd, 1, (int)wait_ms());
	truth_end(to, &b);
}

static void *feed(void *arg)
{
	struct timespec ts = { .tv_nsec = (long)nap_us * 1000 };

	for (uint64_t i = 0; i < count; i++) {
		nanosleep(&ts, NULL);
		if (write(*(int *)arg, "x", 1) != 1)
			truth_die("write", errno);
	}
	return NULL;
}

static int fed[2];

SITE void read_site(struct truth *to)
{
	struct truth_bracket b;
	char byte;

	truth_begin(&b);
	if (read(for_ever ? dry[0] : fed[0], &byte, 1) != 1)
		truth_die("read", errno);
	truth_end(to, &b);
}

static void (*const sites[])(struct truth *) = { cond_site, poll_site, read_site, nap_site };
static const char *const site_names[] = { "cond_site", "poll_site", "read_site", "nap_site" };
#define SITES (sizeof(sites) / sizeof(*sites))

SITE void thread_inner(unsigned which, struct truth *to)
{
	for (uint64_t i = 0; i < count; i++)
		sites[which](to);
	sink++;
}

static int tids[SITES];

SITE void *thread_main(void *arg)
{
	unsigned which = (unsigned)(uintptr_t)arg;
	struct truth own = { .kind = "unwind", .state = 'S', .chain = { "thread_main", "thread_inner", site_names[which] } };

	__atomic_store_n(&tids[which], truth_gettid(), __ATOMIC_RELEASE);
	if (for_ever)
		truth_write(&own);
	thread_inner(which, &own);
	if (!for_ever)
		truth_write(&own);
	return NULL;
}

static void start_threads(pthread_t *ret_threads)
{
	for (unsigned i = 0; i < SITES; i++)
		if (pthread_create(&ret_threads[i], NULL, thread_main, (void *)(uintptr_t)i))
			truth_die("pthread_create", errno);
}

static void run_wrappers(void)
{
	pthread_t threads[SITES], feeder;

	pthread_create(&feeder, NULL, feed, &fed[1]);
	start_threads(threads);
	for (unsigned i = 0; i < SITES; i++)
		pthread_join(threads[i], NULL);
	pthread_join(feeder, NULL);
}

/* Nothing of this program runs from "ready" to the end of stdin. */
static void sleep_for_ever(void)
{
	pthread_t threads[SITES];

	for_ever = true;
	nap_us = 1000000000;
	start_threads(threads);
	for (unsigned i = 0; i < SITES; i++)
		while (!__atomic_load_n(&tids[i], __ATOMIC_ACQUIRE))
			usleep(1000);
	usleep(20000);
	truth_ready(NULL, 0);
	truth_done();
	_exit(0);
}

static void expect(const char *const *chain)
{
	for (int i = 0; i < TRUTH_CHAIN && chain[i]; i++)
		t.chain[i] = chain[i];
}

#define EXPECT(...) expect((const char *const[]){ __VA_ARGS__, NULL })

int main(int argc, char **argv)
{
	const char *mode = truth_arg_string(argc, argv, 2);

	truth_open(truth_arg_string(argc, argv, 1));
	count = truth_arg(argc, argv, 3);
	nap_us = truth_arg(argc, argv, 4);
	if (pipe(dry) || pipe(fed))
		truth_die("pipe", errno);
	if (strcmp(mode, "forever") == 0)
		sleep_for_ever();
	truth_ready(NULL, 0);
	if (strcmp(mode, "chain") == 0) {
		EXPECT("main", "chain_outer", "chain_inner", "nap_site");
		run_chain();
	} else if (strcmp(mode, "alloca") == 0) {
		EXPECT("main", "alloca_outer", "alloca_inner", "nap_site");
		alloca_outer();
	} else if (strcmp(mode, "align") == 0) {
		EXPECT("main", "align_outer", "align_inner", "nap_site");
		align_outer();
	} else if (strcmp(mode, "drap") == 0) {
		EXPECT("main", "drap_outer", "drap_inner", "nap_site");
		drap_outer();
	} else if (strcmp(mode, "deep") == 0) {
		EXPECT("descend", "descend", "nap_site");
		descend(DEEP);
	} else if (strcmp(mode, "signal") == 0 || strcmp(mode, "altstack") == 0) {
		EXPECT("main", "spin_outer", "spin_site", "*", "on_signal", "nap_site");
		catch_alarm(*mode == 'a' ? SA_ONSTACK : 0);
		spin_outer();
	} else if (strcmp(mode, "interrupt") == 0) {
		EXPECT("main", "interrupted_outer", "interrupted_site", "*", "on_signal", "nap_site");
		catch_alarm(0);
		interrupted_outer();
	} else if (strcmp(mode, "vfork") == 0) {
		t.state = 'D';
		EXPECT("main", "vfork_outer", "vfork_site");
		vfork_outer();
	} else if (strcmp(mode, "wrappers") == 0) {
		run_wrappers();
	} else {
		fprintf(stderr, "%s: no mode '%s'\n", argv[0], mode);
		return 2;
	}
	if (t.chain[0])
		truth_write(&t);
	truth_done();
	return 0;
}
