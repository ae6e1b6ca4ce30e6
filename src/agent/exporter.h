/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef AGENT_EXPORTER_H
#define AGENT_EXPORTER_H

#include "agent/alerter.h"
#include "agent/config.h"
#include "agent/keeper.h"
#include "agent/pusher.h"

/*
 * /metrics for Prometheus: counters from windows by service, class and reason (push/metrics.h), and the agent's own
 * state. An unprivileged process answers scrapes (exporter_server.h): it receives the text after each window, and
 * holds nothing else.
 */
struct exporter;

/* The agent's state at the end of a window. */
struct exporter_state {
	uint64_t cpu_ns, resident_bytes, end_unix_ns;
	unsigned anew_cnt, late_cnt;
	const struct agent_config *config;	/* for its hash, and the length of windows */
	uint64_t reloaded_unix_ns;	/* last reading of the configuration */
	bool is_reload_bad;
	const struct keeper *keeper;
	struct pusher *pusher;
	const struct alerter *alerter;
};

/* Call it before creating threads, since it forks. NULL: [metrics] listen is not set, or a sentence in *error. */
struct exporter *exporter_new(const struct agent_config *config, log_fn log, GError **error);
void exporter_free(struct exporter *e);	/* NULL is fine */
void exporter_add(struct exporter *e, const struct profile *window, const struct reasons *reasons,
		  const struct exporter_state *state);
/* "http://127.0.0.1:9733/metrics" */
const char *exporter_url(const struct exporter *e);

#endif
