/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef TASKS_PUT_H
#define TASKS_PUT_H

#include "profile/profile.h"

/*
 * Gives p the struct tasks of those of its processes, largest first; `tasks` is freed.  Filters are of threads: a process
 * without one in the recording is none that was asked for.
 */
void tasks_put(struct profile *p, GPtrArray *tasks);

#endif
