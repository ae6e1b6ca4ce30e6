/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef EXPLAIN_UNSIGNALLED_H
#define EXPLAIN_UNSIGNALLED_H

#include "explain/findings.h"

/*
 * Threads of several functions wait for one condition, and time limits end their waits.  Tickers that share a condition by
 * which they are told to stop do, and so do threads that a signal for one of another kind does not reach: only the program
 * tells them apart, so this is a sentence and no finding.  Nothing where there are none.
 */
void unsignalled_append_most(GString *s, const struct findings *f);

#endif
