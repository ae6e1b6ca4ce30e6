/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef AGENT_ALERTER_H
#define AGENT_ALERTER_H

#include "agent/config.h"
#include "agent/keeper.h"
#include "agent/recorder.h"

/*
 * Asks each window what the rules of [alert NAME] ask, tells the journal when one begins to hold and when it is over,
 * and runs their commands: by no shell, without any privilege, one of a rule at a time, for half a minute at most.
 */
struct alerter;

/* old: the one before a reload, of which rules that are the same go on as they stand; it is freed.  NULL: none. */
struct alerter *alerter_new(const struct agent_config *config, struct alerter *old, struct recorder *recorder,
			    log_fn log);
void alerter_free(struct alerter *a);	/* NULL is fine; does not wait for commands, but for what is put aside */

/* A window that is over, with the times of the clock, and its reasons. */
void alerter_add(struct alerter *a, const struct profile *window, const struct reasons *reasons);
/* Now and then: commands that have ended, and those that do not. */
void alerter_keep_up(struct alerter *a);
/* How many rules hold. */
unsigned alerter_firing(const struct alerter *a);

/* Each rule as a metric, 1 where it holds; appended. */
void alerter_metrics(const struct alerter *a, GString *s);

#endif
