/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CMD_INCIDENTS_H
#define CMD_INCIDENTS_H

#include "agent/config.h"
#include "cmd/answering.h"

/* `report --incidents` and `agent --keep`. */

/* Prints those of a history, as JSON where that is asked for; an exit status. */
int incidents_show(const char *dir, bool is_json, const struct answer_args *answer);

struct incident_request {
	char *name, *from, *to, *said, *recording;	/* from, to: as with --history; said NULL: by hand; recording NULL: none */
	gboolean may_replace;
};
int incidents_keep(const struct agent_config *c, const struct incident_request *r);

#endif
