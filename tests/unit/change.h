/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef TESTS_UNIT_CHANGE_H
#define TESTS_UNIT_CHANGE_H

#include "profile/profile.h"

/* Two recordings written by hand that differ in a known way; what change.c says about them the tests were made from. */
struct profile *change_new(bool is_after);

/*
 * Adds who woke the threads at the lock, and when it was.  Before, "worker" ends 3000 of each thread's 5000 and the timer 2000; after, "worker" all.
 * All waits are spread over the 30 s in slices of slice_ns, those at the lock after over the last 15 s.  From 40 slices
 * on these are batches that say how far that is noise.
 */
void change_add_more(struct profile *p, bool is_after, uint64_t slice_ns);
#define CHANGE_SLICE_NS UINT64_C(1000000000)
#define CHANGE_BATCH_SLICE_NS UINT64_C(500000000)

/* A recording of so many stacks, to see how long things take; deterministic by its seed. */
struct profile *change_large(unsigned stacks_cnt, unsigned seed);

#endif
