/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef EXPLAIN_LITTLE_H
#define EXPLAIN_LITTLE_H

#include "explain/findings.h"
#include "explain/task_findings.h"

/*
 * A healthy service waits, too, and the largest share of next to nothing is no finding.  Waits are little if nobody would
 * notice one of them, and if their sum is small: beside what the process computes, or by itself.
 *
 * A sentence that says so, to be freed; NULL: there is something to tell.  has_unseen: the runtime has threads of its own,
 * which nobody saw wait.
 */
char *little_new(const struct findings *f, const struct task_findings *tasks, bool has_unseen);

#endif
