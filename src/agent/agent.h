/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef AGENT_AGENT_H
#define AGENT_AGENT_H

#include "agent/config.h"
#include "agent/keeper.h"

/*
 * Continuous recording: one session for the agent's life, cut into windows that go to the store. It ends by SIGTERM or
 * SIGINT after writing the last window, and reads its configuration again on SIGHUP.
 */
struct agent_options {
	const char *config_path;
	bool may_lack_config;		/* the default path, which may not exist */
	char **settings;		/* for agent_config_set(), overriding the file; or NULL */
	unsigned windows;		/* number of windows until it ends; 0: no limit */
	const char *command_line;
	log_fn log;
};

/* The file's configuration with those settings applied. */
struct agent_config *agent_read_config(const struct agent_options *options, GError **error);
/*
 * Takes ownership of the configuration. False with a sentence when it could not begin or continue; what was recorded
 * until then is stored.
 */
bool agent_run(const struct agent_options *options, struct agent_config *config, GError **error);

/* Can the programs for this configuration be loaded? Nothing is recorded. */
bool agent_try(const struct agent_options *options, struct agent_config *config, GError **error);

#endif
