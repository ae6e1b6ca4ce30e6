/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* nanosleep OUT COUNT US [US2 [COMM]]: sleeps until absolute times; with US2, at another place every second time. */
#include "truth.h"

#include <sys/prctl.h>
#include <time.h>

static struct truth first = { .kind = "nanosleep", .state = 'S', .chain = { "main", "sleep_run", "sleep_first" } };
static struct truth second = { .kind = "nanosleep2", .state = 'S', .chain = { "main", "sleep_run", "sleep_second" } };

static struct timespec later(uint64_t us)
{
	uint64_t ns = truth_now_ns() + us * 1000;

	return (struct timespec){ .tv_sec = (time_t)(ns / 1000000000), .tv_nsec = (long)(ns % 1000000000) };
}

SITE void sleep_first(uint64_t us)
{
	struct timespec until = later(us);
	struct truth_bracket b;

	truth_begin(&b);
	sys4(SYS_clock_nanosleep, CLOCK_MONOTONIC, TIMER_ABSTIME, &until, 0);
	truth_end(&first, &b);
}

SITE void sleep_second(uint64_t us)
{
	struct timespec until = later(us);
	struct truth_bracket b;

	truth_begin(&b);
	sys4(SYS_clock_nanosleep, CLOCK_MONOTONIC, TIMER_ABSTIME, &until, 0);
	truth_end(&second, &b);
}

SITE void sleep_run(uint64_t count, uint64_t us, uint64_t us2)
{
	for (uint64_t i = 0; i < count; i++) {
		sleep_first(us);
		if (us2)
			sleep_second(us2);
	}
}

int main(int argc, char **argv)
{
	uint64_t us2 = argc > 4 ? truth_arg(argc, argv, 4) : 0;

	truth_open(truth_arg_string(argc, argv, 1));
	if (argc > 5)
		prctl(PR_SET_NAME, argv[5]);
	truth_ready(NULL, 0);
	sleep_run(truth_arg(argc, argv, 2), truth_arg(argc, argv, 3), us2);
	truth_write(&first);
	if (us2)
		truth_write(&second);
	truth_done();
	return 0;
}
