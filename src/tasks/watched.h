/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef TASKS_WATCHED_H
#define TASKS_WATCHED_H

#include "tasks/census.h"

/* A process whose tasks are looked at, again and again. */
struct watched;

/*
 * Its first look can follow.  NULL with a sentence; of CENSUS_NO_RUNTIME where there is nothing to be seen, as far as
 * is known.
 */
struct watched *watched_open(uint32_t pid, GError **error);

/*
 * One look, which stands for the period_ns that end at end_ns (CLOCK_MONOTONIC).  It takes about room_ns of CPU time: of more tasks than that
 * suffices for it sees every n-th of them, from a random one on.  0: all.  False: the process is gone.
 */
bool watched_look(struct watched *w, uint64_t end_ns, uint64_t period_ns, uint64_t room_ns);

/* What the looks have found since it was opened or this was asked for, the caller's; NULL: there was none. */
struct tasks *watched_take(struct watched *w);
/* The same, and it ends. */
struct tasks *watched_close(struct watched *w);

#endif
