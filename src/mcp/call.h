/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef MCP_CALL_H
#define MCP_CALL_H

#include "mcp/recordings.h"
#include "mcp/tools.h"

/* A call of a tool: its processes, one after the other, and what became of it. */

struct call_options {
	struct tool_options tool;
	const char *const *record_with;	/* what runs the recorder with rights; NULL: it is run as it is */
	struct recordings *recordings;
	/* The call is over and freed behind this.  result: as JSON; NULL: it was cancelled, and nobody waits for it. */
	void (*done)(const char *id, const char *result, void *data);
	/* It records, and somebody wants to know how far it is. */
	void (*progress)(const char *token, unsigned seconds, unsigned total, void *data);
	void *data;
};

struct call;

/* id, token: as JSON; token NULL: no progress is wanted.  arguments: a JSON object.  Runs by the main loop. */
struct call *call_start(const struct call_options *options, const struct tool *tool, const char *id, const char *token,
			const char *arguments);
const char *call_id(const struct call *c);
bool call_records(const struct call *c);
/* Its processes end, then it is over without a result. */
void call_cancel(struct call *c);

#endif
