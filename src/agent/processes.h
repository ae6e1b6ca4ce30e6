/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef AGENT_PROCESSES_H
#define AGENT_PROCESSES_H

#include "agent/config.h"
#include "agent/log.h"

/*
 * The agent traces and folds.  What it asks of other users' files is opened by one process and parsed by others, so it
 * needs no right but to trace.
 */

/* Before there are threads. */
void processes_begin(const struct agent_config *c, log_fn log);
/* For good; says what is left.  False with a sentence. */
bool processes_give_up(const struct agent_config *c, log_fn log, GError **error);
/* Says what did not answer and is skipped.  False: it cannot go on. */
bool processes_check(log_fn log, GError **error);
void processes_end(void);

#endif
