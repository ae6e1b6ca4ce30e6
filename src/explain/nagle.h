/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef EXPLAIN_NAGLE_H
#define EXPLAIN_NAGLE_H

#include "explain/findings.h"

/*
 * Nagle's algorithm holds back what a program writes in a second, small piece until the first is acknowledged, which
 * the other side delays for 40 ms and more, as it has nothing to send yet.
 */

/* Fills in the limit: such a write was seen.  False: there is none. */
bool nagle_find(const struct findings *f, const struct finding *row, struct finding_limit *ret);

/*
 * Between two programs of this machine the evidence is that an interrupt ends such waits, on this side or of those who
 * answer: what is sent at once wakes in the context of the sender.
 */
bool nagle_has_delayed_acks(const struct findings *f, const struct finding *row);

#define NAGLE_SAYS ": its own last write is held back until an earlier one is acknowledged"
#define NAGLE_ADVICE \
	"These 40 to 50 ms are an acknowledgement that TCP delays, while a side holds back a small write for it: write a request " \
	"in one piece, or set TCP_NODELAY on both sides."

#endif
