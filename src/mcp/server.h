/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef MCP_SERVER_H
#define MCP_SERVER_H

#include <glib.h>
#include <stdbool.h>

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

#endif
