/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef EXPLAIN_HELD_H
#define EXPLAIN_HELD_H

#include "explain/findings.h"

/*
 * Who held a lock up, where it is handed on: a thread that waited for long itself and then had it for a moment ends the
 * next one's long wait, but is not what that waited for.  For each waker of the profile the factor by which its part of
 * the row's blocked time counts; they keep the sum.  Free with g_free().  threads_of_wakers: actors_threads_of_wakers().
 */
double *held_factors_new(const struct findings *f, const struct finding *row, const uint32_t *threads_of_wakers);

/*
 * Can a lock have been held over that wait of its holder?  Whoever comes during a hold waits for half of it on average, so
 * where nearly all of the time that others wait is in far shorter waits, it was let go before.
 */
bool held_may_be_over(const struct finding *row, const struct wait *w);

#endif
