/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * unwind_inline OUT COUNT NAP_US: naps COUNT times in each of two calls of a function that is
 * inlined, with the two around it.  The marks behind "at:" tell the test the lines.
 */
#include "truth.h"

#include <time.h>

#define INLINED static inline __attribute__((always_inline))

INLINED void innermost(struct truth *t, uint64_t nap_us)
{
	struct timespec nap = { 0, (long)nap_us * 1000 };
	struct truth_bracket b;

	truth_begin(&b);
	nanosleep(&nap, NULL);	/* at: innermost */
	truth_end(t, &b);
}

INLINED void middle(struct truth *t, uint64_t nap_us)
{
	innermost(t, nap_us);	/* at: middle */
}

INLINED void outer(struct truth *t, uint64_t nap_us)
{
	middle(t, nap_us);	/* at: outer */
}

SITE void container(struct truth *t, uint64_t count, uint64_t nap_us)
{
	for (uint64_t i = 0; i < count; i++) {
		outer(t, nap_us);	/* at: first call */
		outer(t, nap_us);	/* at: second call */
	}
}

int main(int argc, char **argv)
{
	struct truth t = { .kind = "inline", .state = 'S', .chain = { "main", "container" } };
	uint64_t count, nap_us;

	truth_open(truth_arg_string(argc, argv, 1));
	count = truth_arg(argc, argv, 2);
	nap_us = truth_arg(argc, argv, 3);
	truth_ready(NULL, 0);
	container(&t, count, nap_us);
	truth_write(&t);
	truth_done();
	return 0;
}
