/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef FEATURES_REQUESTS_AGENT_H
#define FEATURES_REQUESTS_AGENT_H

#include "agent/config.h"
#include "agent/log.h"

/* The requests that the configuration names, as a session takes them: functions are found in programs that run. */
struct request_plan;
struct agent_requests;

/* NULL: none are asked for.  Those that cannot be had yet are left out; the journal is told. */
struct agent_requests *agent_requests_new(const struct agent_config *config, log_fn log);
void agent_requests_free(struct agent_requests *r);	/* NULL is fine; after the session */
const struct request_plan *agent_requests_plan(const struct agent_requests *r);	/* NULL: none of them can be had */
/* A program of a function runs that did not when it was looked for, or from another file.  Looks now and then. */
bool agent_requests_have_changed(struct agent_requests *r, uint64_t now_ns);

#endif
