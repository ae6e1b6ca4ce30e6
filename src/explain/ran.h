/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef EXPLAIN_RAN_H
#define EXPLAIN_RAN_H

#include "explain/findings.h"

/*
 * Who ran while threads waited for CPUs of which they may not use all: another program, in a recording of the whole
 * machine.  Which CPU somebody ran on is only known where that may use no other, too.
 */
struct ran {
	const char *program; /* NULL: nobody ran for a quarter of the window and more */
	uint32_t thread; /* that ran for longest */
	uint32_t threads_cnt;
	uint64_t ns;
	bool is_same; /* it may use only the same CPUs */
	const struct profile_limit *policy; /* it has a real-time policy; NULL: none is known */
};
struct ran ran_of(const struct findings *f, const struct finding *row);

/* "; dsp/29191, SCHED_FIFO 50, may use only that, too, and ran for 5.02 s" */
void ran_append_evidence(GString *s, const struct findings *f, const struct finding *row);

#endif
