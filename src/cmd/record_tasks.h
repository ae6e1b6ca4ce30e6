/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CMD_RECORD_TASKS_H
#define CMD_RECORD_TASKS_H

#include "cmd/target.h"
#include "profile/profile.h"

/* record --tasks: the tasks of the processes that are recorded, looked at beside the recording. */
struct record_tasks;

/* False after a sentence: of what is asked for there is no saying whose tasks are meant. */
bool record_tasks_may(const struct target *target);
/* Once tracing has begun.  The looks take half of the budget at most. */
struct record_tasks *record_tasks_begin(const struct target *target);
/* As it ends. */
void record_tasks_end(struct record_tasks *r);
/* Gives p those of its processes, largest first; frees r. */
void record_tasks_put(struct record_tasks *r, struct profile *p);
void record_tasks_free(struct record_tasks *r);	/* NULL is fine */

#endif
