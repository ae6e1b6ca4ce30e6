/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CMD_ESTIMATE_H
#define CMD_ESTIMATE_H

#include "cmd/run.h"

/*
 * record --estimate: what recording this would cost, by a recording of ESTIMATE_NS that is thrown away.  An empty
 * program would tell how many switches there are, but not what one takes: between loads that differs by ten times
 * (docs/performance.md).
 */
#define ESTIMATE_NS 2000000000ULL
#define ESTIMATE_EXACT_NS 1000000000ULL	/* of it: then the governor may sample */

/* Prints it after the run; an exit status. */
int estimate_print(struct run *run);

#endif
