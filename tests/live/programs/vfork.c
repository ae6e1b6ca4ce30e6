/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* vfork OUT exit|exec COUNT US: a parent held back until its child has gone its way after US microseconds. */
#include "truth.h"

#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>

static struct truth t = { .kind = "vfork", .state = 'D', .chain = { "main", "vfork_run", "vfork_site" } };
static struct timespec nap;
static const char *const true_path = "/bin/true";
static const char *const true_argv[] = { "true", NULL };

/*
 * The child runs in this very frame and the parent's memory; it only makes system calls.
 * libc's vfork() has no frame of its own and would hide this one.
 */
SITE int vfork_site(bool to_exec)
{
	struct truth_bracket b;
	long pid;

	truth_begin(&b);
	pid = sys6(SYS_clone, CLONE_VM | CLONE_VFORK | SIGCHLD, 0, 0, 0, 0, 0);
	if (!pid) {
		sys2(SYS_nanosleep, &nap, 0);
		if (to_exec)
			sys3(SYS_execve, true_path, true_argv, 0);
		for (;;)
			sys1(SYS_exit, 0);
	}
	truth_end(&t, &b);
	return (int)pid;
}

SITE void vfork_run(bool to_exec, uint64_t count)
{
	for (uint64_t i = 0; i < count; i++) {
		int pid = vfork_site(to_exec);

		if (pid < 0)
			truth_die("clone", pid);
		waitpid(pid, NULL, 0);
	}
}

int main(int argc, char **argv)
{
	bool to_exec = strcmp(truth_arg_string(argc, argv, 2), "exec") == 0;

	truth_open(truth_arg_string(argc, argv, 1));
	nap.tv_nsec = (long)truth_arg(argc, argv, 4) * 1000;
	truth_ready(NULL, 0);
	vfork_run(to_exec, truth_arg(argc, argv, 3));
	truth_write(&t);
	truth_done();
	return 0;
}
