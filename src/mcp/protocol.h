/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef MCP_PROTOCOL_H
#define MCP_PROTOCOL_H

#include "mcp/message.h"
#include "mcp/tools.h"

/* What the Model Context Protocol says whichever way messages come: lists, resources, and the form of each answer. */

/* Is that a revision we speak? */
bool protocol_speaks(const char *revision);

/* The result of a request other than tools/call, as JSON, for g_free(); NULL: it is the error *ret_code, *ret_why. */
char *protocol_result(const struct tool_options *options, const char *version, const struct message *m,
		      enum message_error *ret_code, const char **ret_why);

/* Append a message and a newline.  id, result: as JSON; id NULL: it could not be read. */
void protocol_answer(GString *out, const char *id, const char *result);
void protocol_error(GString *out, const char *id, enum message_error code, const char *why);

/* The result of a tool, for g_free(): of its answer, which is JSON; or of the sentence that says what went wrong. */
char *protocol_tool_answer(const char *answer);
char *protocol_tool_error(const char *sentence);

#endif
