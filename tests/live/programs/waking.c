/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * waking OUT pipeline ROUNDS | broadcast THREADS ROUNDS | convoy THREADS ROUNDS | signal ROUNDS | child ROUNDS:
 * sleeps whose wakers are known, and what these did meanwhile.
 */
#include "truth.h"

#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define STAGES 4
#define THREADS_MAX 256

static uint64_t rounds, threads_cnt;
static int pipes[STAGES][2];
static int word;		/* a futex */
static int slept_cnt;

static uint64_t cpu_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

static void burn_us(uint64_t us)
{
	uint64_t until = cpu_ns() + us * 1000;

	while (cpu_ns() < until)
		;
}

static void sleep_us(uint64_t us)
{
	struct timespec ts = { (time_t)(us / 1000000), (long)(us % 1000000) * 1000 };

	sys4(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &ts, NULL);
}

/* Stage 0 sleeps 60 ms and works 3; each other one reads, works 5 ms or 8, and writes on. */
static const uint64_t work_us[STAGES] = { 3000, 5000, 8000, 200 };

static void *stage(void *arg)
{
	long n = (long)arg;
	char name[] = "stageA", byte;
	uint64_t busy_ns = 0, busy_cpu_ns = 0;

	name[5] = (char)('A' + n);
	prctl(PR_SET_NAME, name);
	truth_gate_wait();
	for (uint64_t i = 0; i < rounds; i++) {
		if (n)
			sys3(SYS_read, pipes[n - 1][0], &byte, 1);
		else
			sleep_us(60000);
		uint64_t begin_ns = truth_now_ns(), begin_cpu_ns = cpu_ns();

		burn_us(work_us[n]);
		busy_cpu_ns += cpu_ns() - begin_cpu_ns;
		busy_ns += truth_now_ns() - begin_ns;
		if (n < STAGES - 1)
			sys3(SYS_write, pipes[n][1], "x", 1);
	}
	truth_printf("{\"kind\":\"stage\",\"comm\":\"%s\",\"tid\":%d,\"busy_ns\":%lu,\"cpu_ns\":%lu}\n", name,
		     truth_gettid(), busy_ns, busy_cpu_ns);
	return NULL;
}

SITE void broadcast_wait(struct truth *t, int seen)
{
	struct truth_bracket b;

	truth_begin(&b);
	__atomic_fetch_add(&slept_cnt, 1, __ATOMIC_SEQ_CST);
	sys4(SYS_futex, &word, 128 /* FUTEX_WAIT_PRIVATE */, seen, NULL);
	truth_end(t, &b);
}

SITE void *broadcast_main(void *arg)
{
	struct truth t = { .kind = "broadcast", .state = 'S', .chain = { "broadcast_main", "broadcast_wait" } };

	prctl(PR_SET_NAME, "herd");
	truth_gate_wait();
	for (uint64_t i = 0; i < rounds; i++) {
		broadcast_wait(&t, (int)i);
		while (__atomic_load_n(&word, __ATOMIC_SEQ_CST) == (int)i)
			sys0(SYS_sched_yield);
	}
	truth_write(&t);
	return arg;
}

static void broadcast(void)
{
	for (uint64_t i = 1; i <= rounds; i++) {
		while (__atomic_load_n(&slept_cnt, __ATOMIC_SEQ_CST) < (int)(i * threads_cnt))
			sleep_us(1000);
		sleep_us(20000);
		__atomic_store_n(&word, (int)i, __ATOMIC_SEQ_CST);
		sys3(SYS_futex, &word, 129 /* FUTEX_WAKE_PRIVATE */, INT_MAX);
	}
	truth_printf("{\"kind\":\"waker\",\"tid\":%d}\n", truth_gettid());
}

/* A lock that the kernel hands from thread to thread: who held it last is who wakes. */
static pthread_mutex_t lock;
static int last_tid;

static void *convoy_main(void *arg)
{
	static struct {
		int holder;
		uint64_t wall_ns;
	} from[THREADS_MAX][THREADS_MAX];
	uint64_t me = (uint64_t)arg, cnt = 0;

	prctl(PR_SET_NAME, "convoy");
	truth_gate_wait();
	for (uint64_t i = 0; i < rounds; i++) {
		uint64_t begin_ns = truth_now_ns(), wall_ns, k = 0;

		pthread_mutex_lock(&lock);
		wall_ns = truth_now_ns() - begin_ns;
		while (k < cnt && from[me][k].holder != last_tid)
			k++;
		if (k == cnt && cnt < THREADS_MAX)
			from[me][cnt++].holder = last_tid;
		if (last_tid != truth_gettid() && wall_ns > 100000)
			from[me][k].wall_ns += wall_ns;
		last_tid = truth_gettid();
		burn_us(2000);
		pthread_mutex_unlock(&lock);
	}
	for (uint64_t k = 0; k < cnt; k++)
		truth_printf("{\"kind\":\"convoy\",\"tid\":%d,\"holder\":%d,\"wall_ns\":%lu}\n", truth_gettid(), from[me][k].holder,
			     from[me][k].wall_ns);
	return NULL;
}

static void ignore(int sig)
{
	(void)sig;
}

SITE void signal_wait(struct truth *t, const sigset_t *set)
{
	struct truth_bracket b;

	truth_begin(&b);
	sys2(SYS_rt_sigsuspend, set, 8);
	truth_end(t, &b);
}

SITE void *signal_main(void *arg)
{
	struct truth t = { .kind = "signal", .state = 'S', .chain = { "signal_main", "signal_wait" } };
	sigset_t none;

	sigemptyset(&none);
	truth_gate_wait();
	__atomic_store_n(&word, truth_gettid(), __ATOMIC_SEQ_CST);
	for (uint64_t i = 0; i < rounds; i++)
		signal_wait(&t, &none);
	truth_write(&t);
	return arg;
}

static void send_signals(void)
{
	while (!__atomic_load_n(&word, __ATOMIC_SEQ_CST))
		sleep_us(1000);
	for (uint64_t i = 0; i < rounds; i++) {
		sleep_us(5000);
		sys3(SYS_tgkill, getpid(), word, SIGUSR1);
	}
	truth_printf("{\"kind\":\"waker\",\"tid\":%d}\n", truth_gettid());
}

SITE void child_wait(struct truth *t, int pid)
{
	struct truth_bracket b;

	truth_begin(&b);
	sys4(SYS_wait4, pid, NULL, 0, NULL);
	truth_end(t, &b);
}

SITE void child_main(void)
{
	struct truth t = { .kind = "child", .state = 'S', .chain = { "child_main", "child_wait" } };

	for (uint64_t i = 0; i < rounds; i++) {
		int pid = fork();

		if (!pid) {
			sleep_us(4000);
			burn_us(1000);
			_exit(0);
		}
		truth_printf("{\"kind\":\"waker\",\"tid\":%d}\n", pid);
		child_wait(&t, pid);
	}
	truth_write(&t);
}

static void start(pthread_t *ret, uint64_t cnt, void *(*main)(void *))
{
	for (uint64_t i = 0; i < cnt; i++)
		if (pthread_create(&ret[i], NULL, main, (void *)i))
			truth_die("pthread_create", 0);
}

static void make_lock(void)
{
	pthread_mutexattr_t attr;

	pthread_mutexattr_init(&attr);
	pthread_mutexattr_setprotocol(&attr, PTHREAD_PRIO_INHERIT);
	pthread_mutex_init(&lock, &attr);
}

int main(int argc, char **argv)
{
	pthread_t threads[THREADS_MAX];
	const char *what = argv[2];
	void (*in_main)(void) = NULL;

	truth_open(truth_arg_string(argc, argv, 1));
	rounds = truth_arg(argc, argv, argc - 1);
	if (strcmp(what, "pipeline") == 0) {
		threads_cnt = STAGES;
		for (int i = 0; i < STAGES; i++)
			if (pipe(pipes[i]))
				truth_die("pipe", 0);
		start(threads, threads_cnt, stage);
	} else if (strcmp(what, "broadcast") == 0) {
		threads_cnt = truth_arg(argc, argv, 3);
		start(threads, threads_cnt, broadcast_main);
		in_main = broadcast;
	} else if (strcmp(what, "convoy") == 0) {
		threads_cnt = truth_arg(argc, argv, 3);
		make_lock();
		start(threads, threads_cnt, convoy_main);
	} else if (strcmp(what, "signal") == 0) {
		sigset_t set;

		threads_cnt = 1;
		signal(SIGUSR1, ignore);
		sigemptyset(&set);
		sigaddset(&set, SIGUSR1);
		pthread_sigmask(SIG_BLOCK, &set, NULL);
		start(threads, threads_cnt, signal_main);
		in_main = send_signals;
	} else {
		in_main = child_main;
	}
	truth_ready(NULL, 0);
	truth_gate_open();
	if (in_main)
		in_main();
	for (uint64_t i = 0; i < threads_cnt; i++)
		pthread_join(threads[i], NULL);
	truth_done();
	return 0;
}
