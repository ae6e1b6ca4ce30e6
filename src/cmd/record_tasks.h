/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CMD_RECORD_TASKS_H
#define CMD_RECORD_TASKS_H

#include "cmd/target.h"
#include "profile/profile.h"

/*
 * The tasks of the processes that are recorded, looked at beside the recording: with --tasks all that are known, else the
 * goroutines of the Go programs that -p names, or of COMMAND, for these wait for one another without a thread.
 */
struct record_tasks;

/* False after a sentence: of what is asked for there is no saying whose tasks are meant. */
bool record_tasks_may(const struct target *target);
/*
 * Once tracing has begun.  is_asked: by --tasks.  NULL: there is nothing to look at.  The looks take half of the budget at
 * most.
 */
struct record_tasks *record_tasks_begin(const struct target *target, bool is_asked);
/* As it ends. */
void record_tasks_end(struct record_tasks *r);
/* Gives p those of its processes, largest first; frees r. */
void record_tasks_put(struct record_tasks *r, struct profile *p);
void record_tasks_free(struct record_tasks *r);	/* NULL is fine */

#endif
