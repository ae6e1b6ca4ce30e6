/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* deep OUT DEPTH COUNT US: sleeps below DEPTH frames of one recursive function. */
#include "truth.h"

#include <time.h>

static struct truth t = { .kind = "deep", .state = 'S', .chain = { "descend", "descend", "bottom_site" } };
static uint64_t count, nap_us;

SITE void bottom_site(void)
{
	struct timespec ts = { .tv_nsec = (long)nap_us * 1000 };
	struct truth_bracket b;

	truth_begin(&b);
	sys2(SYS_nanosleep, &ts, 0);
	truth_end(&t, &b);
}

SITE void descend(uint64_t depth)
{
	if (depth > 1) {
		descend(depth - 1);
		return;
	}
	for (uint64_t i = 0; i < count; i++)
		bottom_site();
}

int main(int argc, char **argv)
{
	truth_open(truth_arg_string(argc, argv, 1));
	count = truth_arg(argc, argv, 3);
	nap_us = truth_arg(argc, argv, 4);
	truth_ready(NULL, 0);
	descend(truth_arg(argc, argv, 2));
	truth_write(&t);
	truth_done();
	return 0;
}
