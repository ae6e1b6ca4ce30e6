/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef MCP_SERVER_H
#define MCP_SERVER_H

#include <glib.h>
#include <stdbool.h>

#include "server/history.h"

/*
 * A server of the Model Context Protocol, revisions 2025-11-25 and 2025-06-18, for the client at the other end of standard
 * input and output.
 */
struct mcp_options {
	const char *version;	/* of this program */
	const char *history;	/* the folder; NULL: where the agent keeps it */
	bool allows_recording;
	const char *const *record_with;	/* what runs the recorder with rights; NULL: it is run as it is */
};

/* Until the client leaves or a signal comes; then nothing runs and no file is left.  False: it could not be answered. */
bool mcp_serve(const struct mcp_options *options);

/*
 * The same protocol by HTTP, as its revisions call "streamable HTTP": each message is a POST, each answer one JSON object.
 * Nothing is kept between two of them, and nothing is streamed.  The tools are those that read the history, here in the
 * server's own process, which can open nothing else; they show a reader what the pages show.
 */
extern const struct route mcp_route;	/* its ctx is the history */

#endif
