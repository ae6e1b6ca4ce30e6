/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef AGENT_KEEPER_H
#define AGENT_KEEPER_H

#include "agent/config.h"
#include "agent/log.h"
#include "analyse/reason/reasons.h"
#include "profile/profile.h"

/*
 * Windows on their way to the store.  Where it cannot take one, as on a full disk, that one is lost and counted, and
 * the agent goes on; when the store can again, the time that is missing is marked as a gap.
 */
struct keeper;

/* Opens the store that the configuration names; log is told when windows begin to be lost, and when that is over. */
struct keeper *keeper_new(const struct agent_config *config, log_fn log, GError **error);
void keeper_free(struct keeper *k);	/* NULL is fine */

/* The first window of this agent begins at that time: what lies between the store's last one and it is a gap. */
void keeper_begin(struct keeper *k, uint64_t start_unix_ns);
/* reasons: of the window. */
void keeper_add(struct keeper *k, const struct profile *window, const struct reasons *reasons);
/* Nothing was recorded from then to then, and why; empty ones are left out. */
void keeper_gap(struct keeper *k, uint64_t from_unix_ns, uint64_t to_unix_ns, const char *why);

struct keeper_counts { uint64_t stored, lost; };
struct keeper_counts keeper_counts(const struct keeper *k);

#endif
