/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef EXPLAIN_FINDINGS_BY_H
#define EXPLAIN_FINDINGS_BY_H

#include "explain/findings.h"

/* The function of the program that the wait is told by; -1: none is known. */
int64_t finding_frame(const struct findings *f, uint32_t wait);

/* For each thread, whether it waits in that finding; for g_free(). */
bool *finding_waiters_new(const struct findings *f, const struct finding *row);

#define STUCK_PERMILLE 900 /* of the window, in one wait for a lock: it is stuck */
#define FINDINGS_WITH_CAUSES 8	/* rows, from the first: causes of more are nobody's question */

/* Fills in who holds up or wakes the first rows, of what the recording knows.  locks: of lock_ids_new(). */
void findings_find_causes(struct findings *f, const uint32_t *locks);

#endif
