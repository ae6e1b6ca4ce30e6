/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef FEATURES_REQUESTS_AGENT_H
#define FEATURES_REQUESTS_AGENT_H

#include "agent/config.h"
#include "agent/log.h"

/* The requests of the configuration as a session takes them. Functions are looked up in running programs. */
struct request_plan;
struct agent_requests;

/* NULL: none are configured. Requests that cannot be traced yet are left out and logged. */
struct agent_requests *agent_requests_new(const struct agent_config *config, log_fn log);
void agent_requests_free(struct agent_requests *r);	/* NULL is fine; after the session */
const struct request_plan *agent_requests_plan(const struct agent_requests *r);	/* NULL: none can be traced */
/* Does a program with a function rule run now that did not, or from another file? Checks periodically. */
bool agent_requests_have_changed(struct agent_requests *r, uint64_t now_ns);

#endif
