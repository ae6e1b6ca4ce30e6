/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef EXPLAIN_ENDED_H
#define EXPLAIN_ENDED_H

#include "profile/profile.h"

/* What the kernel did as it ended a wait, by the kernel's part of the waker's stack. */

/* A timer that sends its owner a signal, which interrupts the wait: that had no time limit, or it was not reached. */
bool ended_by_timer_signal(const struct profile *p, const struct waker *w);

/* fork() had copied the address space, which is locked meanwhile. */
bool ended_by_fork(const struct profile *p, const struct waker *w);

#endif
