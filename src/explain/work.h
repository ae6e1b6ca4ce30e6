/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef EXPLAIN_WORK_H
#define EXPLAIN_WORK_H

#include "explain/findings.h"

/* What is done for threads that wait for the result of a task. */

/*
 * Nobody, if each of these workers was there as the recording began and ended, and waited for a task all the time, and no
 * other thread of the process does any: it neither computes nor waits for anything but work, a timer or its own threads.
 */
enum nobody_works work_nobody(const struct findings *f, const struct finding *row);
/* The largest finding of threads that are none of these waiters, if that is long enough to be what they wait for. */
void work_find_meanwhile(const struct findings *f, struct finding *row);
/* A task takes what its workers take, and where no others wait for them, that is told of these. */
void work_find(const struct findings *f, struct finding *row);

#endif
