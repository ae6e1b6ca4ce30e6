/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef AGENT_PROCESSES_H
#define AGENT_PROCESSES_H

#include "agent/config.h"
#include "agent/log.h"

/*
 * The agent traces and folds. Helper processes open and parse other users' files, so it needs no rights but those for
 * tracing.
 */

/* Call it before creating threads. */
void processes_begin(const struct agent_config *c, log_fn log);
/* Permanently; logs what is left. False with a sentence. */
bool processes_give_up(const struct agent_config *c, log_fn log, GError **error);
/* Logs what did not answer and is skipped. False: the agent cannot continue. */
bool processes_check(log_fn log, GError **error);
void processes_end(void);

#endif
