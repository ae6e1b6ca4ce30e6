/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef EXPLAIN_MISSED_H
#define EXPLAIN_MISSED_H

#include "explain/findings.h"

/*
 * A wait that runs into its time limit while the thread that it asks has long gone back to wait for the next question:
 * its signal may have been missed.  That thread's own wait is told with it.
 */
void missed_find(struct findings *f);

/* "; courier/7555, which it asks, waits for the next question meanwhile"; nothing of other rows */
void missed_append_evidence(GString *s, const struct findings *f, const struct finding *row);

#define MISSED_ADVICE                                                                                                \
	"Its time limit ends these waits, and whom it asks has nothing to do by then: a signal may come before this one waits. "      \
	"Signal with the mutex held, and look at the state under it before waiting. A clock that ticks may stay as it is."

#endif
