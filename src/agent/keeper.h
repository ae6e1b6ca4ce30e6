/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef AGENT_KEEPER_H
#define AGENT_KEEPER_H

#include "agent/config.h"
#include "agent/log.h"
#include "analyse/reason/reasons.h"
#include "profile/profile.h"

/*
 * Passes windows to the store. If it cannot take one, for example because the disk is full, the window is lost and
 * counted, and the agent continues; when the store works again, the missing time is marked as a gap.
 */
struct keeper;

/* Opens the configured store; log is told when windows begin to be lost, and when that ends. */
struct keeper *keeper_new(const struct agent_config *config, log_fn log, GError **error);
void keeper_free(struct keeper *k);	/* NULL is fine */

/* The start of this agent's first window: the time since the store's last window is a gap. */
void keeper_begin(struct keeper *k, uint64_t start_unix_ns);
/* reasons: of the window. */
void keeper_add(struct keeper *k, const struct profile *window, const struct reasons *reasons);
/* Nothing was recorded in this time, and why; empty times are ignored. */
void keeper_gap(struct keeper *k, uint64_t from_unix_ns, uint64_t to_unix_ns, const char *why);

struct keeper_counts { uint64_t stored, lost; };
struct keeper_counts keeper_counts(const struct keeper *k);

#endif
