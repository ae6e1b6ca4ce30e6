/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef AGENT_KEEPER_H
#define AGENT_KEEPER_H

#include "agent/config.h"
#include "profile/profile.h"

/*
 * Windows on their way to the store.  Where it cannot take one, as on a full disk, that one is lost and counted, and the agent goes on;
 * when the store can again, the time that is missing is marked as a gap.
 */
struct keeper;

enum log_level { LOG_LEVEL_ERROR = 3, LOG_LEVEL_WARNING = 4, LOG_LEVEL_NOTICE = 5, LOG_LEVEL_INFO = 6 };	/* as syslog(3) has them */
typedef void (*log_fn)(enum log_level level, const char *text);

/* Opens the store that the configuration names; log is told when windows begin to be lost, and when that is over. */
struct keeper *keeper_new(const struct agent_config *config, log_fn log, GError **error);
void keeper_free(struct keeper *k);	/* NULL is fine */

/* The first window of this agent begins at that time: what lies between the store's last one and it is a gap. */
void keeper_begin(struct keeper *k, uint64_t start_unix_ns);
void keeper_add(struct keeper *k, const struct profile *window);
/* Nothing was recorded from then to then, and why; empty ones are left out. */
void keeper_gap(struct keeper *k, uint64_t from_unix_ns, uint64_t to_unix_ns, const char *why);

struct keeper_counts { uint64_t stored, lost; };
struct keeper_counts keeper_counts(const struct keeper *k);

#endif
