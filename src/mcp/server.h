/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef MCP_SERVER_H
#define MCP_SERVER_H

#include <glib.h>
#include <stdbool.h>

#include "server/history.h"

/* A Model Context Protocol server (revisions 2025-11-25 and 2025-06-18) on standard input and output. */
struct mcp_options {
	const char *version;	/* of this program */
	const char *history;	/* the folder; NULL: the agent's default */
	bool allows_recording;
	const char *const *record_with;	/* the command that runs the recorder with rights; NULL: none */
};

/* Serves until the client leaves or a signal comes, then ends processes and deletes files. False: I/O error. */
bool mcp_serve(const struct mcp_options *options);

/*
 * The same protocol over HTTP ("streamable HTTP" in the specification). Each message is a POST, each answer one JSON
 * object. The server keeps no session and streams nothing. Only the tools that read the history are offered. They run
 * in the server's own process, which can open nothing else, and show a reader what the pages show.
 */
extern const struct route mcp_route;	/* its ctx is the history */

#endif
