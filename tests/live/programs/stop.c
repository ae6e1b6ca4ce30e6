/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * stop OUT self|parent|ptrace COUNT US: a child stopped for known times; it stops itself at a
 * known place, or is stopped by the parent while it spins, or stops under ptrace.
 */
#include "truth.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static uint64_t count, pause_us;

SITE void stop_site(struct truth *t, int sig)
{
	long pid = sys0(SYS_getpid);
	struct truth_bracket b;

	truth_begin(&b);
	sys2(SYS_kill, pid, sig);
	truth_end(t, &b);
}

SITE void stop_run(char state, int sig)
{
	struct truth t = { .kind = "stop", .state = state, .chain = { "main", "stop_run", "stop_site" } };

	for (uint64_t i = 0; i < count; i++)
		stop_site(&t, sig);
	truth_write(&t);
}

/* The clock is read by a system call here: the vdso would hide this function from a frame-pointer walk. */
SITE void spin_site(struct truth *t)
{
	struct timespec ts;
	uint64_t last_ns = 0;

	while (t->calls < count) {
		sys2(SYS_clock_gettime, CLOCK_MONOTONIC, &ts);
		uint64_t now_ns = (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
		uint64_t gap_ns = last_ns ? now_ns - last_ns : 0;

		last_ns = now_ns;
		if (gap_ns < pause_us * 500)
			continue;
		t->waits_ns[t->calls++] = gap_ns;
		t->wall_ns += gap_ns;
		t->max_ns = gap_ns > t->max_ns ? gap_ns : t->max_ns;
		t->slept++;
	}
}

SITE void spin_run(void)
{
	struct truth t = { .kind = "stop", .state = 'T', .chain = { "main", "spin_run", "spin_site" } };

	spin_site(&t);
	truth_write(&t);
}

static void sleep_us(uint64_t us)
{
	struct timespec ts = { .tv_sec = (time_t)(us / 1000000), .tv_nsec = (long)(us % 1000000) * 1000 };

	nanosleep(&ts, NULL);
}

static void drive(int child, const char *mode)
{
	for (uint64_t i = 0; i < count; i++) {
		if (strcmp(mode, "parent") == 0) {
			sleep_us(2000);
			kill(child, SIGSTOP);
		}
		if (waitpid(child, NULL, WUNTRACED) != child)
			truth_die("waitpid", errno);
		sleep_us(pause_us);
		if (strcmp(mode, "ptrace") == 0)
			ptrace(PTRACE_CONT, child, 0, 0);
		else
			kill(child, SIGCONT);
	}
}

int main(int argc, char **argv)
{
	const char *mode = truth_arg_string(argc, argv, 2);
	int pids[2] = { getpid() };

	truth_open(truth_arg_string(argc, argv, 1));
	count = truth_arg(argc, argv, 3);
	pause_us = truth_arg(argc, argv, 4);
	pids[1] = fork();
	if (!pids[1]) {
		if (strcmp(mode, "ptrace") == 0)
			ptrace(PTRACE_TRACEME, 0, 0, 0);
		truth_gate_wait();
		if (strcmp(mode, "parent") == 0)
			spin_run();
		else
			stop_run(strcmp(mode, "ptrace") == 0 ? 't' : 'T', strcmp(mode, "ptrace") == 0 ? SIGUSR1 : SIGSTOP);
		_exit(0);
	}
	truth_ready(pids, 2);
	truth_gate_open();
	drive(pids[1], mode);
	waitpid(pids[1], NULL, 0);
	truth_done();
	return 0;
}
