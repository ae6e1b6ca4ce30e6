/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef MCP_ARGUMENTS_H
#define MCP_ARGUMENTS_H

#include "mcp/tools.h"

#define ARGUMENT_TEXT_MAX 4096	/* bytes */

/*
 * Reads the arguments of a call, an object that is valid JSON, into in->values.  False with a sentence that tells the
 * caller what is wanted; for arguments_clear() all the same.
 */
bool arguments_read(struct tool_input *in, const struct tool *tool, const char *object, GError **error);
void arguments_clear(struct tool_input *in);

#endif
