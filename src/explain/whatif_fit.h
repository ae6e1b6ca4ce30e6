/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef EXPLAIN_WHATIF_FIT_H
#define EXPLAIN_WHATIF_FIT_H

#include "explain/whatif_work.h"

/*
 * Finds cycles that wait as the recorded ones did, and what they would do with the changes.  A recording holds no
 * holds of locks, only waits for them: how long a hold is follows from how long so many threads wait for it.  What
 * it does not say, as how much holds vary, is assumed in several ways, and the answers' range is the interval.
 */
struct fit_result {
	double rate[8];		/* with the changes, as a multiple; of each way that agrees with the recording */
	unsigned cnt;
	double off;		/* how much the best of them differs from the recorded cycle, as a part */
};
void fit_work(const struct work *w, const struct whatif_change *changes, guint cnt, struct fit_result *ret);

#endif
