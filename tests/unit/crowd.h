/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef TESTS_UNIT_CROWD_H
#define TESTS_UNIT_CROWD_H

#include "profile/profile.h"

/*
 * A recording written by hand of threads in one another's way, drawn in crowd.c: who held the
 * CPU while others queued, and events that woke many at once.
 */
struct profile *crowd_new(void);

#endif
