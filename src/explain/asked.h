/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef EXPLAIN_ASKED_H
#define EXPLAIN_ASKED_H

#include "explain/findings.h"

/*
 * A thread of a pool waits for whoever gave it the work, and its own function is the pool's.  Fills in `asked_frame`
 * of findings about libuv's and Python's pools: the function of the program that handed in such work, which the stacks tell that woke
 * the pool's threads.  And `queue_at_once`: so many name lookups libuv does at a time, if they were under way all along.
 */
void asked_find(struct findings *f);

#endif
