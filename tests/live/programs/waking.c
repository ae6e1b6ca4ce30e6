/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * waking OUT pipeline pipe|unix|tcp ROUNDS | calls pipe|unix|tcp ROUNDS | broadcast THREADS ROUNDS | convoy THREADS ROUNDS | signal ROUNDS |
 * child ROUNDS: sleeps whose wakers are known, each with the program's own readings around it (events.h).
 */
#include "truth.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "events.h"

#define STAGES 4
#define THREADS_MAX 256

static uint64_t rounds, threads_cnt;
static struct event_log *logs[THREADS_MAX + 1];	/* the last one is the first thread's */
static int links[2 * STAGES][2];
static int word;	/* a futex */
static uint64_t slept_cnt;
static bool has_begun; /* the broadcasts */

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

/* The timer is due at a known time, with no slack (see main). */
SITE void nap_site(struct event_log *log, uint64_t us)
{
	uint64_t due = truth_now_ns() + us * 1000;
	struct timespec ts = { (time_t)(due / 1000000000), (long)(due % 1000000000) };
	struct event *e = event_begin(log, EVENT_NAP, 0);

	sys4(SYS_clock_nanosleep, CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, NULL);
	event_end(log, e, due);
}

SITE void take_site(struct event_log *log, uint64_t n, uint64_t round)
{
	struct event *e = event_begin(log, EVENT_SLEEP, n);
	char byte;

	sys3(SYS_read, links[n][0], &byte, 1);
	event_end(log, e, round);
}

SITE void pass_site(struct event_log *log, uint64_t n, uint64_t round)
{
	struct event *e = event_begin(log, EVENT_WAKE, n);

	sys3(SYS_write, links[n][1], "x", 1);
	event_end(log, e, round);
}

/* Stage 0 sleeps 60 ms and works 3; each other one reads, works 5 ms or 8, and writes on. */
static const uint64_t work_us[STAGES] = { 3000, 5000, 8000, 200 };

SITE void *stage_main(void *arg)
{
	uint64_t n = (uint64_t)arg;
	struct event_log *log = logs[n];
	char name[] = "stageA";

	name[5] = (char)('A' + n);
	prctl(PR_SET_NAME, name);
	events_mine(log);
	truth_gate_wait();
	for (uint64_t i = 0; i < rounds; i++) {
		if (n)
			take_site(log, n - 1, i);
		else
			nap_site(log, 60000);
		burn_us(work_us[n]);
		if (n < STAGES - 1)
			pass_site(log, n, i);
	}
	events_write(log, name, "take_site", "nap_site", "pass_site");
	return NULL;
}

/*
 * Stage 0 asks stage 1 and waits for the answer; each other one sleeps, asks the next one, and sleeps twice before it
 * answers.  So of what a stage waits most lies before the last sleep of who answers it.
 */
static const uint64_t call_nap_us[STAGES] = { 0, 7000, 20000, 13000 };

SITE void *call_main(void *arg)
{
	uint64_t n = (uint64_t)arg, answer = STAGES + n;
	struct event_log *log = logs[n];
	char name[] = "hopA";

	name[3] = (char)('A' + n);
	prctl(PR_SET_NAME, name);
	events_mine(log);
	truth_gate_wait();
	for (uint64_t i = 0; i < rounds; i++) {
		if (n) {
			take_site(log, n - 1, i);
			nap_site(log, call_nap_us[n]);
		}
		burn_us(300);
		if (n < STAGES - 1) {
			pass_site(log, n, i);
			take_site(log, answer + 1, i);
		}
		for (int k = 0; n && k < 2; k++) {
			burn_us(300);
			nap_site(log, call_nap_us[n]);
		}
		if (n)
			pass_site(log, answer, i);
	}
	events_write(log, name, "take_site", n ? "nap_site" : NULL, "pass_site");
	return NULL;
}

static void make_links(const char *kind)
{
	for (int i = 0; i < 2 * STAGES; i++) {
		if (strcmp(kind, "tcp") == 0)
			truth_tcp_pair(links[i]);
		else if (strcmp(kind, "unix") == 0 ? socketpair(AF_UNIX, SOCK_STREAM, 0, links[i]) : pipe(links[i]))
			truth_die(kind, errno);
	}
}

SITE void wait_site(struct event_log *log, uint64_t round)
{
	struct event *e = event_begin(log, EVENT_SLEEP, 0);

	__atomic_fetch_add(&slept_cnt, 1, __ATOMIC_SEQ_CST);
	sys4(SYS_futex, &word, FUTEX_WAIT_PRIVATE, round, NULL);
	event_end(log, e, round);
}

SITE void *broadcast_main(void *arg)
{
	struct event_log *log = logs[(uint64_t)arg];

	prctl(PR_SET_NAME, "herd");
	events_mine(log);
	truth_gate_wait();
	while (!__atomic_load_n(&has_begun, __ATOMIC_SEQ_CST))
		sys0(SYS_sched_yield);
	for (uint64_t i = 0; i < rounds; i++) {
		wait_site(log, i);
		while (__atomic_load_n(&word, __ATOMIC_SEQ_CST) == (int)i)
			sys0(SYS_sched_yield);
	}
	events_write(log, "herd", "wait_site", NULL, NULL);
	return arg;
}

SITE void broadcast_site(struct event_log *log, uint64_t round)
{
	struct event *e = event_begin(log, EVENT_WAKE, 0);

	__atomic_store_n(&word, (int)round + 1, __ATOMIC_SEQ_CST);
	sys3(SYS_futex, &word, FUTEX_WAKE_PRIVATE, INT_MAX);
	event_end(log, e, round);
}

static void broadcast(struct event_log *log)
{
	nap_site(log, 1000); /* what it did before its first event nobody knows */
	__atomic_store_n(&has_begun, true, __ATOMIC_SEQ_CST);
	for (uint64_t i = 0; i < rounds; i++) {
		/* awake: who fell asleep as a nap ended could not be told from who did before */
		while (__atomic_load_n(&slept_cnt, __ATOMIC_SEQ_CST) < (i + 1) * threads_cnt)
			sys0(SYS_sched_yield);
		nap_site(log, 20000);
		burn_us(500);
		broadcast_site(log, i);
	}
	events_write(log, "waking", NULL, "nap_site", "broadcast_site");
}

/* A lock that the kernel hands from thread to thread, each time to whom it wakes. */
static uint64_t turns;	/* guarded by it */

SITE void lock_site(struct event_log *log)
{
	struct event *e = event_begin(log, EVENT_SLEEP, 0);
	int nobody = 0;

	if (!__atomic_compare_exchange_n(&word, &nobody, log->tid, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
		sys4(SYS_futex, &word, FUTEX_LOCK_PI_PRIVATE, 0, NULL);
	event_end(log, e, turns);
}

SITE void unlock_site(struct event_log *log)
{
	int me = log->tid;
	uint64_t next = ++turns;
	struct event *e = event_begin(log, EVENT_WAKE, 0);

	if (!__atomic_compare_exchange_n(&word, &me, 0, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
		sys2(SYS_futex, &word, FUTEX_UNLOCK_PI_PRIVATE);
	event_end(log, e, next);
}

SITE void *convoy_main(void *arg)
{
	struct event_log *log = logs[(uint64_t)arg];

	prctl(PR_SET_NAME, "convoy");
	events_mine(log);
	truth_gate_wait();
	for (uint64_t i = 0; i < rounds; i++) {
		lock_site(log);
		burn_us(2000);
		unlock_site(log);
	}
	events_write(log, "convoy", "lock_site", NULL, "unlock_site");
	return arg;
}

static void ignore(int sig)
{
	(void)sig;
}

SITE void suspend_site(struct event_log *log, const sigset_t *set, uint64_t round)
{
	struct event *e = event_begin(log, EVENT_SLEEP, 0);

	sys2(SYS_rt_sigsuspend, set, 8);
	event_end(log, e, round);
}

SITE void *signal_main(void *arg)
{
	struct event_log *log = logs[(uint64_t)arg];
	sigset_t none;

	sigemptyset(&none);
	prctl(PR_SET_NAME, "signalled");
	events_mine(log);
	truth_gate_wait();
	__atomic_store_n(&word, truth_gettid(), __ATOMIC_SEQ_CST);
	for (uint64_t i = 0; i < rounds; i++) {
		suspend_site(log, &none, i);
		__atomic_store_n(&slept_cnt, i + 1, __ATOMIC_SEQ_CST);
	}
	events_write(log, "signalled", "suspend_site", NULL, NULL);
	return arg;
}

SITE void kill_site(struct event_log *log, uint64_t round)
{
	struct event *e = event_begin(log, EVENT_WAKE, 0);

	sys3(SYS_tgkill, getpid(), word, SIGUSR1);
	event_end(log, e, round);
}

static void send_signals(struct event_log *log)
{
	nap_site(log, 1000);
	while (!__atomic_load_n(&word, __ATOMIC_SEQ_CST))
		sys0(SYS_sched_yield);
	for (uint64_t i = 0; i < rounds; i++) {
		/* two signals would be one */
		while (__atomic_load_n(&slept_cnt, __ATOMIC_SEQ_CST) < i)
			sys0(SYS_sched_yield);
		nap_site(log, 5000);
		burn_us(300);
		kill_site(log, i);
	}
	events_write(log, "waking", NULL, "nap_site", "kill_site");
}

SITE void child_site(struct event_log *log, int pid)
{
	struct event *e = event_begin(log, EVENT_SLEEP, 0);

	sys4(SYS_wait4, pid, NULL, 0, NULL);
	event_end(log, e, (uint64_t)pid);
}

/*
 * Its waking of the parent ends with the parent's sleep: nobody is there to say more.  Its memory is gone by then, so
 * it has no user stack.
 */
SITE void exit_site(struct event_log *log)
{
	struct event *e = event_begin(log, EVENT_WAKE, 0);

	event_end(log, e, (uint64_t)log->tid);
	e->after.wall_ns = UINT64_MAX;
	sys1(SYS_exit_group, 0);
}

SITE void child_main(struct event_log *log)
{
	for (uint64_t i = 0; i < rounds; i++) {
		struct event_log *of_child = events_new(8);
		int pid = fork();

		if (!pid) {
			events_mine(of_child);
			nap_site(of_child, 4000);
			burn_us(1000);
			exit_site(of_child);
		}
		child_site(log, pid);
		events_write(of_child, "waking", NULL, "nap_site", NULL);
	}
	events_write(log, "waking", "child_site", NULL, NULL);
}

static void start(pthread_t *ret, uint64_t cnt, void *(*main)(void *))
{
	for (uint64_t i = 0; i < cnt; i++) {
		logs[i] = events_new(rounds * 8 + 8);
		if (pthread_create(&ret[i], NULL, main, (void *)i))
			truth_die("pthread_create", 0);
	}
}

static void block_signal(void)
{
	sigset_t set;

	signal(SIGUSR1, ignore);
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
}

static uint64_t threads_arg(int argc, char **argv)
{
	uint64_t cnt = truth_arg(argc, argv, 3);

	if (cnt > THREADS_MAX)
		truth_die("too many threads", EINVAL);
	return cnt;
}

/* What the main thread itself does. */
typedef void (*main_fn)(struct event_log *log);

int main(int argc, char **argv)
{
	pthread_t threads[THREADS_MAX] = { 0 };
	const char *what = truth_arg_string(argc, argv, 2);
	main_fn in_main = NULL;
	struct event_log *log;

	truth_open(truth_arg_string(argc, argv, 1));
	rounds = truth_arg(argc, argv, argc - 1);
	prctl(PR_SET_TIMERSLACK, 1);
	log = logs[THREADS_MAX] = events_new(rounds * 100 + 10000);
	events_mine(log);
	if (strcmp(what, "pipeline") == 0) {
		make_links(truth_arg_string(argc, argv, 3));
		start(threads, threads_cnt = STAGES, stage_main);
	} else if (strcmp(what, "calls") == 0) {
		make_links(truth_arg_string(argc, argv, 3));
		start(threads, threads_cnt = STAGES, call_main);
	} else if (strcmp(what, "broadcast") == 0) {
		start(threads, threads_cnt = threads_arg(argc, argv), broadcast_main);
		in_main = broadcast;
	} else if (strcmp(what, "convoy") == 0) {
		start(threads, threads_cnt = threads_arg(argc, argv), convoy_main);
	} else if (strcmp(what, "signal") == 0) {
		block_signal();
		start(threads, threads_cnt = 1, signal_main);
		in_main = send_signals;
	} else {
		in_main = child_main;
	}
	truth_ready(NULL, 0);
	truth_gate_open();
	if (in_main)
		in_main(log);
	for (uint64_t i = 0; i < threads_cnt; i++)
		pthread_join(threads[i], NULL);
	truth_done();
	return 0;
}
