/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef MCP_OVER_HTTP_H
#define MCP_OVER_HTTP_H

#include "server/history.h"

/*
 * The same protocol by HTTP, as its revisions call "streamable HTTP": each message is a POST, each answer one JSON object.
 * Nothing is kept between two of them, and nothing is streamed.  The tools are those that read the history, here in the
 * server's own process, which can open nothing else; they show a reader what the pages show.
 */
extern const struct route mcp_route;	/* its ctx is the history */

#endif
