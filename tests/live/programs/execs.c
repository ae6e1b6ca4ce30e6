/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* execs OUT US: becomes itself again after each sleep of US, until stdin is closed. */
#include "truth.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	struct pollfd input = { .fd = STDIN_FILENO, .events = POLLIN };
	struct timespec ts = { .tv_nsec = (long)truth_arg(argc, argv, 2) * 1000 };

	if (!getenv("EXECS_READY")) {
		setenv("EXECS_READY", "1", 1);
		truth_open(argv[1]);
		truth_ready(NULL, 0);
		if (write(STDOUT_FILENO, "done\n", 5) != 5)
			truth_die("write", errno);
	}
	sys2(SYS_nanosleep, &ts, 0);
	if (poll(&input, 1, 0) > 0)
		return 0;
	execv("/proc/self/exe", argv);
	truth_die("execv", errno);
}
