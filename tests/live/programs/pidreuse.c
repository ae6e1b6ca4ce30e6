/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* pidreuse OUT US: a child that sleeps and dies, then another one with the same process id that sleeps elsewhere. */
#include "truth.h"

#include <errno.h>
#include <linux/sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static uint64_t nap_us;

SITE void old_site(void)
{
	struct truth t = { .kind = "old", .state = 'S', .chain = { "main", "old_site" } };
	struct timespec ts = { .tv_nsec = (long)nap_us * 1000 };
	struct truth_bracket b;

	truth_begin(&b);
	sys2(SYS_nanosleep, &ts, 0);
	truth_end(&t, &b);
	truth_write(&t);
}

SITE void new_site(void)
{
	struct truth t = { .kind = "new", .state = 'S', .chain = { "main", "new_site" } };
	struct timespec ts = { .tv_nsec = (long)nap_us * 3000 };
	struct truth_bracket b;

	truth_begin(&b);
	sys2(SYS_nanosleep, &ts, 0);
	truth_end(&t, &b);
	truth_write(&t);
}

int main(int argc, char **argv)
{
	int pid;

	truth_open(truth_arg_string(argc, argv, 1));
	nap_us = truth_arg(argc, argv, 2);
	truth_ready(NULL, 0);
	pid = fork();
	if (!pid) {
		prctl(PR_SET_NAME, "reuse-old");
		old_site();
		_exit(0);
	}
	waitpid(pid, NULL, 0);

	struct clone_args args = { .exit_signal = SIGCHLD, .set_tid = (uintptr_t)&pid, .set_tid_size = 1 };
	long child = sys2(SYS_clone3, &args, sizeof(args));
	if (!child) {
		prctl(PR_SET_NAME, "reuse-new");
		new_site();
		_exit(0);
	}
	if (child < 0)
		truth_printf("{\"kind\":\"refused\",\"errno\":%ld}\n", -child);
	else
		waitpid((int)child, NULL, 0);
	truth_done();
	return 0;
}
