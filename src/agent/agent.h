/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef AGENT_AGENT_H
#define AGENT_AGENT_H

#include "agent/config.h"
#include "agent/keeper.h"

/*
 * Always on: one session for as long as the agent runs, cut into windows that go to the store.  It ends by SIGTERM or
 * SIGINT with the last window written, and reads its configuration again on SIGHUP.
 */
struct agent_options {
	const char *config_path;
	bool may_lack_config;		/* it is the default's, which need not be there */
	char **settings;		/* what agent_config_set() takes, over the file; or NULL */
	unsigned windows;		/* it ends after so many; 0: it does not */
	const char *command_line;
	log_fn log;
};

/* The file's configuration with those settings. */
struct agent_config *agent_read_config(const struct agent_options *options, GError **error);
/*
 * Takes the configuration.  False with a sentence when it could not begin or go on; what was recorded until then is
 * stored.
 */
bool agent_run(const struct agent_options *options, struct agent_config *config, GError **error);

/* Can the programs that it records with be loaded?  Nothing is recorded. */
bool agent_try(const struct agent_options *options, struct agent_config *config, GError **error);

#endif
