/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef AGENT_INCIDENT_KEEPER_H
#define AGENT_INCIDENT_KEEPER_H

#include "agent/alert.h"
#include "agent/config.h"
#include "agent/log.h"
#include "agent/recorder.h"

/*
 * Keeps the windows around an alert as an incident (features/incidents/history.h): when it begins the existing ones,
 * and again after it has ended and the time after it is recorded. `offcpu agent --keep` does that, an unprivileged
 * process of its own: copying minutes of windows takes seconds, while recording continues.
 */
struct incident_keeper;

/*
 * old: before a reload, NULL: none. Its incidents continue; it is freed. recorder: makes the recordings to be kept
 * with them, borrowed; NULL: none.
 */
struct incident_keeper *incident_keeper_new(const struct agent_config *config, struct incident_keeper *old,
					    struct recorder *recorder, log_fn log);
/* Keeps what is incomplete up to now; waits for that. */
void incident_keeper_free(struct incident_keeper *a);	/* NULL is fine */

/* An alert has begun, due to these windows, up to the last one stored. */
void incident_keeper_begin(struct incident_keeper *a, const struct alert_rule *rule, const char *text,
			   uint64_t from_unix_ns, uint64_t now_unix_ns);
void incident_keeper_over(struct incident_keeper *a, const struct alert_rule *rule, uint64_t now_unix_ns);
/* A window that ended then was stored. */
void incident_keeper_add(struct incident_keeper *a, uint64_t now_unix_ns);
/* Call it at intervals: keeps what is due, and collects its processes. */
void incident_keeper_poll(struct incident_keeper *a);

#endif
