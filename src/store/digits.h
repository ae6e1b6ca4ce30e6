/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef STORE_DIGITS_H
#define STORE_DIGITS_H

#include "profile/profile.h"

/*
 * Rows of sampled waits are estimates, and what is far below their error says nothing: it is rounded away, to a
 * quarter of the error and to no less than three bits (blob_round()).  Counts in a histogram keep four bits, but for
 * durations that were not sampled.  What is known exactly stays so: all waits of a thread and state add up to the same
 * times and the same number, wakings of a row to no more than the row and to all of it where they did, a histogram to
 * its row's count.  Rows without an error are not touched.
 */
void digits_round(struct profile *p);

#endif
