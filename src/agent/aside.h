/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef AGENT_ASIDE_H
#define AGENT_ASIDE_H

#include "agent/alert.h"
#include "agent/config.h"
#include "agent/log.h"
#include "agent/recorder.h"

/*
 * Windows around an alert, put aside as an incident (features/incidents/history.h): as it begins those that there are, and again
 * once it is over and what is to be kept behind it is recorded.  `offcpu agent --keep` does that, a process of its own
 * without any privilege: copying minutes of windows takes seconds, in which recording goes on.
 */
struct aside;

/*
 * old: the one before a reload, whose incidents go on; it is freed.  NULL: none.  recorder: makes the recordings that
 * are kept with them, and stays the caller's; NULL: nobody does.
 */
struct aside *aside_new(const struct agent_config *config, struct aside *old, struct recorder *recorder, log_fn log);
/* What is not complete is kept up to now; waits for that. */
void aside_free(struct aside *a);	/* NULL is fine */

/* It holds since these windows, up to the last one that is stored. */
void aside_begin(struct aside *a, const struct alert_rule *rule, const char *text, uint64_t from_unix_ns,
		 uint64_t now_unix_ns);
void aside_over(struct aside *a, const struct alert_rule *rule, uint64_t now_unix_ns);
/* A window that ends then is stored. */
void aside_add(struct aside *a, uint64_t now_unix_ns);
/* Now and then: keeps what is due, and looks after those that do it. */
void aside_keep_up(struct aside *a);

#endif
