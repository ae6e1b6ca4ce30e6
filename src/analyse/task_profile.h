/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef ANALYSE_TASK_PROFILE_H
#define ANALYSE_TASK_PROFILE_H

#include "profile/profile.h"

/*
 * The tasks of a recording as rows of a profile of their own, so that pictures and other programs' formats show them:
 * task time in place of off-CPU time, a process for each population, the mean number of tasks as count.  What they wait
 * for is the innermost frame, in brackets; those that have nothing to do stand below a frame "[idle]".  Threads' time
 * is no part of it.  NULL: there are none.  Free with profile_free().
 */
struct profile *task_profile_new(const struct profile *p);
/* Of such a row: do its tasks have nothing to do? */
bool task_profile_is_idle(const struct profile *tasks, const struct wait *w);

#endif
