/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* exec_after OUT COUNT US: what the program `exec` becomes. */
#include "truth.h"

#include <time.h>

static struct truth t = { .kind = "after", .state = 'S', .chain = { "main", "after_run", "after_site" } };

SITE void after_site(uint64_t us)
{
	struct timespec ts = { .tv_nsec = (long)us * 1000 };
	struct truth_bracket b;

	truth_begin(&b);
	sys2(SYS_nanosleep, &ts, 0);
	truth_end(&t, &b);
}

SITE void after_run(uint64_t count, uint64_t us)
{
	for (uint64_t i = 0; i < count; i++)
		after_site(us);
}

int main(int argc, char **argv)
{
	truth_open(truth_arg_string(argc, argv, 1));
	after_run(truth_arg(argc, argv, 2), truth_arg(argc, argv, 3));
	truth_write(&t);
	truth_done();
	return 0;
}
