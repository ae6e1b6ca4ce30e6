/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* unwind_storm OUT CHILDREN AT_ONCE MS: forks CHILDREN, never more than AT_ONCE alive; each sleeps for MS. */
#include "truth.h"

#include <errno.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static volatile unsigned sink;

SITE void child_site(uint64_t ms)
{
	struct timespec ts = { .tv_sec = (time_t)(ms / 1000), .tv_nsec = (long)(ms % 1000) * 1000000 };

	nanosleep(&ts, NULL);
	sink++;
}

SITE void child_life(uint64_t ms)
{
	child_site(ms);
	truth_printf("{\"kind\":\"child\",\"pid\":%d,\"tid\":%d,\"state\":\"S\","
		     "\"chain\":[\"main\",\"storm_run\",\"child_life\",\"child_site\"]}\n",
		     (int)getpid(), (int)getpid());
	_exit(0);
}

SITE void storm_run(uint64_t children, uint64_t at_once, uint64_t ms)
{
	for (uint64_t begun = 0, alive = 0; begun < children || alive;) {
		if (begun < children && alive < at_once) {
			pid_t pid = fork();
			if (pid < 0)
				truth_die("fork", errno);
			if (!pid)
				child_life(ms);
			begun++;
			alive++;
		} else if (wait(NULL) > 0) {
			alive--;
		}
	}
}

int main(int argc, char **argv)
{
	truth_open(truth_arg_string(argc, argv, 1));
	truth_ready(NULL, 0);
	storm_run(truth_arg(argc, argv, 2), truth_arg(argc, argv, 3), truth_arg(argc, argv, 4));
	truth_done();
	return 0;
}
