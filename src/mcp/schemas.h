/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef MCP_SCHEMAS_H
#define MCP_SCHEMAS_H

/*
 * JSON schemas of the answers, as far as a client may rely on them (docs/answers.md): more members may come.  An answer to
 * an id has members of its own, so little is required.
 */
extern const char schema_report[], schema_part[], schema_compare[], schema_doctor[], schema_incidents[];

#endif
