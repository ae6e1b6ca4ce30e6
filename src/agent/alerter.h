/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef AGENT_ALERTER_H
#define AGENT_ALERTER_H

#include "agent/config.h"
#include "agent/keeper.h"
#include "agent/recorder.h"

/*
 * Evaluates the rules of [alert NAME] for each window, reports in the journal when an alert begins and ends, and runs
 * their commands: without a shell and privileges, one at a time for a rule, for at most half a minute.
 */
struct alerter;

/* old: before a reload, NULL: none. Unchanged rules keep their state; old is freed. */
struct alerter *alerter_new(const struct agent_config *config, struct alerter *old, struct recorder *recorder,
			    log_fn log);
void alerter_free(struct alerter *a);	/* NULL is fine; waits for incidents being kept, not for commands */

/* A completed window, with its times by the clock, and its reasons. */
void alerter_add(struct alerter *a, const struct profile *window, const struct reasons *reasons);
/* Call it at intervals: collects commands that have ended, and ends late ones. */
void alerter_keep_up(struct alerter *a);
/* Number of firing rules. */
unsigned alerter_firing(const struct alerter *a);

/* Appends each rule as a metric: 1 while it fires. */
void alerter_metrics(const struct alerter *a, GString *s);

#endif
